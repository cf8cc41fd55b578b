// Candidates: what is compared, what is refused and why.
#include "plan/candidates.h"

#include <gmock/gmock.h>

#include "base/check.h"
#include "node/executor.h"
#include "plan/support/small_job.h"

namespace yoke::candidates_test {

using test::Named;
using test::SmallJob;
using testing::AllOf;
using testing::HasSubstr;

std::vector<Candidate> All(const Overrides& overrides = {}, Choices choices = {}) {
  if (choices.open.empty()) choices.open = OpenKeys();
  return MakeCandidates(SmallJob(overrides), choices);
}

std::string Refusal(const Choices& choices) {
  try {
    All({}, choices);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Candidates, OneReplicaHasExecutorsAndPrecisions) {
  const std::vector<Candidate> all = All();
  EXPECT_EQ(all.size(), 2 * executors().size());
  EXPECT_EQ(all[0].name, "single, f32");
  for (const Candidate& one : all) {
    EXPECT_EQ(one.is_default, &one == &all[0]) << one.name;
    EXPECT_EQ(one.strategy, "none");
    if (one.executor == "pipeline")
      EXPECT_THAT(one.dropped, HasSubstr("executor pipeline takes the CPU and one other device"));
    else
      EXPECT_EQ(one.dropped, "") << one.name;
    const Job job = JobOf(SmallJob(), one);
    EXPECT_EQ(job.node.String("executor"), one.executor);
    EXPECT_EQ(job.node.String("precision"), one.precision);
  }
  EXPECT_EQ(Named(all, "hogwild, bf16").keys.size(), 2U);
}

TEST(Candidates, TheJobsOwnIsTheDefault) {
  const std::vector<Candidate> all =
      All({{"node.executor", "hogwild"}, {"node.precision", "bf16"}});
  EXPECT_EQ(all[0].name, "hogwild, bf16");
  EXPECT_TRUE(all[0].is_default);
  EXPECT_TRUE(all[0].keys.empty());
}

TEST(Candidates, RefusedOnesKeepAReason) {
  const std::vector<Candidate> all = All({{"cluster.replicas", "4"}});
  EXPECT_EQ(all[0].name, "single, allreduce, f32");
  EXPECT_THAT(Named(all, "hogwild, allreduce, f32").dropped,
              AllOf(HasSubstr("strategy allreduce needs each step's gradient"),
                    HasSubstr("executor hogwild updates in place")));
  EXPECT_EQ(Named(all, "hogwild, local_sgd, f32").dropped, "");
  EXPECT_THAT(Named(all, "single, none, f32").dropped, HasSubstr("one replica"));
  EXPECT_THAT(Named(all, "single, compute_groups groups=8, f32").dropped, HasSubstr("groups"));
  const auto devices =
      All({{"node.devices", "[\"cpu\", \"emulated:0\"]"}, {"node.executor", "split"}});
  EXPECT_THAT(Named(devices, "single, f32").dropped, HasSubstr("executor single takes one device"));
  const auto served = All({{"node.devices", "[\"cpu\", \"emulated:0\"]"},
                           {"node.executor", "split"},
                           {"cluster.replicas", "4"}});
  EXPECT_THAT(Named(served, "split, compute_groups groups=2 served_head=true, f32").dropped,
              HasSubstr("a served head computes on the CPU"));
  EXPECT_EQ(Named(served, "split, compute_groups groups=2, f32").dropped, "");
}

TEST(Candidates, VariantsTryTheValuesOfTheirKeys) {
  const std::vector<Candidate> all = All({{"cluster.replicas", "4"}});
  for (const int period : {8, 32, 128}) {
    const Candidate one = Named(all, fmt::format("single, local_sgd period={}, f32", period));
    EXPECT_EQ(one.dropped, "");
    EXPECT_EQ(JobOf(SmallJob({{"cluster.replicas", "4"}}), one).cluster.Int("period"), period);
  }
  Named(all, "single, local_sgd, f32");  // and the default
}

TEST(Candidates, ValuesOfTwoKeysAreCombined) {
  const Overrides replicas = {{"cluster.replicas", "4"}};
  const std::vector<Candidate> all = All(replicas);
  for (const int groups : {1, 2, 4})
    for (const bool served : {false, true}) {
      const Candidate one = Named(all, fmt::format("single, compute_groups groups={}{}, f32",
                                                   groups, served ? " served_head=true" : ""));
      EXPECT_EQ(one.dropped, "");
      const Job job = JobOf(SmallJob(replicas), one);
      EXPECT_EQ(job.cluster.Int("groups"), groups);
      EXPECT_EQ(job.cluster.Bool("served_head"), served);
    }
}

TEST(Candidates, AModelsKeysAreTriedWhereTheJobHasOthers) {
  const Job job = SmallJob({{"data.format", "synthetic-xmc"},
                            {"data.train_size", ""},
                            {"data.test_size", ""},
                            {"model.name", "xmc"},
                            {"model.widths", ""}});
  const auto all = MakeCandidates(job, {.open = OpenKeys(), .models = true});
  EXPECT_EQ(all[0].name, "single, f32");
  EXPECT_LT(MakeCandidates(job, {.open = OpenKeys()}).size(), all.size());
  EXPECT_EQ(*JobOf(job, Named(all, "single output=\"lsh\", f32")).model().Find("output"),
            Value("lsh"));
  const Job hashed = WithKeys(job, {{"model.output", "lsh"}});
  const auto others = MakeCandidates(hashed, {.open = OpenKeys(), .models = true});
  EXPECT_EQ(*JobOf(hashed, Named(others, "single output=\"dense\", f32")).model().Find("output"),
            Value("dense"));
}

TEST(Candidates, OnlyAndWithout) {
  const Overrides replicas = {{"cluster.replicas", "4"}};
  for (const Candidate& one :
       All(replicas, {.only = {"allreduce", "split"}, .without = {"bf16"}})) {
    const bool wanted =
        one.strategy == "allreduce" && one.executor == "split" && one.precision == "f32";
    EXPECT_EQ(one.dropped.empty(), wanted) << one.name << ": " << one.dropped;
  }
  EXPECT_THAT(Named(All({}, {.without = {"bf16"}}), "single, bf16").dropped, HasSubstr("left out"));
  EXPECT_THAT(Named(All({}, {.only = {"f32"}}), "single, bf16").dropped, HasSubstr("only f32"));
}

TEST(Candidates, UnknownNamesAreRefusedWithTheNearest) {
  EXPECT_THAT(Refusal({.only = {"hogwld"}}), AllOf(HasSubstr("hogwld"), HasSubstr("'hogwild'")));
  EXPECT_THAT(Refusal({.without = {"alreduce"}}), HasSubstr("'allreduce'"));
  EXPECT_THAT(Refusal({.without = {"f32", "bf16"}}), HasSubstr("no candidate is left"));
}

TEST(Candidates, AKeyThatIsNotOpenKeepsTheJobsValue) {
  const Overrides given = {{"cluster.replicas", "4"},
                           {"cluster.strategy", "local_sgd"},
                           {"cluster.period", "7"},
                           {"node.precision", "bf16"}};
  const auto all = All(given, {.open = {"node.executor"}});
  EXPECT_EQ(all.size(), executors().size());
  for (const Candidate& one : all) {
    EXPECT_EQ(one.strategy + one.precision, "local_sgdbf16");
    EXPECT_EQ(JobOf(SmallJob(given), one).cluster.Int("period"), 7);
  }
  for (const Candidate& one : All(given, {.open = {"cluster.strategy"}}))
    EXPECT_EQ(one.executor, "single");
}

}  // namespace yoke::candidates_test
