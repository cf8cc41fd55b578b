// Job: what a job file may say, what is refused and how, and the page of all keys.
#include "train/job/job.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "node/executor.h"
#include "strategy/strategy.h"
#include "train/files.h"

namespace yoke::job_test {

namespace fs = std::filesystem;

constexpr const char* kDigits = R"([data]
format = "synthetic-digits"
train_size = 600
test_size = 100
[model]
name = "lenet"
[train]
epochs = 2
batch = 32
learning_rate = 0.02
)";

/// A folder with a job file.
class JobTest : public testing::Test {
 protected:
  JobTest() : folder_(fs::temp_directory_path() / fmt::format("yoke-job-{}", getpid())) {
    fs::create_directories(folder_);
  }
  ~JobTest() override { fs::remove_all(folder_); }

  Job Load(const std::string& text, const Overrides& overrides = {}) {
    std::ofstream(folder_ + "/job.toml") << text;
    return LoadJob(folder_ + "/job.toml", overrides);
  }
  std::string Refusal(const std::string& text, const Overrides& overrides = {}) {
    try {
      Load(text, overrides);
    } catch (const UserError& error) {
      return error.what();
    }
    return "accepted";
  }

  std::string folder_;
};

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  return at == std::string::npos ? text + to : text.replace(at, from.size(), to);
}

void ExpectWords(const std::string& sentence, const std::vector<std::string>& words) {
  EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
  for (const std::string& word : words)
    EXPECT_NE(sentence.find(word), std::string::npos) << "'" << word << "' is not in: " << sentence;
}

TEST_F(JobTest, Defaults) {
  const Job job = Load("[data]\nformat = \"synthetic-digits\"\n[model]\nname = \"lenet\"\n");
  EXPECT_EQ(job.name, "job");
  EXPECT_EQ(job.train.Int("batch"), 64);
  EXPECT_EQ(job.train.String("rule"), "momentum");
  EXPECT_EQ(job.train.Float("momentum"), 0.9);
  EXPECT_EQ(job.node.String("executor"), "single");
  EXPECT_EQ(job.cluster.String("strategy"), "none");
  EXPECT_EQ(job.seed(), 1U);
  EXPECT_GE(job.Threads(), 1);
}

TEST_F(JobTest, ResolvedJobGivesTheSameJob) {
  const Job job =
      Load(std::string(kDigits) +
               "rule = \"adam\"\ntarget = { metric = \"accuracy\", at_least = 0.9 }\n",
           {{"checkpoint.best", "accuracy"}, {"model.name", "mlp"}, {"model.widths", "[64, 32]"}});
  const std::string text = FormatToml(job.resolved);
  const Job again = MakeJob(ParseToml(text, "job.toml"), "job", "/elsewhere");
  EXPECT_EQ(again.resolved, job.resolved);
  EXPECT_EQ(FormatToml(again.resolved), text);
}

TEST_F(JobTest, Overrides) {
  const Job job = Load(kDigits, {{"train.learning_rate", "0.1"},
                                 {"train.rule", "adam"},
                                 {"model.name", "\"mlp\""},
                                 {"model.widths", "[64]"},
                                 {"train.schedule.name", "cosine"},
                                 {"train.target", "{ metric = \"accuracy\", at_least = 0.5 }"},
                                 {"train.target", ""}});
  EXPECT_EQ(job.train.Float("learning_rate"), 0.1);
  EXPECT_EQ(job.train.String("rule"), "adam");
  EXPECT_EQ(*job.model().Find("widths"), Value(List{64}));
  EXPECT_EQ(*job.train.Raw("schedule").Find("name"), Value("cosine"));
  EXPECT_FALSE(job.train.Has("target"));
}

TEST_F(JobTest, AFlagsTextMayLookLikeANumber) {
  const Job job = Load(kDigits, {{"train.time_limit", "5", "--time-limit", true}});
  EXPECT_EQ(job.train.String("time_limit"), "5");
}

TEST_F(JobTest, AnotherPartBringsItsOwnKeys) {
  const std::string text = std::string(kDigits) + "rule = \"nesterov\"\nmomentum = 0.5\n";
  const Job adam = Load(text, {{"train.rule", "adam"}, {"train.beta1", "0.8"}});
  EXPECT_EQ(adam.train.Float("beta1"), 0.8);
  EXPECT_EQ(Load(text, {{"train.rule", "nesterov"}}).train.Float("momentum"), 0.5);
}

TEST_F(JobTest, SgdHasAVelocityWhereTheStrategyMakesItMomentum) {
  const Overrides keys = {{"train.rule", "sgd"}, {"train.velocity", "steps"}};
  ExpectWords(Refusal(kDigits, keys), {"train.velocity", "rule momentum or nesterov"});
  const Job job = Load(kDigits, {keys[0], keys[1], {"cluster.strategy", "easgd_async_momentum"}});
  EXPECT_EQ(job.train.String("velocity"), "steps");
  const Job other = WithKeys(job, {{"cluster.strategy", "allreduce"}});
  EXPECT_EQ(other.resolved.Find("train")->Find("velocity"), nullptr);
}

TEST_F(JobTest, Paths) {
  setenv("YOKE_JOB_TEST", "/some/where", 1);
  const std::string text =
      "[data]\nformat = \"libsvm\"\ntrain = [\"$YOKE_JOB_TEST/a\", \"b/../c\"]\ntest = "
      "\"x${YOKE_JOB_TEST}y\"\n[model]\nname = \"linear\"\n";
  const Job job = Load(text, {{"data.test", "from_here"}});
  EXPECT_EQ(*job.data().Find("train"), Value(List{"/some/where/a", folder_ + "/c"}));
  EXPECT_EQ(*job.data().Find("test"), Value((fs::current_path() / "from_here").string()));
  ExpectWords(Refusal(Replaced(text, "YOKE_JOB_TEST", "YOKE_NOT_SET")),
              {"YOKE_NOT_SET", "not set"});
  EXPECT_EQ(ExpandEnvironment("x${YOKE_JOB_TEST}y"), "x/some/wherey");
  for (const char* bad : {"a$", "$/x", "${YOKE_JOB_TEST", "${}"})
    EXPECT_THROW(ExpandEnvironment(bad), UserError) << bad;
}

struct Mistake {
  const char* from;
  const char* to;  ///< Takes the place of `from`; appended where that is not in the job.
  std::vector<std::string> words;
};

TEST_F(JobTest, MistakesAreToldInOneSentence) {
  const std::vector<Mistake> mistakes = {
      {"epochs", "epoches", {"job.toml:8", "epoches", "'epochs'", "batch"}},
      {"\"lenet\"", "\"lennet\"", {"job.toml:6", "lennet", "'lenet'", "mlp"}},
      {"batch = 32", "batch = 0", {"job.toml:9", "train.batch", "at least 1", "0"}},
      {"batch = 32", "batch = \"many\"", {"job.toml:9", "train.batch", "whole number"}},
      {"learning_rate = 0.02", "learning_rate = -1", {"train.learning_rate", "above 0"}},
      {"learning_rate = 0.02", "learning_rate = nan", {"train.learning_rate"}},
      {"\"synthetic-digits\"", "\"synthetic-digts\"", {"synthetic-digits", "data.format"}},
      {"[model]", "[model", {"job.toml:5"}},
      {"[train]", "[trane]", {"job.toml:7", "trane", "'train'", "checkpoint"}},
      {"[train]", "[[train]]", {"[train]", "table"}},
      {"[model]\nname = \"lenet\"\n", "", {"[model]"}},
      {"name = \"lenet\"", "", {"[model]", "name"}},
      {"name = \"lenet\"", "name = 3", {"model.name", "string"}},
      {"name = \"lenet\"", "name = \"lenet\"\nfile = \"m.onnx\"", {"'name'", "'file'"}},
      {"name = \"lenet\"", "name = \"lenet\"\ninitialize = true", {"initialize", "model.file"}},
      {"name = \"lenet\"", "name = \"lenet\"\nlayer = []", {"name", "layer"}},
      {"name = \"lenet\"", "layer = []", {"model.layer", "empty"}},
      {"name = \"lenet\"", "layer = [{ type = \"linaer\" }]", {"linaer", "linear"}},
      {"name = \"lenet\"",
       "layer = [{ type = \"linear\", width = 3 }]",
       {"model.layer[0]", "width"}},
      {"name = \"lenet\"", "name = \"lenet\"\nwidths = [3]", {"widths", "model"}},
      {"train_size = 600", "train_sise = 600", {"train_sise", "train_size"}},
      {"", "rule = \"adm\"\n", {"adm", "'adam'", "sgd"}},
      {"",
       "rule = \"sgd\"\nmomentum = 0.9\n",
       {"job.toml:12: train.momentum belongs to rule momentum or nesterov", "uses sgd"}},
      {"",
       "[node]\nhogwild_batch = 4\n",
       {"node.hogwild_batch belongs to executor hogwild, and this job uses single"}},
      {"",
       "schedule = { every_epochs = 2 }\n",
       {"train.schedule.every_epochs belongs to schedule step", "uses constant"}},
      {"name = \"lenet\"",
       "layer = [{ type = \"relu\", outputs = 3 }]",
       {"model.layer[0].outputs belongs to layer linear or", "this layer's type is relu"}},
      {"name = \"lenet\"", "file = \"m.onnx\"\nwidths = [3]", {"model mlp", "uses a file"}},
      {"",
       "evaluate_every = \"steps\"\n",
       {"job.toml:11: train.evaluate_every: expected a whole number of epochs, or { steps = N }"}},
      {"", "evaluate_every = [1]\n", {"train.evaluate_every", "{ steps = N }, got [1]"}},
      {"", "rate = 0.1\n", {"'train.rate'", "'learning_rate'"}},
      {"", "time_limit = \"2x\"\n", {"train.time_limit", "2h"}},
      {"", "target = { metric = \"acuracy\", at_least = 1 }\n", {"acuracy", "'accuracy'"}},
      {"", "target = { metric = \"accuracy\" }\n", {"train.target", "at_least"}},
      {"", "schedule = { name = \"cosin\" }\n", {"cosin", "'cosine'"}},
      {"", "[node]\nexecutor = \"best\"\n", {"best", "single"}},
      {"", "[node]\nprecision = \"f16\"\n", {"f16", "bf16"}},
      {"", "[node]\nthreads = 0\n", {"node.threads", "at least 1"}},
      {"", "[cluster]\nstrategy = \"best\"\n", {"best", "none"}},
      {"", "[cluster]\nstrategy = \"none\"\nreplicas = 2\n", {"cluster.strategy", "one replica"}},
      {"", "[checkpoint]\nbest = \"acc\"\n", {"checkpoint.best", "accuracy"}},
  };
  for (const Mistake& mistake : mistakes) {
    const std::string text = *mistake.from ? Replaced(kDigits, mistake.from, mistake.to)
                                           : std::string(kDigits) + mistake.to;
    SCOPED_TRACE(text);
    ExpectWords(Refusal(text), mistake.words);
  }
}

TEST_F(JobTest, MistakesInOverrides) {
  ExpectWords(Refusal(kDigits, {{"train.bach", "3"}}), {"--set", "bach", "batch"});
  ExpectWords(Refusal(kDigits, {{"train.batch", "many"}}),
              {"--set", "train.batch", "whole number"});
  ExpectWords(Refusal(kDigits, {{"batch", "3"}}), {"--set batch", "section.key=value"});
  ExpectWords(Refusal(kDigits, {{"train.batch.size", "3"}}), {"--set train.batch.size"});
  ExpectWords(Refusal(kDigits, {{"model.widths", "[64"}}), {"--set model.widths", "[64"});
  ExpectWords(Refusal(kDigits, {{"cluster.strategy", "allreduse"}}), {"allreduse", "none"});
  ExpectWords(Refusal(kDigits, {{"trane.batch", "3"}}), {"trane", "train"});
  ExpectWords(Refusal(kDigits, {{"node.threads", "many", "--threads"}}),
              {"--threads: node.threads: expected a whole number"});
  ExpectWords(Refusal(kDigits, {{"train.time_limit", "5x", "--time-limit", true}}),
              {"--time-limit: train.time_limit: expected a duration"});
}

TEST_F(JobTest, ANetworkIsNoJob) {
  try {
    LoadJob("net.onnx", {});
    FAIL();
  } catch (const UserError& error) {
    ExpectWords(error.what(), {"[model]", "file = \"net.onnx\"", "yoke info net.onnx"});
  }
}

TEST_F(JobTest, AbsentFile) {
  try {
    LoadJob("absent.toml", {});
    FAIL();
  } catch (const UserError& error) {
    ExpectWords(error.what(), {"absent.toml"});
  }
}

TEST(DurationTest, Units) {
  EXPECT_EQ(ParseDuration("90s", "x"), 90);
  EXPECT_EQ(ParseDuration("90", "x"), 90);
  EXPECT_EQ(ParseDuration("10m", "x"), 600);
  EXPECT_EQ(ParseDuration("1.5h", "x"), 5400);
  for (const char* bad : {"", "s", "-1s", "0s", "1w", "nan", "inf", "1 s "})
    EXPECT_THROW(ParseDuration(bad, "x"), UserError) << bad;
}

TEST(KeysPageTest, HasEveryKeyWithItsHelp) {
  const std::string page = KeysPage();
  for (const KeyGroup& group : AllKeys())
    for (const OptionSpec& option : group.options) {
      EXPECT_NE(page.find("`" + option.name + "`"), std::string::npos) << option.name;
      EXPECT_FALSE(option.help.empty()) << option.name;
    }
}

TEST_F(JobTest, AResolvedPathIsTakenAsItStands) {
  setenv("YOKE_TEST_PRICE", "9", 1);
  const std::string text =
      Replaced(kDigits, "format = \"synthetic-digits\"\ntrain_size = 600\ntest_size = 100",
               "format = \"csv\"\ntrain = \"/a$YOKE_TEST_PRICE/x\"");
  std::ofstream(folder_ + "/job.toml") << text;
  const auto train = [](const Job& job) { return FormatValue(*job.data().Find("train")); };
  EXPECT_EQ(train(LoadJob(folder_ + "/job.toml", {})), "\"/a9/x\"");
  EXPECT_EQ(train(MakeResolvedJob(ReadToml(folder_ + "/job.toml"), {})),
            "\"/a$YOKE_TEST_PRICE/x\"");
  EXPECT_EQ(train(MakeResolvedJob(ReadToml(folder_ + "/job.toml"),
                                  {{"data.train", "/$YOKE_TEST_PRICE"}})),
            "\"/9\"");
  unsetenv("YOKE_TEST_PRICE");
}

TEST_F(JobTest, RefusesTextsThatItsFilesCannotHold) {
  ExpectWords(Refusal(kDigits, {{"data.format", "csv"}, {"data.train", "/caf\xE9/x.csv"}}),
              {"--set: data.train: '/caf\\xE9/x.csv' is not UTF-8"});
  const std::string text =
      Replaced(kDigits, "format = \"synthetic-digits\"\ntrain_size = 600\ntest_size = 100",
               "format = \"csv\"\ntrain = [\"a\", \"b\\u0000\"]");
  ExpectWords(Refusal(text), {"job.toml:3: data.train: ", "zero byte"});
}

TEST_F(JobTest, RulesOfWholeLayersNeedPartsThatUpdateThem) {
  for (const StrategyEntry& strategy : strategies())
    for (const ExecutorEntry& executor : executors()) {
      const std::string told =
          Refusal(kDigits, {{"train.rule", "lamb"},
                            {"cluster.strategy", strategy.name},
                            {"cluster.replicas", strategy.supports(4).empty() ? "4" : "1"},
                            {"node.executor", executor.name}});
      const bool fits = strategy.whole_layers && executor.whole_layers;
      EXPECT_EQ(told.find("lamb looks at whole layers") == std::string::npos, fits)
          << strategy.name << ", " << executor.name << ": " << told;
    }
  ExpectWords(Refusal(kDigits, {{"train.rule", "muon"}, {"cluster.strategy", "slowmo"}}),
              {"train.rule", "executor single", "allreduce", "diloco", "local_sgd", "none",
               "the job has single and slowmo"});
}

TEST_F(JobTest, TheEnvironmentsKernelsAreInTheJob) {
  setenv("YOKE_KERNELS", "reference", 1);
  EXPECT_EQ(*Load(kDigits).resolved.Find("node")->Find("kernels"), Value("reference"));
  setenv("YOKE_KERNELS", "refrence", 1);
  ExpectWords(Refusal(kDigits), {"YOKE_KERNELS", "refrence", "auto or reference"});
  unsetenv("YOKE_KERNELS");
}

}  // namespace yoke::job_test
