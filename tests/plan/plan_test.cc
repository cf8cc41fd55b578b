// Plan: what a plan's file sets in a job, and what it is refused with.
#include "plan/plan.h"

#include <gmock/gmock.h>

#include <fstream>

#include "base/check.h"
#include "base/files.h"
#include "plan/support/small_job.h"

namespace yoke::plan_test {

using test::SmallJob;
using testing::HasSubstr;
using testing::Not;

class PlanTest : public testing::Test {
 protected:
  Overrides Keys(const std::string& text) {
    std::ofstream(path_) << text;
    return ReadPlanKeys(path_);
  }
  /// What the job is refused with, if its plan is this.
  std::string Refusal(const std::string& text) {
    try {
      SmallJob(Keys(text));
    } catch (const UserError& error) {
      return error.what();
    }
    return "accepted";
  }

  TemporaryFolder folder_{"yoke-plan-test"};
  std::string path_ = folder_.path() + "/plan.toml";
};

Job TheJob() { return SmallJob({{"cluster.replicas", "4"}}); }

Plan ThePlan() {
  static const std::vector<Candidate> candidates = MakeCandidates(TheJob(), {.open = OpenKeys()});
  Plan plan = {.candidates = candidates,
               .machine = "4 replicas of 1 thread",
               .noise_scale = 12.5,
               .seconds = 3,
               .notes = {"A sentence with \"quotes\"."}};
  const auto chosen =
      std::ranges::find(plan.candidates, "hogwild, local_sgd period=32, bf16", &Candidate::name);
  plan.chosen = static_cast<int>(chosen - plan.candidates.begin());
  chosen->seconds_per_update = 0.25;
  chosen->updates = 8.4;
  chosen->measured = 0.5;
  chosen->loss = 1.5;
  plan.keys = chosen->keys;
  return plan;
}

TEST_F(PlanTest, ItsFileGivesTheKeysBack) {
  const Plan plan = ThePlan();
  const Overrides keys = Keys(FormatPlan(plan, "yoke plan job.toml"));
  EXPECT_EQ(keys.size(), plan.keys.size());
  const Job planned = JobOf(TheJob(), plan.best()), read = WithKeys(TheJob(), keys);
  EXPECT_EQ(read.resolved, planned.resolved);
  EXPECT_EQ(read.node.String("executor"), "hogwild");
  EXPECT_EQ(read.node.String("precision"), "bf16");
  EXPECT_EQ(read.cluster.String("strategy"), "local_sgd");
  EXPECT_EQ(read.cluster.Int("period"), 32);
}

TEST_F(PlanTest, ItsFileSaysWhy) {
  Keys(FormatPlan(ThePlan(), "yoke plan job.toml"));
  const Value root = ReadToml(path_);
  EXPECT_EQ(*root.Find("chosen"), Value("hogwild, local_sgd period=32, bf16"));
  EXPECT_EQ(*root.Find("noise_scale"), Value(12.5));
  const List& candidates = *root.Find("compared")->Find("candidates")->AsList();
  ASSERT_EQ(candidates.size(), 1U);  // the others have no price
  const Value& chosen = candidates[0];
  EXPECT_EQ(*chosen.Find("seconds"), Value(2.1));
  EXPECT_EQ(*chosen.Find("measured"), Value(0.5));
  EXPECT_FALSE(chosen.Find("dropped"));
}

TEST_F(PlanTest, ItMayKeepTheDefault) {
  Plan plan = ThePlan();
  plan.keys.clear();
  EXPECT_EQ(Keys(FormatPlan(plan, "yoke plan job.toml")).size(), 3U);  // which says it
}

TEST_F(PlanTest, ItsTableHasTheBest) {
  Plan plan = ThePlan();
  std::swap(plan.candidates[0], plan.candidates[plan.chosen]);
  plan.chosen = 0;
  const auto rows = TableOf(plan, 5);
  ASSERT_EQ(rows.size(), 2U);  // the others have no price
  EXPECT_EQ(rows[1].size(), rows[0].size());
  EXPECT_EQ(rows[1][1], "250");
  EXPECT_EQ(rows[1][2], "500");
  EXPECT_EQ(rows[1].back(), "chosen");
}

TEST_F(PlanTest, ItMayBeEdited) {
  const Overrides keys = Keys("[use]\ntrain.batch = 8\n[use.model]\nwidths = [4, 3]\n");
  const Job job = SmallJob(keys);
  EXPECT_EQ(job.train.Int("batch"), 8);
  EXPECT_EQ(*job.model().Find("widths"), Value(List{4, 3}));
}

TEST_F(PlanTest, MistakesAreToldInOneSentence) {
  const std::pair<const char*, std::vector<const char*>> mistakes[] = {
      {"chosen = \"single\"\n", {"plan.toml", "[use]", "yoke plan"}},
      {"use = 5\n", {"plan.toml", "[use]"}},
      {"[use]\n\nexecutor = \"single\"\n", {"plan.toml:3: use.executor", "[use.node]"}},
      {"[use.node]\nexecutor = \"singel\"\n", {"plan.toml:2", "singel", "'single'"}},
      {"[use.node]\nexecuter = \"single\"\n", {"plan.toml:2", "executer", "'executor'"}},
      {"[use.nodes]\nthreads = 1\n", {"plan.toml:2", "nodes", "'node'"}},
      {"[use.train]\nbatch = 0\n", {"plan.toml:2", "train.batch", "at least 1"}},
      {"[use\n", {"plan.toml:1"}}};
  for (const auto& [text, words] : mistakes) {
    const std::string refusal = Refusal(text);
    EXPECT_THAT(refusal, Not(HasSubstr("\n")));
    for (const char* word : words) EXPECT_THAT(refusal, HasSubstr(word)) << text;
  }
}

}  // namespace yoke::plan_test
