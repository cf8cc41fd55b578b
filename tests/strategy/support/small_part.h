// A strategy on a few slices that each rank has filled with elements of its own.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/registry.h"
#include "strategy/strategy.h"

namespace yoke::test {

/// Three weights and two running statistics.
inline std::vector<Slice> SmallSlices() {
  return {{.name = "a.weight", .shape = {3}},
          {.name = "a.mean", .shape = {2}, .kind = SliceKind::kBuffer}};
}

struct SmallSettings {
  std::string strategy;
  Table options = {};
  bool in_place = false;
  std::vector<Slice> slices = SmallSlices();  ///< Two or more.
};

/// Plain SGD. Of the first slice all are `rank`, of the second 10 rank + i, once the strategy is
/// prepared.
class SmallPart {
 public:
  SmallPart(const Communicator& world, const SmallSettings& settings)
      : layout_(Layout(settings.slices)),
        params(layout_, Cpu()),
        gradients(layout_, Cpu()),
        rule_(MakeRule()),
        state_(layout_, *rule_, Cpu()) {
    const StrategyEntry& entry = FindEntry(strategies(), "strategy", settings.strategy);
    strategy = entry.make(Options("cluster", settings.options, entry.options),
                          {.world = world.Duplicate(),
                           .params = params,
                           .gradients = gradients,
                           .rule = *rule_,
                           .state = state_,
                           .updated_in_place = settings.in_place});
    strategy->Prepare();
    const auto rank = static_cast<float>(world.rank());
    std::ranges::fill(params.values(0).Host(), rank);
    for (int i = 0; i < settings.slices[1].Count(); ++i)
      params.values(1).Host()[i] = 10 * rank + static_cast<float>(i);
  }

  void Step(int64_t step) {
    strategy->View({.step = step, .examples = 1});
    strategy->Step({.step = step, .learning_rate = 0.1, .examples = 1});
  }

 private:
  static ParamLayout Layout(const std::vector<Slice>& slices) {
    ParamLayout layout;
    for (const Slice& slice : slices) layout.Add(slice);
    layout.Pack();
    return layout;
  }
  static std::unique_ptr<UpdateRule> MakeRule() {
    const RuleEntry& entry = FindEntry(rules(), "rule", "sgd");
    return entry.make(Options("train", Table{}, entry.options));
  }

  ParamLayout layout_;

 public:
  ParamStore params;
  Gradients gradients;

 private:
  std::unique_ptr<UpdateRule> rule_;
  RuleState state_;

 public:
  std::unique_ptr<Strategy> strategy;
};

}  // namespace yoke::test
