// Frozen parameters stay as they are whatever computes and exchanges; rates and decays by pattern.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "base/support/near.h"
#include "node/executor.h"
#include "optim/rule.h"
#include "strategy/strategy.h"
#include "train/checkpoint/safetensors.h"
#include "train/record/run_directory.h"
#include "train/support/trainer_fixture.h"

namespace yoke::parameter_groups_test {
namespace {

using testing::HasSubstr;

class ParameterGroups : public test::TrainerTest {
 protected:
  /// With a rate and a decay that would move every weight.
  Overrides Frozen(const Overrides& more) const {
    Overrides job = {{"train.freeze", "linear1.*"},
                     {"train.rule", "sgd"},
                     {"train.weight_decay", "0.1"},
                     {"train.epochs", "1"}};
    job.insert(job.end(), more.begin(), more.end());
    return job;
  }

  std::vector<float> Tensor(const std::string& run, const std::string& name) const {
    const Safetensors file = Safetensors::Open(Path(run) + "/last/model.safetensors");
    for (const StoredTensor& tensor : file.tensors())
      if (tensor.name == name) {
        const auto* values = static_cast<const float*>(tensor.data);
        return {values, values + tensor.shape.Count()};
      }
    return {};
  }

  void ExpectFrozen(const std::string& run) const {
    for (const char* name : {"linear1.weight", "linear1.bias"})  // a mean of equal values rounds
      test::ExpectNear(Tensor(run, name), Tensor("untrained", name), 1e-6, run + " " + name);
    EXPECT_NE(Tensor(run, "linear2.weight"), Tensor("untrained", "linear2.weight")) << run;
  }

  std::string Refusal(const Overrides& overrides) {
    try {
      Begin("refused", overrides);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(ParameterGroups, FreezeWithEveryRuleExecutorAndStrategy) {
  Begin("untrained",
        {{"train.rule", "sgd"}, {"train.learning_rate", "1e-30"}, {"train.epochs", "1"}});
  for (const RuleEntry& entry : rules()) {
    Begin(entry.name, Frozen({{"train.rule", entry.name}}));
    ExpectFrozen(entry.name);
  }
  for (const ExecutorEntry& entry : executors()) {
    if (!entry.supports({&Cpu()}).empty()) continue;
    Begin(entry.name, Frozen({{"node.executor", entry.name}, {"node.threads", "2"}}));
    ExpectFrozen(entry.name);
    Begin(entry.name + "-clipped",
          Frozen({{"node.executor", entry.name}, {"train.clip_norm", "0.1"}}));
    ExpectFrozen(entry.name + "-clipped");
  }
  for (const StrategyEntry& entry : strategies()) {
    if (entry.name == "none") continue;
    Begin(entry.name, Frozen({{"cluster.replicas", "2"}, {"cluster.strategy", entry.name}}));
    ExpectFrozen(entry.name);
  }
  Begin("device", Frozen({{"node.devices", "emulated:0"}, {"train.clip_norm", "0.1"}}));
  ExpectFrozen("device");
}

TEST_F(ParameterGroups, FrozenGradientsDoNotCountForClipping) {
  const Overrides frozen = Frozen({{"train.clip_norm", "1e-3"}});
  Begin("a", frozen);
  Begin("b", Frozen({{"train.clip_norm", "1e-3"}, {"node.devices", "emulated:0"}}));
  Begin("c", Frozen({{"train.clip_norm", "1e-3"}, {"train.freeze", ""}}));
  EXPECT_NE(Tensor("a", "linear2.weight"), Tensor("c", "linear2.weight"));
  const std::vector<float> a = Tensor("a", "linear2.weight"), b = Tensor("b", "linear2.weight");
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-6);
}

TEST_F(ParameterGroups, RatesAndDecaysAreFactors) {
  const Overrides sgd = {{"train.rule", "sgd"}, {"train.weight_decay", "0.25"}};
  const auto with = [&](const Overrides& more) {
    Overrides all = sgd;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  Begin("a", with({{"train.learning_rate", "0.02"}, {"train.weight_decay", "0.5"}}));
  Begin("b", with({{"train.groups", "[{ parameters = \"*\", rate = 2, decay = 2 }]"}}));
  EXPECT_EQ(Weights("a"), Weights("b"));
  Begin("c", with({{"train.no_decay", "vectors"}}));
  Begin("d", with({{"train.no_decay", "[\"*.bias\"]"}}));
  Begin("e", with({}));
  EXPECT_EQ(Weights("c"), Weights("d"));
  EXPECT_NE(Weights("c"), Weights("e"));
}

TEST_F(ParameterGroups, Mistakes) {
  EXPECT_THAT(Refusal({{"train.freeze", "conv*"}}),
              HasSubstr("'conv*' matches no parameter; the model has linear1.weight"));
  EXPECT_THAT(Refusal({{"train.freeze", "*"}}), HasSubstr("all parameters are frozen"));
  EXPECT_THAT(Refusal({{"train.no_decay", "vectors"}}), HasSubstr("no weight_decay"));
  EXPECT_THAT(Refusal({{"train.groups", "[{ rate = 2 }]"}}), HasSubstr("parameters"));
  EXPECT_THAT(Refusal({{"train.groups", "[{ parameters = \"a\" }]"}}),
              HasSubstr("train.groups[0].parameters: 'a' matches no parameter"));
}

}  // namespace
}  // namespace yoke::parameter_groups_test
