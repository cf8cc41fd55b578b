// Lab: strategies on small problems whose gradients are functions, over any world, step by step.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/registry.h"
#include "comm/simulated.h"
#include "comm/threads.h"
#include "strategy/strategy.h"

namespace yoke::test {

/// Where and when a gradient is asked for.
struct Asked {
  int rank = 0;
  int64_t step = 0;  ///< Steps of this rank before.
  const float* values = nullptr;
  float* gradient = nullptr;  ///< To be filled: kCount elements.
  /// With a LabHead: the gradient by this example's activations.
  const float* from_above = nullptr;
};

/// The second parameter as a head that may be served.
struct LabHead {
  int64_t width = 1;
  /// Activations of an example, at the first parameter's values.
  std::function<void(const Asked&, float* activations)> activate = {};
  /// One example's loss; fills its gradients (kSecond elements, and `width`). `values`: the second
  /// parameter's.
  std::function<double(const float* activations, const float* values, float* gradient, float* down)>
      compute = {};
  double seconds = 0;  ///< Charged for a batch, as operations.
};

/// What one rank's checkpoint holds: its values, the rule's state and the strategy's.
struct SavedLab {
  int64_t steps = 0, rule_steps = 0;
  std::vector<float> values = {}, scalars = {};
  std::vector<std::vector<float>> arrays = {}, tensors = {};
  Value state = {};
};

struct LabSettings {
  std::string strategy = "none";
  Table options = {};  ///< [cluster] keys of the strategy.
  std::string rule = "sgd";
  Table rule_options = {};
  double rate = 0.1;
  double later_rate = 0;  ///< From a rank's step steps / 2 on; 0: `rate` throughout.
  double clip_norm = 0;
  int64_t steps = 1;  ///< Of each rank.
  int64_t steps_per_epoch = 0;
  /// Of each rank's step; null: 1.
  std::function<int64_t(int64_t step)> examples = {};
  std::function<void(const Asked&)> gradient = {};
  const LabHead* head = nullptr;
  bool cut_first = false;  ///< The first parameter is two: kCut elements and the rest.
  double seconds_of_gradient =
      0;  ///< Charged as so many operations (a simulated world prices them).
  uint64_t seed = 1;
  const std::vector<SavedLab>* from = nullptr;  ///< Where to go on: by rank, what Keep returned.
};

/// Two dense parameters of 37 and 5 elements (packed with a gap of alignment), drawn from a seed.
inline constexpr int64_t kFirst = 37, kSecond = 5, kCount = 48 + kSecond;
inline constexpr int64_t kCut = 32;  // at the packing's alignment: all stays in its place

/// A LabHead's means over a batch at given parameters.
class ComputedHead : public Head {
 public:
  ComputedHead(const LabHead& lab, const ParamView& params) : lab_(lab), params_(params) {}
  double Step(const Batch& batch, float* down) override {
    float* sum = params_.gradients->dense().Host().data() + (kCount - kSecond);
    std::fill_n(sum, kSecond, 0.0F);
    const auto share = 1 / static_cast<float>(batch.size);
    double loss = 0;
    for (int64_t n = 0; n < batch.size; ++n, down += lab_.width) {
      float gradient[kSecond] = {};
      loss +=
          share * lab_.compute(batch.dense.As<float>() + n * lab_.width,
                               params_.values.Host().data() + (kCount - kSecond), gradient, down);
      for (int64_t i = 0; i < kSecond; ++i) sum[i] += share * gradient[i];
      for (int64_t i = 0; i < lab_.width; ++i) down[i] *= share;
    }
    return loss;
  }

 private:
  const LabHead& lab_;
  ParamView params_;
};

/// One rank's parts and strategy. Construct it inside a world's body.
class Lab {
 public:
  Lab(const Communicator& world, LabSettings settings)
      : settings_(std::move(settings)),
        world_(world),
        entry_(FindEntry(strategies(), "strategy", settings_.strategy)),
        options_("cluster", settings_.options, entry_.options),
        roles_(RolesIn(entry_, options_, world.size())),
        layout_(Layout(settings_.cut_first)),
        params(layout_, Cpu()),
        gradients(layout_, Cpu()),
        rule_(MakeRule(settings_)),
        state(layout_, *rule_, Cpu()) {
    for (int64_t i = 0; i < kCount; ++i)
      params.values().Host()[i] = Padding(i) ? 0 : static_cast<float>((i * 7 + 3) % 11) / 11 - 0.5F;
    if (settings_.head)
      offer_ = {.first_slice = Slices() - 1,
                .width = settings_.head->width,
                .price = [this](int64_t) { return Cost{.operations = settings_.head->seconds}; },
                .make = [this](const ParamView& view) -> std::unique_ptr<Head> {
                  return std::make_unique<ComputedHead>(*settings_.head, view);
                }};
    strategy = entry_.make(options_, {.world = world.Duplicate(),
                                      .params = params,
                                      .gradients = gradients,
                                      .rule = *rule_,
                                      .state = state,
                                      .clip_norm = settings_.clip_norm,
                                      .seed = settings_.seed,
                                      .steps_per_epoch = settings_.steps_per_epoch,
                                      .head = settings_.head ? &offer_ : nullptr});
    if (settings_.from) Restore((*settings_.from)[world.rank()]);
    strategy->Prepare();
  }

  /// One step as the Trainer makes it; of a rank that only serves, none.
  void Step() {
    if (world_.rank() < roles_.servers) return strategy->Idle();
    const int64_t examples = settings_.examples ? settings_.examples(steps_) : 1;
    const StrategyStep step = {.step = steps_,
                               .learning_rate = Rate(),
                               .examples = examples,
                               .team_examples = examples * roles_.team};
    const ParamView view = strategy->View(step);
    Asked asked = {.rank = world_.rank(),
                   .step = steps_,
                   .values = view.values.Host().data(),
                   .gradient = view.gradients->dense().Host().data()};
    if (Head* head = strategy->RemoteHead()) loss = AskHead(*head, asked);
    settings_.gradient(asked);
    if (settings_.seconds_of_gradient > 0)
      world_.Charge({.operations = settings_.seconds_of_gradient});
    for (int slice = Slices() - 1; slice >= 0; --slice) strategy->GradientReady(slice);
    strategy->Step(step);
    ++steps_;
  }
  void SetRate(double rate) { settings_.rate = rate; }
  double Rate() const {
    const bool later = settings_.later_rate > 0 && steps_ >= settings_.steps / 2;
    return later ? settings_.later_rate : settings_.rate;
  }
  void Steps() {
    for (int64_t i = 0; i < settings_.steps; ++i) Step();
  }

  /// The model, on every rank (broadcast from rank 0).
  std::vector<float> Model() {
    strategy->Quiesce();
    const float* model = strategy->Model().Host().data();
    std::vector<float> values(kCount);
    if (world_.rank() == 0) values.assign(model, model + kCount);
    world_.Broadcast(std::as_writable_bytes(std::span(values)), 0);
    return values;
  }
  /// A checkpoint (all ranks keep theirs at the same point).
  SavedLab Save() {
    strategy->Quiesce();
    SavedLab saved = {
        .steps = steps_, .rule_steps = state.steps, .values = Values(), .state = strategy->State()};
    saved.scalars.assign(state.all_scalars().begin(), state.all_scalars().end());
    for (size_t i = 0; i < state.names().size(); ++i)
      saved.arrays.emplace_back(state.array(i).Host().data(),
                                state.array(i).Host().data() + kCount);
    for (const Strategy::SavedTensor& tensor : strategy->Tensors())
      saved.tensors.emplace_back(tensor.values.Host().begin(), tensor.values.Host().end());
    return saved;
  }
  std::vector<float> Values() const {
    return {params.values().Host().data(), params.values().Host().data() + kCount};
  }

  static bool Padding(int64_t i) { return i >= kFirst && i < 48; }

 private:
  double AskHead(Head& head, Asked& asked) {
    down_.resize(settings_.head->width);
    batch_.size = 1;
    batch_.examples = {asked.rank};
    batch_.classes = {static_cast<int32_t>(asked.rank)};
    batch_.ResizeDense({settings_.head->width});
    settings_.head->activate(asked, batch_.dense.As<float>());
    asked.from_above = down_.data();
    return head.Step(batch_, down_.data());
  }

  void Restore(const SavedLab& saved) {
    steps_ = saved.steps;
    state.steps = saved.rule_steps;
    std::ranges::copy(saved.values, params.values().Host().data());
    std::ranges::copy(saved.scalars, state.all_scalars().begin());
    for (size_t i = 0; i < saved.arrays.size(); ++i)
      std::ranges::copy(saved.arrays[i], state.array(i).Host().data());
    strategy->Restore(saved.state);
    const std::vector<Strategy::SavedTensor> tensors = strategy->Tensors();
    for (size_t i = 0; i < tensors.size(); ++i)
      std::ranges::copy(saved.tensors.at(i), tensors[i].values.Host().begin());
  }
  int Slices() const { return static_cast<int>(layout_.slices().size()); }
  static ParamLayout Layout(bool cut_first) {
    ParamLayout layout;
    layout.Add({.name = "a.weight", .shape = {cut_first ? kCut : kFirst}});
    if (cut_first) layout.Add({.name = "a.bias", .shape = {kFirst - kCut}});
    layout.Add({.name = "b.weight", .shape = {kSecond}});
    layout.Pack();
    return layout;
  }
  static std::unique_ptr<UpdateRule> MakeRule(const LabSettings& settings) {
    const RuleEntry& entry = FindEntry(rules(), "rule", settings.rule);
    return entry.make(Options("train", settings.rule_options, entry.options));
  }

  LabSettings settings_;
  Communicator world_;
  const StrategyEntry& entry_;
  Options options_;
  Roles roles_;
  ParamLayout layout_;
  HeadOffer offer_;
  Batch batch_;
  std::vector<float> down_;
  int64_t steps_ = 0;

 public:
  double loss = 0;  ///< Of the last step, where there is a head.
  ParamStore params;
  Gradients gradients;

 private:
  std::unique_ptr<UpdateRule> rule_;

 public:
  RuleState state;
  std::unique_ptr<Strategy> strategy;
};

/// PullToRank's for the second parameter, as a head that is told the rank.
inline LabHead HeadThatPulls() {
  return {.width = 1,
          .activate = [](const Asked& asked,
                         float* activations) { *activations = static_cast<float>(asked.rank); },
          .compute =
              [](const float* rank, const float* values, float* gradient, float* down) {
                for (int64_t i = 0; i < kSecond; ++i)
                  gradient[i] = values[i] - *rank - static_cast<float>(kCount - kSecond + i) / 10;
                *down = 2 * *rank;
                return static_cast<double>(*rank) * *rank;
              }};
}

/// The gradient of the sum over i of scale (w_i - target_i)^2 / 2 where the target is `rank`'s own:
/// the mean over P ranks has its minimum at (P - 1) / 2 + i / 10.
inline void PullToRank(const Asked& asked) {
  for (int64_t i = 0; i < kCount; ++i)
    asked.gradient[i] = Lab::Padding(i) ? 0
                                        : asked.values[i] - static_cast<float>(asked.rank) -
                                              static_cast<float>(i) / 10;
}

}  // namespace yoke::test
