// The strategy none: the rule's own recurrence on the replica's gradient, and nothing else.
#include <gtest/gtest.h>

#include "base/registry.h"
#include "strategy/strategy.h"

namespace yoke {
namespace {

TEST(None, IsTheRuleOnOneReplicasGradient) {
  ParamLayout layout;
  layout.Add({.name = "a.weight", .shape = {3}});
  layout.Pack();
  ParamStore params(layout, Cpu());
  Gradients gradients(layout, Cpu());
  const RuleEntry& entry = FindEntry(rules(), "rule", "momentum");
  const auto rule = entry.make(Options("train", Table{}, entry.options));
  RuleState state(layout, *rule, Cpu());
  const auto strategy =
      FindEntry(strategies(), "strategy", "none")
          .make(Options(),
                {.params = params, .gradients = gradients, .rule = *rule, .state = state});
  strategy->Prepare();
  float w = 1, m = 0;
  params.values()[0] = w;
  for (int64_t step = 0; step < 3; ++step) {
    const ParamView view = strategy->View(step);
    ASSERT_EQ(view.values, params.values());
    view.gradients->dense()[0] = 2 * view.values[0];  // of x^2
    strategy->GradientReady(0);
    strategy->Step({.step = step, .learning_rate = 0.1, .examples = 1});
    m = 0.9F * m + 2 * w;
    w -= 0.1F * m;
    EXPECT_FLOAT_EQ(strategy->Model()[0], w);
  }
  EXPECT_EQ(state.steps, 3);
}

TEST(None, TrainsOneReplicaOnlyAndSendsNothing) {
  const StrategyEntry& entry = FindEntry(strategies(), "strategy", "none");
  EXPECT_TRUE(entry.deterministic);
  EXPECT_EQ(entry.supports(1), "");
  EXPECT_NE(entry.supports(2).find("2"), std::string::npos);
  EXPECT_EQ(entry.estimate(1000, 1).messages, 0);
}

}  // namespace
}  // namespace yoke
