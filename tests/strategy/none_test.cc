// The strategy none: the rule's own recurrence on the replica's gradient, and nothing else.
#include <gtest/gtest.h>

#include <cmath>

#include "strategy/support/lab.h"

namespace yoke::none_test {

TEST(None, IsTheRuleOnOneReplicasGradient) {
  RunThreads({.ranks = 1}, [](const Communicator& world) {
    test::Lab lab(world, {.rule = "momentum", .gradient = test::PullToRank});
    std::vector<float> w = lab.Values(), m(test::kCount, 0);
    for (int step = 0; step < 3; ++step) {
      lab.Step();
      for (int64_t i = 0; i < test::kCount; ++i) {
        if (test::Lab::Padding(i)) continue;
        m[i] = std::fma(0.9F, m[i], w[i] - static_cast<float>(i) / 10);
        w[i] = std::fma(-0.1F, m[i], w[i]);
        EXPECT_NEAR(lab.Model()[i], w[i], 1e-6);  // the difference of numbers up to 5
      }
    }
    EXPECT_EQ(lab.state.steps, 3);
  });
}

TEST(None, TrainsOneReplicaOnlyAndSendsNothing) {
  const StrategyEntry& entry = FindEntry(strategies(), "strategy", "none");
  EXPECT_TRUE(entry.deterministic);
  EXPECT_EQ(entry.supports(1), "");
  EXPECT_NE(entry.supports(2).find('2'), std::string::npos);
  EXPECT_EQ(entry.estimate(Options(), {.bytes = 1000, .world = 1}).messages, 0);
}

}  // namespace yoke::none_test
