// Split: divides the batch over parts of the chip. Each part has its own copy of the weights and
// its own threads on its cores and memory node; the parts' gradients are summed in a tree (You,
// Buluç, Demmel 2017, partitions of a many-core chip; Omnivore, one partition per core).
//   g = sum over p of (b_p / b) g_p,  halves first: ((g_0 + g_1) + (g_2 + g_3)), in a fixed order
// Cost of P' parts over one device: one copy of the weights, P' gradients read and one written.
// Gain: no barrier of all cores in each layer, and no weight read across memory nodes
// (node/chip_parts.h prices it).
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "base/check.h"
#include "base/registry.h"
#include "kernels/vectors.h"
#include "node/plans.h"
#include "node/split_devices.h"
#include "node/sub_batch.h"
#include "node/team_states.h"
#include "node/worker_threads.h"

namespace yoke::executor {
namespace {

/// Elements summed at a time: they fit the L1 cache.
constexpr int64_t kBlock = 1024;

/// The data of one part of the chip.
struct Part {
  Part(const ExecutorContext& context, int64_t share)
      : plans(context, share),
        bodies(context, share, {.part = GraphPart::kBody}),
        values(Cpu(), context.graph.layout().size() * SizeOf(DType::kF32)),
        gradients(context.graph.layout(), Cpu()) {}

  Plans plans, bodies;
  GraphPlan* plan = nullptr;  ///< The plan of this step.
  ParamView view;
  Buffer values;  ///< The packed weights at the start of the step.
  Gradients gradients;
  Batch batch;
  float weight = 0;  ///< Its fraction of the batch's examples.
};

/// to = the weighted sum of the parts' gradients from `offset` on, of at most kBlock elements.
void SumTree(std::span<Part* const> parts, int64_t offset, Values to) {
  const auto count = static_cast<int64_t>(to.size());
  if (parts.size() == 1) {
    std::copy_n(parts[0]->gradients.dense().data + offset, count, to.begin());
    Scale(to, parts[0]->weight);
    return;
  }
  std::array<float, kBlock> right;
  const Values other(right.data(), to.size());
  SumTree(parts.first(parts.size() / 2), offset, to);
  SumTree(parts.subspan(parts.size() / 2), offset, other);
  Add(to, other);
}

class Split : public Executor {
 public:
  Split(int parts, const ExecutorContext& context)
      : context_(context),
        workers_(Divide(context.threads, parts)),
        states_(context.graph, parts),
        parts_(parts) {
    const int64_t share = (context_.batch + parts - 1) / parts;
    workers_.Run([&](int p) { parts_[p] = std::make_unique<Part>(context_, share); });
  }

  StepResult Step(const Batch& batch, const ParamView& params, const ExecutorStep& step) override {
    if (batch.size == 0) return StepOfNothing(params, step.ready);
    states_.Follow(params.states);
    workers_.Run([&](int p) {
      Forward(p, batch, params, step.head != nullptr);
      if (!step.head) Backward(*parts_[p]);
    });
    working_.clear();
    for (const auto& part : parts_)
      if (part->batch.size > 0) working_.push_back(part.get());
    StepResult result{.examples = batch.size};
    result.loss = step.head ? AskHead(batch, *step.head) : Loss();
    if (step.head) workers_.Run([&](int p) { Backward(*parts_[p]); });
    workers_.Run([&](int p) { Sum(p, params); });
    SumRows(params);
    AverageBuffers(params);
    AnnounceAll(*params.layout, step.ready);
    return result;
  }

  int64_t SmallestBatch(int64_t step, int64_t rest) const override {
    const int64_t examples = Executor::SmallestBatch(step, rest);
    return std::max<int64_t>(1, examples / std::ssize(parts_));
  }

  std::string FirstNonFinite() const override {
    for (const Part* part : working_)
      for (const Plans* plans : {&part->plans, &part->bodies})
        if (std::string layer = plans->FirstNonFinite(); !layer.empty()) return layer;
    return "";
  }

  void Restore(const Value& /*state*/) override { states_.Renew(); }

 private:
  /// Part p of the batch, forward, on its own copy of the values.
  void Forward(int p, const Batch& batch, const ParamView& params, bool body) {
    Part& part = *parts_[p];
    const auto parts = static_cast<int64_t>(parts_.size());
    TakeSubBatch(batch, batch.size * p / parts, batch.size * (p + 1) / parts, part.batch);
    if (part.batch.size == 0) return;
    part.weight = static_cast<float>(part.batch.size) / static_cast<float>(batch.size);
    part.view = params;
    part.view.states = states_.of(p);
    part.view.values = part.view.writable = AllOf<float>(part.values);
    part.view.gradients = &part.gradients;
    CopyValues(params, part.values.As<float>());
    part.plan = &(body ? part.bodies : part.plans).For(part.batch);
    part.plan->Forward(part.batch, part.view);
  }

  static void Backward(Part& part) {
    if (part.batch.size == 0) return;
    part.plan->Backward(part.batch, part.view, {});
    PartRows::Weigh(*part.view.layout, part.weight, part.gradients);
  }

  double Loss() const {
    double loss = 0;
    for (const Part* part : working_) loss += part->weight * part->plan->Loss();
    return loss;
  }

  /// Sends the parts' activations to the head as one batch. Each part gets its rows of the
  /// gradient, scaled to the mean over the part.
  double AskHead(const Batch& batch, Head& head) {
    activations_.clear();
    for (const Part* part : working_) {
      const Tensor scores = part->plan->Scores();
      activations_.insert(activations_.end(), scores.As<float>(),
                          scores.As<float>() + scores.Count());
    }
    gradient_.resize(activations_.size());
    const int64_t width = std::ssize(activations_) / batch.size;
    TakeLabels(batch, {.shape = {batch.size, width}, .data = activations_.data()}, above_);
    const double loss = head.Step(above_, gradient_.data());
    const float* from = gradient_.data();
    for (const Part* part : working_) {
      const Tensor down = part->plan->CutGradient();
      const Values gradient(down.As<float>(), down.Count());
      std::copy_n(from, down.Count(), gradient.begin());
      Divide(gradient, part->weight);
      from += down.Count();
    }
    return loss;
  }

  static void CopyValues(const ParamView& params, float* to) {
    const int64_t count = params.layout->size();
    const float* const values = params.values.Host().data();
#pragma omp parallel for schedule(static) if (count > 64 * kBlock)
    for (int64_t at = 0; at < count; at += kBlock)
      std::copy_n(values + at, std::min(kBlock, count - at), to + at);
  }

  /// Sums part p's range of the dense gradient.
  void Sum(int p, const ParamView& params) {
    const int64_t blocks = (params.layout->dense_size() + kBlock - 1) / kBlock;
    const auto parts = static_cast<int64_t>(parts_.size());
    const int64_t begin = blocks * p / parts, end = blocks * (p + 1) / parts;
    const Values sum = params.gradients->dense().Host();
#pragma omp parallel for schedule(static) if (end - begin > 64)
    for (int64_t block = begin; block < end; ++block) {
      const int64_t at = block * kBlock;
      SumTree(working_, at, sum.subspan(at, std::min(kBlock, params.layout->dense_size() - at)));
    }
  }

  void SumRows(const ParamView& params) {
    std::vector<const Gradients*> parts;
    for (const Part* part : working_) parts.push_back(&part->gradients);
    rows_.Sum(*params.layout, parts, *params.gradients);
  }

  /// Running statistics: takes the mean over the parts' copies.
  void AverageBuffers(const ParamView& params) {
    for (const Slice& slice : params.layout->slices()) {
      if (slice.kind != SliceKind::kBuffer) continue;
      const Values to = params.writable.Host().subspan(slice.offset, slice.Count());
      std::ranges::fill(to, 0.0F);
      for (const Part* part : working_) {
        AddScaled(to, part->weight, {part->values.As<float>() + slice.offset, to.size()});
      }
    }
  }

  ExecutorContext context_;
  WorkerThreads workers_;
  TeamStates states_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<Part*> working_;                 ///< The parts with examples in this step.
  std::vector<float> activations_, gradient_;  ///< At the cut.
  Batch above_;                                ///< The activations with the batch's labels.
  PartRows rows_;
};

/// One part per memory node with threads; two on a single node if there are two threads.
int UsualParts(const ThreadPlan& threads) {
  std::vector<int> nodes;
  for (const Place& place : threads.places) nodes.push_back(place.node);
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return std::clamp(static_cast<int>(nodes.size()), std::min(2, threads.threads), 1024);
}

/// The option, or nothing.
std::vector<double> Fractions(const Options& options, const ExecutorContext& context) {
  if (!options.Has("split_fractions")) return {};
  std::vector<double> fractions = options.Floats("split_fractions");
  double sum = 0;
  for (const double fraction : fractions) {
    Require(fraction > 0, "{}: expected fractions above 0, got {}",
            options.Where("split_fractions"), fraction);
    sum += fraction;
  }
  Require(fractions.size() == context.devices.size() && std::abs(sum - 1) < 1e-6,
          "{}: expected {} fractions of sum 1, one for each device, got {} of sum {:g}",
          options.Where("split_fractions"), context.devices.size(), fractions.size(), sum);
  return fractions;
}

ExecutorEstimate EstimateSplit(const Options& options, const EstimateRequest& request) {
  if (request.devices != std::vector<std::string>{"cpu"}) return EstimateSplitDevices(request);
  return FindEntry(executors(), "executor", "single").estimate(options, request);
}

}  // namespace

ExecutorEntry split() {
  return {
      .name = "split",
      .summary = "Divides the batch over devices by their speed, or over parts of the CPU",
      .options =
          {{.name = "parts",
            .type = OptionType::kInt,
            .help =
                "Parts of the CPU; by default one per memory node, or 2 if there is only one node.",
            .minimum = 1,
            .maximum = 1024},
           {.name = "split_fractions",
            .type = OptionType::kFloats,
            .help = "Fractions of the batch, one for each of several devices; by default by their "
                    "measured speed."}},
      .make = [](const Options& options,
                 const ExecutorContext& context) -> std::unique_ptr<Executor> {
        if (context.devices != std::vector<Device*>{&Cpu()}) {
          Require(!options.Has("parts"),
                  "{}: parts are of the CPU alone, and node.devices has others",
                  options.Where("parts"));
          return std::make_unique<SplitDevices>(context, Fractions(options, context));
        }
        Require(!options.Has("split_fractions"), "{}: node.devices has the CPU alone",
                options.Where("split_fractions"));
        const int parts = options.Has("parts") ? static_cast<int>(options.Int("parts"))
                                               : UsualParts(context.threads);
        if (parts == 1) return FindEntry(executors(), "executor", "single").make({}, context);
        return std::make_unique<Split>(parts, context);
      },
      .estimate = EstimateSplit};
}

}  // namespace yoke::executor
