// Search: choices by prediction on stated clusters.
#include "plan/search.h"

#include <gmock/gmock.h>

#include <set>

#include "base/files.h"
#include "plan/support/small_job.h"
#include "plan/tuning.h"
#include "simulate/simulate.h"

namespace yoke::search_test {

using test::Cluster;
using test::Named;
using test::SmallJob;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

/// Of 4 replicas on these machines, with the executor single.
Plan PlanOn(const std::map<std::string, ClusterFile>& machines, const Overrides& keys = {},
            const std::vector<std::string>& only = {}) {
  const TemporaryFolder folder("yoke-search-test");
  Overrides all = {{"cluster.replicas", "4"}};
  all.insert(all.end(), keys.begin(), keys.end());
  const Job job = SmallJob(all);
  const DataSets data = OpenData(job.data(), job.seed());
  const RunRequest run;
  return Search({.job = job,
                 .data = data,
                 .run = run,
                 .machines = machines,
                 .choices = {.open = {"cluster.strategy"}, .only = only},
                 .noise_scale = 1000,
                 .folder = folder.path()});
}

TEST(Search, ASlowNetworkMakesItLeaveTheDefault) {
  const Plan plan =
      PlanOn(Cluster(4, 1e-3, 1e5), {{"data.train_size", "6400"}},
             {"allreduce", "local_sgd", "gossip_pull", "easgd_sync3", "sgp", "ad_psgd"});
  EXPECT_EQ(plan.chosen, 0);
  EXPECT_FALSE(plan.best().is_default);
  EXPECT_FALSE(plan.keys.empty());
  EXPECT_THAT(plan.notes, Contains(AllOf(HasSubstr("% of the time of the default"),
                                         HasSubstr(plan.best().name))));
  const Candidate standard = Named(plan.candidates, "single, allreduce, f32");
  EXPECT_LT(plan.best().Seconds(), 0.95 * standard.Seconds());

  std::set<std::string> strategies;
  size_t leaders = 0;
  for (const Candidate& one : plan.candidates) {
    if (&one == &plan.best()) {
      EXPECT_EQ(one.dropped, "");
    } else {
      EXPECT_GT(one.dropped.size(), 10U) << one.name;
    }
    if (&one != &plan.best() && one.dropped != plan.best().name + " is faster predicted") continue;
    if (one.is_default) continue;
    ++leaders;
    strategies.insert(one.strategy);
  }
  EXPECT_EQ(leaders, 4U);
  EXPECT_EQ(strategies.size(), leaders);
}

/// The rate that trials of other parts tell is a key of the candidate; a note names the chosen
/// one's.
TEST(Search, EachCandidateHasTheRateThatFitsIt) {
  const TemporaryFolder folder("yoke-search-test");
  const Job job = SmallJob(
      {{"cluster.replicas", "4"}, {"train.learning_rate", "0.5"}, {"data.train_size", "6400"}});
  const DataSets data = OpenData(job.data(), job.seed());
  const RunRequest run;
  const auto machines = Cluster(4, 1e-3, 1e5);
  const Plan plan = Search(
      {.job = job,
       .data = data,
       .run = run,
       .machines = machines,
       .choices = {.open = {"cluster.strategy"}, .only = {"allreduce", "local_sgd"}},
       .noise_scale = 1000,
       .rate_of =
           [](const Job& its) { return its.cluster.String("strategy") == "local_sgd" ? 0.25 : 0; },
       .folder = folder.path()});
  for (const Candidate& one : plan.candidates)
    if (one.dropped.empty() || one.is_default) {
      EXPECT_EQ(SettingOf(JobOf(job, one)).rate, one.is_default ? 0.5 : 0.25) << one.name;
    }
  EXPECT_EQ(plan.best().strategy, "local_sgd");
  EXPECT_THAT(plan.notes, Contains(plan.best().name + " has learning rate 0.25"));
}

TEST(Search, AFastNetworkKeepsTheDefault) {
  const Plan plan = PlanOn(Cluster(4, 1e-9, 1e15), {},
                           {"allreduce", "local_sgd", "async_sgd", "easgd_sync3", "sgp"});
  EXPECT_TRUE(plan.best().is_default);
  EXPECT_EQ(plan.best().name, "single, allreduce, f32");
  EXPECT_TRUE(plan.keys.empty());
  EXPECT_THAT(plan.notes, Contains(HasSubstr("is the default, and nothing is faster")));
}

TEST(Search, LeadersDifferInStrategy) {
  const Plan plan = PlanOn(Cluster(4, 1e-3, 1e5), {{"data.train_size", "64000"}},
                           {"allreduce", "local_sgd", "diloco"});
  std::vector<std::string> leaders = {plan.best().strategy};
  for (const Candidate& one : plan.candidates)
    if (one.dropped == plan.best().name + " is faster predicted") leaders.push_back(one.strategy);
  EXPECT_THAT(leaders, testing::UnorderedElementsAre("allreduce", "local_sgd", "diloco"));
  EXPECT_THAT(Named(plan.candidates, "single, local_sgd period=8, f32").dropped,
              HasSubstr(", after single, local_sgd"));
}

TEST(Search, WorkThatIsTheSameIsComparedOnce) {
  const TemporaryFolder folder("yoke-search-test");
  const Job job = SmallJob({{"cluster.replicas", "4"}});
  const DataSets data = OpenData(job.data(), job.seed());
  const RunRequest run;
  const Plan plan = Search(
      {.job = job,
       .data = data,
       .run = run,
       .machines = Cluster(4, 1e-3, 1e5),
       .choices = {.open = {"cluster.strategy", "node.executor"}, .only = {"single", "split"}},
       .noise_scale = 1000,
       .folder = folder.path()});
  std::set<std::string> lines;
  for (const Candidate& one : plan.candidates) {
    if (one.seconds_per_update == 0 || one.repeats) continue;
    const std::string work = one.name.substr(one.name.find(','));
    EXPECT_TRUE(lines.insert(work).second) << one.name;
  }
  EXPECT_GT(lines.size(), 10U);
  EXPECT_THAT(Named(plan.candidates, "split, gossip_pull, f32").dropped,
              HasSubstr("the same work as single, gossip_pull, f32"));
}

TEST(Search, DropsAnExecutorOfOtherModels) {
  const TemporaryFolder folder("yoke-search-test");
  const Job job =
      SmallJob({{"node.devices", R"(["cpu", "emulated:0"])"}, {"node.executor", "split"}});
  const DataSets data = OpenData(job.data(), job.seed());
  const RunRequest run;
  auto machines = Cluster(1, 1e-3, 1e5);
  const SpeedCurve cpu = {.operations_per_second = 1e9, .bytes_per_second = 1e9};
  SpeedCurve device = cpu;
  device.link_bytes_per_second = 1e9;
  machines.at("f32").kinds[0].curves = {{"cpu", cpu}, {"emulated:0", device}};
  const Plan plan = Search({.job = job,
                            .data = data,
                            .run = run,
                            .machines = machines,
                            .choices = {.open = {"node.executor"}},
                            .noise_scale = 1000,
                            .folder = folder.path()});
  EXPECT_THAT(Named(plan.candidates, "pipeline, f32").dropped,
              HasSubstr("executor pipeline needs a model whose last layer is a hashed one"));
}

TEST(Search, ASmallGainKeepsTheDefault) {
  const Plan plan =
      PlanOn(Cluster(4, 1e-6, 1.35e8), {{"data.train_size", "6400"}}, {"allreduce", "local_sgd"});
  EXPECT_TRUE(plan.best().is_default);
  EXPECT_THAT(
      Named(plan.candidates, "single, local_sgd, f32").dropped,
      testing::MatchesRegex("predicted it gains [0-4]\\.. % on the default, less than 5 %"));
}

TEST(Search, ReplicasExchangeFourTimesAnEpoch) {
  // An epoch has 10 steps.
  const Plan plan =
      PlanOn(Cluster(4, 1e-3, 1e5), {}, {"allreduce", "local_sgd", "gossip_pull", "async_sgd"});
  EXPECT_THAT(Named(plan.candidates, "single, local_sgd period=8, f32").dropped,
              HasSubstr("exchanges every 8 steps, less than 4 times in an epoch of 10"));
  for (const Candidate& one : plan.candidates)
    if (one.name.find("=128") != std::string::npos) {
      EXPECT_NE(one.dropped, "") << one.name;
    }
  EXPECT_EQ(plan.best().name.find("=8"), std::string::npos) << plan.best().name;
}

TEST(Search, TrialsThatTeachNothingLeaveTheChoiceToPrices) {
  const TemporaryFolder folder("yoke-search-test");
  const Job job = SmallJob(
      {{"cluster.replicas", "2"}, {"train.learning_rate", "1e-7"}, {"train.epochs", "1000"}});
  const DataSets data = OpenData(job.data(), job.seed());
  const RunRequest run;
  const Plan plan =
      Search({.job = job,
              .data = data,
              .run = run,
              .machines = Cluster(2, 1e-3, 1e5),
              .choices = {.open = {"cluster.strategy"}, .only = {"allreduce", "ad_psgd"}},
              .noise_scale = 1000,
              .trial_seconds = 0.6,
              .folder = folder.path()});
  EXPECT_THAT(plan.notes, Contains(HasSubstr("the predicted times decide: trials of")));
  EXPECT_TRUE(plan.best().measured);
  for (const Candidate& one : plan.candidates)
    if (one.measured) {
      EXPECT_LE(plan.best().Seconds(), one.Seconds()) << one.name;
    }
}

/// Of asynchronous strategies of four replicas, by trials in virtual time that also choose the
/// momentum.
Plan PlanOfGroups(const Overrides& keys, double trial_seconds = 3) {
  const TemporaryFolder folder("yoke-search-test");
  Overrides all = {{"cluster.replicas", "4"},
                   {"cluster.strategy", "compute_groups"},
                   {"cluster.bucket_mb", "1.0"},
                   {"train.momentum", "0.0"},
                   {"train.epochs", "1000"}};
  all.insert(all.end(), keys.begin(), keys.end());
  const Job job = SmallJob(all);
  const DataSets data = OpenData(job.data(), job.seed());
  const auto machines = Cluster(4, 1e-6, 1e9);
  const SimulatedCluster cluster = {.machines = machines.at("f32").Simulated(1),
                                    .simulate = Simulate};
  const RunRequest run = {.cluster = &cluster};
  return Search({.job = job,
                 .data = data,
                 .run = run,
                 .machines = machines,
                 .choices = {.open = {"cluster.strategy"}, .only = {"compute_groups", "async_sgd"}},
                 .noise_scale = 1000,
                 .trial_seconds = trial_seconds,
                 .tunes_momentum = true,
                 .folder = folder.path()});
}

std::vector<std::string> Tunings(const Plan& plan) {
  std::vector<std::string> notes;
  std::ranges::copy_if(plan.notes, std::back_inserter(notes), [](const std::string& note) {
    return note.find("and momentum") != std::string::npos;
  });
  return notes;
}

TEST(Search, FewerGroupsTakeOverOnlyWhereTheyAreBetter) {
  for (const bool better : {true, false}) {
    const Plan plan =
        PlanOfGroups({{"cluster.form", "paper"}, {"train.learning_rate", better ? "0.3" : "2.0"}});
    const Candidate two = Named(plan.candidates, "single, compute_groups, f32");
    const Candidate four =
        Named(plan.candidates, "single, compute_groups groups=4 served_head=true, f32");
    EXPECT_EQ(plan.best().name, better ? two.name : four.name);
    EXPECT_EQ(two.loss < four.loss, better);
    EXPECT_THAT(better ? four.dropped : two.dropped,
                HasSubstr(better ? "its best momentum is 0" : "less stale than"));
    EXPECT_EQ(Tunings(plan).size(), better ? 2U : 1U);
  }
}

TEST(Search, OnlyLateGradientsMakeFewerGroups) {
  const Plan plan = PlanOfGroups({{"train.learning_rate", "0.3"}});
  EXPECT_THAT(Tunings(plan), testing::ElementsAre(HasSubstr("and momentum 0")));
}

TEST(Search, OnlyLateGradientsLowerTheMomentum) {
  for (const char* form : {"paper", "yoke"}) {
    const Plan plan = PlanOfGroups({{"cluster.form", form}, {"train.momentum", "0.9"}}, 0);
    const Candidate groups = Named(plan.candidates, "single, compute_groups, f32");
    EXPECT_GT(groups.use.staleness, 0.5);
    std::vector<std::string> momenta;
    for (const Override& key : groups.keys)
      if (key.key == "train.momentum") momenta.push_back(key.value);
    const bool lowered = form == std::string("paper");
    EXPECT_EQ(momenta, lowered ? std::vector<std::string>{"0.8"} : std::vector<std::string>());
  }
}

TEST(Search, MomentaThatFailAreCharged) {
  // The rate becomes far too high when the comparison of strategies is over.
  const Plan plan = PlanOfGroups(
      {{"cluster.form", "paper"},
       {"train.learning_rate", "0.3"},
       {"train.schedule", "{ name = \"multi_step\", at_epochs = [35], factor = 1e9 }"}});
  EXPECT_THAT(Tunings(plan), testing::IsEmpty());
  const Candidate standard = Named(plan.candidates, "single, compute_groups, f32");
  EXPECT_GT(plan.best().trained, 1.1 * standard.trained);
}

}  // namespace yoke::search_test
