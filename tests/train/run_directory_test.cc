// RunDirectory: a run that could not begin takes what it made with it, and nothing else.
#include "train/record/run_directory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/check.h"

namespace yoke::run_directory_test {

namespace fs = std::filesystem;

/// An empty folder to make runs in.
class RunDirectoryTest : public testing::Test {
 protected:
  RunDirectoryTest() : folder_(fs::temp_directory_path() / fmt::format("yoke-runs-{}", getpid())) {
    fs::create_directories(folder_);
  }
  ~RunDirectoryTest() override { fs::remove_all(folder_); }

  static RunDirectory New(const std::string& path) {
    return RunDirectory::Create(path, MakeJob(Table{{"data", Table{{"format", "synthetic-digits"}}},
                                                    {"model", Table{{"name", "lenet"}}}},
                                              "job", ""));
  }
  static void Touch(const std::string& path) { std::ofstream(path) << "x"; }

  std::string folder_;
};

TEST_F(RunDirectoryTest, AnAbandonedRunLeavesNothing) {
  const std::string path = folder_ + "/deep/down/run";
  RunDirectory run = New(path);
  for (const char* file : {"/metrics.jsonl", "/log.txt", "/events.out.tfevents.17.host",
                           "/summary.json", "/metrics.jsonl.0123456789abcdef.new", "/log-3.txt"})
    Touch(path + file);
  run.Abandon();
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(RunDirectoryTest, AnAbandonedRunLeavesWhatOthersWrote) {
  fs::create_directories(folder_ + "/run");
  RunDirectory run = New(folder_ + "/run");
  Touch(folder_ + "/run/metrics.jsonl");
  Touch(folder_ + "/run/notes.txt");
  run.Abandon();
  EXPECT_TRUE(fs::exists(folder_ + "/run/notes.txt"));
  EXPECT_FALSE(fs::exists(folder_ + "/run/metrics.jsonl"));
  EXPECT_FALSE(fs::exists(folder_ + "/run/job.toml"));
  EXPECT_FALSE(fs::exists(folder_ + "/run/lock"));
}

TEST_F(RunDirectoryTest, RefusesAFolderOfOtherFilesAndLeavesIt) {
  const std::string run = folder_ + "/run";
  fs::create_directories(run);
  Touch(run + "/summary.json");
  EXPECT_THROW(New(run), UserError);
  Touch(run + "/lock");
  EXPECT_THROW(New(run), UserError);
  EXPECT_EQ(fs::file_size(run + "/summary.json"), 1);
  EXPECT_FALSE(fs::exists(run + "/job.toml"));
}

TEST_F(RunDirectoryTest, BeginsWhereOneWasKilledBeforeItsJobWasWritten) {
  fs::create_directories(folder_ + "/run");
  Touch(folder_ + "/run/lock");
  Touch(folder_ + "/run/job.toml.0123456789abcdef.new");
  EXPECT_TRUE(New(folder_ + "/run").HasJob());
}

TEST_F(RunDirectoryTest, ResumeRemovesWhatAKilledProcessLeft) {
  const std::string run = folder_ + "/run";
  { New(run); }
  for (const char* name : {"/last.0123456789abcdef.new", "/notes.new"}) Touch(run + name);
  RunDirectory::Resume(run);
  EXPECT_FALSE(fs::exists(run + "/last.0123456789abcdef.new"));
  EXPECT_TRUE(fs::exists(run + "/notes.new"));
}

TEST_F(RunDirectoryTest, ALockThatLeadsElsewhereIsRefused) {
  const std::string run = folder_ + "/run";
  { New(run); }
  fs::remove(run + "/lock");
  fs::create_symlink("../elsewhere", run + "/lock");
  EXPECT_THROW(RunDirectory::Resume(run), UserError);
  EXPECT_FALSE(fs::exists(folder_ + "/elsewhere"));
}

TEST_F(RunDirectoryTest, KnowsItsParts) {
  const std::string run = folder_ + "/run";
  { New(run); }
  fs::create_directories(run + "/checkpoints/3");
  fs::create_directory_symlink("checkpoints/3", run + "/last");
  for (const char* name :
       {"/report.html", "/last/checkpoint.json", "/last/model.safetensors", "/last/model.onnx"})
    Touch(run + name);
  fs::create_symlink("run/job.toml", folder_ + "/job.toml");
  for (const char* part : {"/job.toml", "/run/job.toml", "/run/last/model.safetensors"})
    EXPECT_TRUE(IsPartOfRun(folder_ + part)) << part;
  for (const char* other : {"/run/report.html", "/run/last/model.onnx", "/run/metrics.jsonl"})
    EXPECT_FALSE(IsPartOfRun(folder_ + other)) << other;
}

TEST_F(RunDirectoryTest, NamesArePlain) {
  for (const char* name : {"/a\n[data]", "/caf\xE9", "/\x1B[1m"})
    EXPECT_THROW(New(folder_ + name), UserError);
  EXPECT_TRUE(fs::is_empty(folder_));
  New(folder_ + "/caf\xC3\xA9 au lait");
}

TEST_F(RunDirectoryTest, ADirectoryThatWasRenamedCannotBreakItsJob) {
  const std::string run = folder_ + "/a\n[data]\nformat = 1\n#";
  New(folder_ + "/run");
  fs::rename(folder_ + "/run", run);
  const Job job = LoadRunJob(run, {});
  RunDirectory::Resume(run).WriteJob(job);
  EXPECT_EQ(*LoadRunJob(run, {}).data().Find("format"), Value("synthetic-digits"));
}

TEST_F(RunDirectoryTest, ARunOlderThanItsFormAsksWhatItPredicts) {
  const std::string run = folder_ + "/old";
  const Job job =
      MakeJob(Table{{"data", Table{{"format", "synthetic-digits"}}},
                    {"model", Table{{"name", "lenet"}}},
                    {"cluster",
                     Table{{"replicas", 2}, {"strategy", "async_sgd"}, {"predict_weights", true}}}},
              "job", "");
  Value written = job.resolved;
  written.Find("cluster")->Erase("form");
  RunDirectory::Create(run, job);
  std::ofstream(run + "/job.toml") << FormatToml(written);
  EXPECT_TRUE(LoadRunJob(run, {}).cluster.Bool("predict_weights"));
  const Override form = {"cluster.form", "paper"};
  EXPECT_THROW(LoadRunJob(run, {form}), UserError);
  EXPECT_TRUE(LoadRunJob(run, {{"cluster.form", "yoke"}}).cluster.Bool("predict_weights"));
  const Override original = {"cluster.strategy", "easgd_original"};
  const Job another = LoadRunJob(run, {original, {"cluster.form", "overlapped"}});
  EXPECT_EQ(another.cluster.String("form"), "overlapped");
  EXPECT_EQ(LoadRunJob(run, {original, form}).cluster.String("form"), "paper");
  const Job paper = LoadRunJob(run, {form, {"cluster.predict_weights", "false"}});
  EXPECT_EQ(paper.cluster.String("form"), "paper");
}

TEST_F(RunDirectoryTest, ARefusedRunLeavesTheOneThatIsThere) {
  { RunDirectory first = New(folder_ + "/run"); }
  EXPECT_THROW(New(folder_ + "/run"), UserError);
  EXPECT_TRUE(fs::exists(folder_ + "/run/job.toml"));
}

}  // namespace yoke::run_directory_test
