// The report: what the page is given of runs, and what is refused. tests/train/report_page_test.py
// looks at the page.
#include "train/report/report.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/check.h"

namespace yoke::report_test {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using testing::HasSubstr;
using testing::Not;

/// A run directory with these lines of metrics.jsonl.
std::string RunWith(const std::string& name, const std::string& lines,
                    const std::string& rate = "1") {
  std::string folder = testing::TempDir() + "/report/" + name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder + "/job.toml") << "[train]\nlearning_rate = " << rate << "\n";
  std::ofstream(folder + "/metrics.jsonl") << lines;
  return folder;
}

TEST(Report, RunsHaveTheirNamesJobsAndEvents) {
  const std::string one = RunWith("one",
                                  R"({"event":"start","cpu":"fast"})"
                                  "\n"
                                  R"({"event":"epoch","epoch":1})"
                                  "\n",
                                  "0.1");
  const Json json = Json::parse(RunsAsJson({one + "/", RunWith("other", "")}));
  ASSERT_EQ(json["runs"].size(), 2U);
  const Json& run = json["runs"][0];
  EXPECT_EQ(run["name"], "one");  // without the folder that they share
  EXPECT_EQ(run["job"]["train.learning_rate"], "0.1");
  EXPECT_EQ(run["lines"][0]["cpu"], "fast");
  EXPECT_EQ(run["lines"][1]["epoch"], 1);
  EXPECT_FALSE(run.contains("plan"));
  EXPECT_FALSE(run.contains("timeline"));
  EXPECT_EQ(json["runs"][1]["name"], "other");
}

TEST(Report, BrokenLinesAreLeftOut) {
  const std::string torn =
      RunWith("torn", R"({"event":"epoch","epoch":1})"
                      "\n[1]\n3\n\"x\"\n{\"event\":7}\n{\"event\":\"loading\"}\n"
                      R"({"event":"epo)");
  EXPECT_EQ(Json::parse(RunsAsJson({torn}))["runs"][0]["lines"].size(), 1U);
}

TEST(Report, OtherFilesOfARun) {
  const std::string run = RunWith("other-files", "");
  std::ofstream(run + "/plan.toml") << "chosen = \"a\"\n";
  EXPECT_EQ(Json::parse(RunsAsJson({run}))["runs"][0]["plan"]["chosen"], "a");
  for (const char* damaged : {"[1]", R"({"from":"x","lanes":7})", ""}) {
    std::ofstream(run + "/timeline.json") << damaged;
    EXPECT_FALSE(Json::parse(RunsAsJson({run}))["runs"][0].contains("timeline")) << damaged;
  }
  std::ofstream(run + "/plan.toml") << "chosen =";
  EXPECT_THROW(RunsAsJson({run}), UserError);
}

TEST(Report, ThePageHoldsEverythingItself) {
  const std::string page = ReportPage({RunWith("page", R"({"event":"start","cpu":"</script>"})")});
  for (const char* foreign : {"@RUNS@</script>", "<img", "src=", "\"</script>\""})
    EXPECT_THAT(page, Not(HasSubstr(foreign)));
  EXPECT_THAT(page, HasSubstr("\\u003c/script>"));
}

TEST(Report, RefusesWhatIsNoRun) {
  EXPECT_THROW(ReportPage({"/nowhere"}), UserError);
  EXPECT_THROW(ReportPage({testing::TempDir()}), UserError);
}

}  // namespace yoke::report_test
