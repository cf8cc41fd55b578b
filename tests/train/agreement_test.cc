// Agreement: ranks that were given another job, or read other data, learn which and where.
#include "train/agreement.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "comm/threads.h"

namespace yoke::agreement_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kJob = R"([data]
format = "libsvm"
train = "train.txt"
test = "test.txt"
[model]
name = "mlp"
widths = [4]
[train]
epochs = 2
batch = 8
learning_rate = 0.02
schedule = { name = "step", every_epochs = 2, factor = 0.5 }
[cluster]
replicas = 3
)";

class AgreementTest : public testing::Test {
 protected:
  AgreementTest() : folder_(fs::temp_directory_path() / fmt::format("yoke-agree-{}", getpid())) {
    fs::create_directories(folder_);
    Write("job.toml", kJob);
  }
  ~AgreementTest() override { fs::remove_all(folder_); }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
  }
  Job Load(const Overrides& overrides = {}) const {
    return LoadJob(folder_ + "/job.toml", overrides);
  }

  /// What three ranks say, of which `odd` has other facts; "": they agree.
  static std::string Said(int odd, const Facts& usual, const Facts& other) {
    try {
      RunThreads({.ranks = 3}, [&](const Communicator& world) {
        CheckAgreement(world, world.rank() == odd ? other : usual, "be alike");
      });
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
  std::string SaidOfJobs(const Overrides& overrides) const {
    return Said(1, JobFacts(Load()), JobFacts(Load(overrides)));
  }

  /// The sentence about a rank that reads other files.
  std::string SaidOfData(const std::string& train, const std::string& test) const {
    const std::string lines = "0 1:1 2:0.5\n1 2:1\n0 1:2\n1 1:3 2:4\n";
    Write("train.txt", lines);
    Write("test.txt", lines);
    const Facts usual = DataFacts(OpenData(Load().data(), 1));
    Write("train.txt", train.empty() ? lines : train);
    Write("test.txt", test.empty() ? lines : test);
    return Said(2, usual, DataFacts(OpenData(Load().data(), 1)));
  }

  std::string folder_;
};

TEST_F(AgreementTest, EqualJobsAgree) { EXPECT_EQ(SaidOfJobs({}), ""); }

TEST_F(AgreementTest, EachKeyIsNamedWithBothValues) {
  const struct {
    const char *key, *value, *before;
  } cases[] = {{"train.learning_rate", "0.1", "0.02"},
               {"train.seed", "7", "1"},
               {"train.batch", "16", "8"},
               {"train.epochs", "3", "2"},
               {"train.time_limit", "\"10m\"", "none"},
               {"train.schedule.factor", "0.25", "0.5"},
               {"model.activation", "\"tanh\"", "\"relu\""},
               {"model.widths", "[4, 4]", "[4]"},
               {"data.normalize", "\"none\"", "\"auto\""},
               {"node.precision", "\"bf16\"", "\"f32\""},
               {"checkpoint.every_steps", "5", "0"}};
  for (const auto& [key, value, before] : cases)
    EXPECT_EQ(SaidOfJobs({{key, value}}),
              fmt::format("rank 1 has {} = {}, but rank 0 has {}: be alike", key, value, before));
}

TEST_F(AgreementTest, AnotherStrategyComesFirstAmongTheKeysThatFollowIt) {
  const std::string said = SaidOfJobs({{"cluster.strategy", "async_sgd"}});
  EXPECT_THAT(said, HasSubstr("rank 1 has cluster.strategy = \"async_sgd\", but rank 0 has "
                              "\"allreduce\" (other differences: cluster."));
  EXPECT_THAT(said, HasSubstr(", ...): be alike"));
}

TEST_F(AgreementTest, AMachineMayHaveItsOwnPathsThreadsAndMemory) {
  EXPECT_EQ(SaidOfJobs({{"data.train", folder_ + "/elsewhere.txt"},
                        {"data.test", "[\"a.txt\", \"b.txt\"]"},
                        {"data.memory_limit", "100"},
                        {"node.threads", "7"},
                        {"node.pin", "false"}}),
            "");
}

TEST_F(AgreementTest, TheOrderOfKeysDoesNotCount) {
  const Facts one = JobFacts(Load());
  Write("job.toml",
        std::string(kJob).replace(std::string(kJob).find("every_epochs = 2, factor = 0.5"), 30,
                                  "factor = 0.5, every_epochs = 2"));
  EXPECT_EQ(Said(1, one, JobFacts(Load())), "");
}

TEST_F(AgreementTest, OfAModelsFileTheContentCounts) {
  Write("a.onnx", "weights");
  Write("b.onnx", "weights");
  Write("c.onnx", "other weights");
  const auto facts = [&](const std::string& name) {
    return JobFacts(
        Load({{"model.name", ""}, {"model.widths", ""}, {"model.file", folder_ + name}}));
  };
  EXPECT_EQ(Said(1, facts("/a.onnx"), facts("/b.onnx")), "");
  EXPECT_THAT(Said(1, facts("/a.onnx"), facts("/c.onnx")),
              HasSubstr("rank 1 has model.file = a file with the checksum "));
  EXPECT_THAT(Said(1, facts("/a.onnx"), facts("/absent.onnx")),
              HasSubstr("rank 1 has model.file = no file, but rank 0 has a file"));
}

TEST_F(AgreementTest, TheOddOneIsNamedThoughItIsRank0) {
  const Facts usual = {{"speed", "1"}}, odd = {{"speed", "2"}};
  EXPECT_EQ(Said(0, usual, odd), "rank 0 has speed = 2, but rank 1 has 1: be alike");
}

TEST_F(AgreementTest, AnotherProgramIsNamed) {
  const Facts mine = JobFacts(Load());
  Facts other = mine;
  other[0].value = "0.0.1 (abc)";
  EXPECT_THAT(Said(1, mine, other), HasSubstr("rank 1 has the version of yoke = 0.0.1 (abc), "));
}

TEST_F(AgreementTest, EqualDataAgree) { EXPECT_EQ(SaidOfData("", ""), ""); }

TEST_F(AgreementTest, ALongerOrShorterSetIsNamed) {
  EXPECT_THAT(SaidOfData("0 1:1 2:0.5\n1 2:1\n0 1:2\n", ""),
              HasSubstr("rank 2 has the number of training examples = 3, but rank 0 has 4 "));
  EXPECT_THAT(SaidOfData("0 1:1 2:0.5\n1 2:1\n0 1:2\n1 1:3 2:4\n0 1:1\n", ""),
              HasSubstr("rank 2 has the number of training examples = 5, but rank 0 has 4 "));
  EXPECT_THAT(SaidOfData("", "0 1:1 2:2\n"),
              HasSubstr("rank 2 has the number of test examples = 1, but rank 0 has 4 "));
}

TEST_F(AgreementTest, OtherLabelsInputsOrClassesAreNamed) {
  EXPECT_THAT(SaidOfData("1 1:1 2:0.5\n0 2:1\n0 1:2\n1 1:3 2:4\n", ""),
              HasSubstr("rank 2 has the checksum of the training labels = "));
  EXPECT_THAT(SaidOfData("", "0 1:1 2:0.5\n1 2:1\n1 1:2\n1 1:3 2:4\n"),
              HasSubstr("rank 2 has the checksum of the test labels = "));
  EXPECT_THAT(SaidOfData("0 1:1 2:0.5\n1 2:1\n0 1:2\n1 1:3 2:4.5\n", ""),
              HasSubstr("rank 2 has the checksum of the training inputs = "));
  EXPECT_THAT(SaidOfData("0 1:1 2:0.5\n1 2:1\n0 1:2\n1 1:3 5:4\n", ""),
              HasSubstr("rank 2 has the data's input = [5], but rank 0 has [2]"));
  EXPECT_THAT(
      SaidOfData("0 1:1 2:0.5\n2 2:1\n0 1:2\n2 1:3 2:4\n",
                 "0 1:1 2:0.5\n2 2:1\n0 1:2\n2 1:3 2:4\n"),
      HasSubstr(
          "rank 2 has the data's label names = [\"0\", \"2\"], but rank 0 has [\"0\", \"1\"]"));
}

TEST_F(AgreementTest, OfALongValueTheBeginningAndAChecksumAreShown) {
  std::string widths = "[4";
  for (int i = 0; i < 50; ++i) widths += ", 4";
  const std::string said = SaidOfJobs({{"model.widths", widths + "]"}});
  EXPECT_THAT(said, HasSubstr("rank 1 has model.widths = [4, 4, 4, "));
  EXPECT_THAT(said, HasSubstr("... (checksum "));
  EXPECT_LT(said.size(), 200U);
}

TEST_F(AgreementTest, OpenKeysAreAuto) {
  const Job open = Load({{"train.learning_rate", "auto"}});
  EXPECT_THAT(Said(1, JobFacts(open), JobFacts(Load())),
              HasSubstr("rank 1 has train.learning_rate = 0.02, but rank 0 has auto"));
}

TEST_F(AgreementTest, AnothersJobHasTheKeysOfThisMachine) {
  const Job mine = Load({{"node.threads", "1"}});
  const Job theirs = Load({{"data.train", "/elsewhere/train.txt"},
                           {"node.threads", "2"},
                           {"train.learning_rate", "0.5"},
                           {"cluster.strategy", "easgd_sync3"}});
  const Job job = OnThisMachine(theirs.resolved, mine);
  EXPECT_EQ(job.data(), mine.data());
  EXPECT_EQ(job.node.Int("threads"), 1);
  EXPECT_EQ(job.train.Float("learning_rate"), 0.5);
  EXPECT_EQ(job.cluster.String("strategy"), "easgd_sync3");
}

TEST_F(AgreementTest, EqualFactsCostOneSmallExchange) {
  const Facts facts = JobFacts(Load());
  RunThreads({.ranks = 3}, [&](const Communicator& world) {
    CheckAgreement(world, facts, "be alike");
    EXPECT_EQ(world.traffic().messages_sent, 2);
    EXPECT_LT(world.traffic().bytes_sent, 100);
  });
}

}  // namespace yoke::agreement_test
