// TeamShape: which divisions are compared and refused; prices and choices on stated machines.
#include "plan/shapes.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "base/check.h"
#include "base/files.h"
#include "base/resources.h"
#include "plan/hardware.h"
#include "plan/search.h"
#include "plan/support/small_job.h"
#include "train/job/parts.h"

namespace yoke::shapes_test {

using test::Named;
using test::SmallJob;
using testing::ElementsAre;
using testing::HasSubstr;

/// All of it left open but this.
Job OpenJob(const Overrides& keys = {}) {
  Overrides all = {{"node.threads", ""}, {"train.batch", "64"}, {"data.train_size", "6400"}};
  all.insert(all.end(), keys.begin(), keys.end());
  return SmallJob(all);
}

/// One of 16 cores, whose memory does not matter. `growth`: keys of the curve.
std::map<std::string, ClusterFile> Machine(const std::string& growth) {
  return {
      {"f32", ClusterOf(ParseToml("[[nodes]]\n[nodes.curve]\ntitle = \"16\"\nsource = \"test\"\n"
                                  "operations_per_second = 1e9\nbytes_per_second = 1e15\n"
                                  "threads = 16\n" +
                                      growth +
                                      "[network]\nlatency = 1e-7\nbytes_per_second = 1e9\n"
                                      "copy_bytes_per_second = 1e12\n",
                                  "machine.toml"),
                        "")}};
}
const char* const kLoses = "growth = { 1 = 1, 4 = 3, 16 = 4 }\n";
const char* const kKeeps = "growth = { 1 = 1, 16 = 16 }\n";

std::vector<TeamShape> Shapes(const Job& job, const Divisible& open, bool here = false) {
  const DataSets data = OpenData(job.data(), job.seed());
  return ShapesOf(job, BuildModel(job.model(), TaskOf(data.train->Info())), open, here);
}

std::vector<int> Teams(const Divisible& open) {
  std::vector<int> teams;
  for (const TeamShape& shape : Shapes(OpenJob(), open)) teams.push_back(shape.teams);
  return teams;
}

Plan PlanOn(const std::map<std::string, ClusterFile>& machines, const Job& job,
            const std::vector<std::string>& only = {}) {
  const TemporaryFolder folder("yoke-shapes-test");
  const DataSets data = OpenData(job.data(), job.seed());
  const RunRequest run;
  const Divisible open = DivisibleOf(job, &machines.at("f32"), /*replicas=*/true);
  return Search({.job = job,
                 .data = data,
                 .run = run,
                 .machines = machines,
                 .choices = {.open = {"node.executor"}, .only = only, .shapes = Shapes(job, open)},
                 .noise_scale = 1000,
                 .folder = folder.path()});
}

TEST(TeamShapes, AreAShortListOfDivisors) {
  EXPECT_THAT(Teams({.threads = 16, .parts = true}), ElementsAre(2, 4, 8, 16));
  EXPECT_THAT(Teams({.threads = 12, .memory_nodes = 3, .replicas = true}),
              ElementsAre(2, 3, 4, 12));
  EXPECT_THAT(Teams({.threads = 2, .parts = true, .replicas = true}), ElementsAre(2, 2));
  EXPECT_THAT(Teams({.threads = 1, .parts = true, .replicas = true}), ElementsAre());
  EXPECT_THAT(Teams({.threads = 16}), ElementsAre());
}

TEST(TeamShapes, AreOpenWhereTheJobDoesNotSayThem) {
  const ClusterFile machine = Machine(kLoses).at("f32");
  const auto open = [&](const Overrides& keys, const ClusterFile& of) {
    const Divisible found = DivisibleOf(OpenJob(keys), &of, /*replicas=*/true);
    return std::pair(found.parts, found.replicas);
  };
  EXPECT_EQ(open({}, machine), std::pair(true, true));
  EXPECT_EQ(open({{"node.threads", "16"}}, machine), std::pair(true, false));
  EXPECT_EQ(open({{"node.executor", "split"}, {"node.parts", "2"}}, machine),
            std::pair(false, true));
  EXPECT_EQ(open({{"node.devices", R"(["cpu", "emulated:0"])"}}, machine), std::pair(false, false));
  EXPECT_EQ(open({}, Machine("").at("f32")), std::pair(false, false));  // all teams are equal
  ClusterFile several = machine;
  several.kinds[0].count = 2;
  EXPECT_EQ(open({{"cluster.replicas", "2"}}, several), std::pair(true, false));
}

TEST(TeamShapes, SayWhatDoesNotFit) {
  const auto dropped = [](const Overrides& keys, bool here, bool replicas) {
    const Divisible open = {.threads = 4, .parts = !replicas, .replicas = replicas};
    return Shapes(OpenJob(keys), open, here).back().dropped;
  };
  EXPECT_EQ(dropped({{"train.batch", "50"}}, false, true),
            "4 replicas cannot divide a batch of 50 evenly");
  EXPECT_EQ(dropped({{"train.batch", "50"}}, false, false), "");
  EXPECT_EQ(dropped({{"train.batch", "3"}}, false, false),
            "4 parts cannot divide a batch of 3 evenly");
  const Overrides normalizes = {{"model.widths", ""}, {"model.name", "resnet20"}};
  EXPECT_EQ(dropped(normalizes, true, true), "");
  Overrides few = normalizes;
  few.push_back({"train.batch", "16"});
  EXPECT_THAT(dropped(few, true, true), HasSubstr("batch normalization over the 4 examples"));
  EXPECT_THAT(dropped({{"model.widths", "[200000, 200000]"}}, true, true),
              HasSubstr("of the memory"));
  // Parts have fewer copies. The width's matrix has half of the memory in 16 of them.
  const auto width = std::llround(std::sqrt(static_cast<double>(UsableMemory()) / 2 / 4 / 16));
  const Overrides large = {{"model.widths", fmt::format("[{}, {}]", width, width)}};
  EXPECT_EQ(dropped(large, true, false), "");
  EXPECT_THAT(dropped(large, true, true), HasSubstr("4 replicas need about"));
  const Overrides hashed = {{"data.format", "synthetic-xmc"},
                            {"data.train_size", ""},
                            {"data.test_size", ""},
                            {"model.name", "xmc"},
                            {"model.widths", ""}};
  EXPECT_EQ(dropped(hashed, true, false), "");
  EXPECT_THAT(dropped(hashed, true, true), HasSubstr("no predicted time"));
}

TEST(TeamShapes, PricesFollowTheTable) {
  const Job job = OpenJob();
  const DataSets data = OpenData(job.data(), job.seed());
  const auto machines = Machine(kLoses);
  const Hardware hardware(job, data, machines);
  const auto seconds = [&](const TeamShape& shape) {
    Overrides keys = KeysOf(shape, job);
    const char* executor = shape.IsOwn() || shape.replicas ? "single" : "split";
    keys.push_back({"node.executor", executor});
    if (shape.replicas) keys.push_back({"cluster.strategy", "allreduce"});
    return hardware.Of({.keys = keys, .executor = executor, .precision = "f32", .shape = shape})
        .seconds_per_update;
  };
  const double whole = seconds({});
  for (const auto& [teams, times] : {std::pair(4, 3.0), std::pair(16, 1.0)})
    for (const bool replicas : {false, true})
      EXPECT_NEAR(seconds({.teams = teams, .replicas = replicas}) / whole, 4 / (teams * times),
                  0.06)
          << teams << replicas;
}

TEST(TeamShapes, WhereLargeTeamsLoseSmallOnesAreChosen) {
  const Plan parts = PlanOn(Machine(kLoses), OpenJob(), {"parts", "split", "single"});
  EXPECT_EQ(parts.best().name, "split parts=16, f32");
  EXPECT_EQ(Named(parts.candidates, "16 replicas, single, allreduce, f32").seconds_per_update, 0);
  const Plan ranks = PlanOn(Machine(kLoses), OpenJob(), {"replicas"});
  EXPECT_EQ(ranks.best().shape.teams, 16);
  EXPECT_TRUE(ranks.best().shape.replicas);
  std::set<std::string> others;
  for (const Candidate& one : ranks.candidates)
    if (one.shape.replicas && one.seconds_per_update > 0) others.insert(one.strategy);
  EXPECT_EQ(others.size(), 4U);  // allreduce, and the three best
  const Job planned = WithKeys(OpenJob(), ranks.keys);
  EXPECT_EQ(planned.cluster.Int("replicas") * planned.train.Int("batch"), 64);
}

TEST(TeamShapes, WhereTheyLoseNothingOneTeamStays) {
  const Plan plan = PlanOn(Machine(kKeeps), OpenJob());
  EXPECT_EQ(plan.best().name, "single, f32");
  EXPECT_GT(Named(plan.candidates, "split parts=4, f32").seconds_per_update, 0);
  EXPECT_GT(Named(plan.candidates, "4 replicas, single, allreduce, f32").seconds_per_update, 0);
}

TEST(TeamShapes, WithoutAMeasurementTheyHaveNoPrice) {
  const Job job = OpenJob();
  const DataSets data = OpenData(job.data(), job.seed());
  auto machines = Machine("");  // a measured one says nothing of other teams
  const Hardware hardware(job, data, machines);
  Candidate one = {.keys = {{"node.executor", "split"}, {"node.parts", "4"}},
                   .executor = "split",
                   .precision = "f32",
                   .shape = {.teams = 4}};
  try {
    hardware.Of(one);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "the speed of f32, 4 parts is not known here");
  }
  machines["f32, 4 parts"] = machines.at("f32");
  EXPECT_GT(hardware.Of(one).seconds_per_update, 0);
}

TEST(TeamShapes, SayWhyTheyCouldNotBeMeasured) {
  const std::vector<TeamShape> shapes = {{.teams = 2}, {.teams = 4}};
  const auto all = MakeCandidates(
      OpenJob(),
      {.open = {"node.executor"}, .shapes = shapes, .unmeasured = {{"f32, 4 parts", "too slow"}}});
  EXPECT_EQ(Named(all, "split parts=4, f32").dropped, "no price: too slow");
  EXPECT_EQ(Named(all, "split parts=2, f32").dropped, "");
}

/// The far half of a team's bytes is slow: a replica a node is faster.
TEST(TeamShapes, NodesOfMemoryAreDivided) {
  auto machines =
      Machine("growth = { 1 = 1, 16 = 16 }\nmemory_nodes = 2\nfar_bytes_per_second = 1e8\n");
  machines.at("f32").kinds[0].curves.at("").bytes_per_second = 1e9;
  const Plan plan = PlanOn(machines, OpenJob({{"model.widths", "[256]"}}));
  EXPECT_EQ(plan.best().shape.teams, 2) << plan.best().name;
}

}  // namespace yoke::shapes_test
