// Pipeline: a model with a hashed output on two devices. The layers below it, the body, run on an
// accelerator, the hashed layers and their loss, the head, on the CPU: tables and sampled rows are
// what an accelerator does badly. The batch is divided into micro-batches (Huang et al., GPipe,
// 2019): while the CPU computes the head of one, the device computes the body of others.
//   g = sum over p of g_p, each g_p with the loss divided by the whole batch's examples
// All micro-batches are computed with the same values, and the update comes when all have ended: no
// gradient is stale. Cost: node/pipeline_times.h; rows that several micro-batches touch are summed.
// Races: none.
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/algorithms.h"
#include "base/check.h"
#include "base/clock.h"
#include "comm/virtual_time.h"
#include "model/layer.h"
#include "node/device_body.h"
#include "node/device_usage.h"
#include "node/estimate.h"
#include "node/pipeline_times.h"
#include "node/sub_batch.h"

namespace yoke::executor {
namespace {

/// Boundaries of as many parts as there are examples, at most `most`.
std::vector<int64_t> BeginsOf(int64_t batch, int64_t most) {
  const int64_t parts = std::min(most, batch);
  std::vector<int64_t> begins;
  for (int64_t p = 0; p <= parts; ++p) begins.push_back(batch * p / parts);
  return begins;
}

std::vector<int64_t> SizesOf(const std::vector<int64_t>& begins) {
  std::vector<int64_t> sizes;
  for (size_t p = 0; p + 1 < begins.size(); ++p) sizes.push_back(begins[p + 1] - begins[p]);
  return sizes;
}

/// The same slices without a dense gradient.
ParamLayout RowsAlone(const ParamLayout& layout) {
  ParamLayout rows;
  for (Slice slice : layout.slices()) {
    if (slice.kind == SliceKind::kDense) slice.kind = SliceKind::kBuffer;
    rows.Add(std::move(slice));
  }
  rows.Pack();
  return rows;
}

size_t PlaceOfCpu(const std::vector<Device*>& devices) { return devices[0]->IsHost() ? 0 : 1; }

class Pipeline : public Executor {
 public:
  Pipeline(int micro_batches, const GraphCut& cut, const ExecutorContext& context)
      : context_(context),
        micro_batches_(std::clamp<int64_t>(context.batch, 1, micro_batches)),
        first_slice_(cut.first_slice),
        cpu_(PlaceOfCpu(context.devices)),
        heads_(context_, std::max<int64_t>(1, context.batch / micro_batches_),
               {.part = GraphPart::kHead, .cut = CutAt::kHashed}),
        body_(context_, *context.devices[1 - cpu_], cut,
              BeginsOf(std::max<int64_t>(1, context.batch), micro_batches_)),
        usage_(context.devices) {
    if (micro_batches_ == 1) return;
    const ParamLayout rows = RowsAlone(context.graph.layout());
    for (int64_t p = 0; p < micro_batches_; ++p) gradients_.emplace_back(rows, Cpu());
  }

  StepResult Step(const Batch& batch, const ParamView& params, const ExecutorStep& step) override {
    if (batch.size == 0) return StepOfNothing(params, step.ready);
    const double began = Now(), device_before = body_.busy_seconds();
    const std::vector<int64_t> begins = BeginsOf(batch.size, micro_batches_);
    StepResult result{.examples = batch.size};
    non_finite_.clear();
    head_seconds_ = 0;
    body_.Begin(batch, params, begins);
    for (size_t p = 0; p + 1 < begins.size(); ++p) {
      const double part = double(begins[p + 1] - begins[p]) / double(batch.size);
      result.loss += part * StepOfHead(p, batch.size, params);
    }
    body_.Finish(params);
    SumRows(begins.size() - 1, params);
    const double seconds = Now() - began;
    result.seconds =
        Count(begins, {.seconds = seconds,
                       .device_seconds = std::min(seconds, body_.busy_seconds() - device_before),
                       .cpu_seconds = head_seconds_});
    AnnounceAll(*params.layout, step.ready);
    return result;
  }

  int64_t SmallestBatch(int64_t step, int64_t rest) const override {
    return std::max<int64_t>(1, Executor::SmallestBatch(step, rest) / micro_batches_);
  }
  std::string FirstNonFinite() const override {
    const std::string below = non_finite_.empty() ? "" : body_.FirstNonFinite();
    return below.empty() ? non_finite_ : below;
  }
  std::vector<DeviceWork> Work() const override { return usage_.Work(); }
  Value State() const override { return usage_.State(); }
  void Restore(const Value& state) override { usage_.Restore(state); }

 private:
  /// Where a micro-batch's head writes its rows' gradients.
  Gradients& GradientsOf(size_t p, const ParamView& params) {
    return gradients_.empty() ? *params.gradients : gradients_[p];
  }

  /// The micro-batch's mean loss.
  double StepOfHead(size_t p, int64_t examples, const ParamView& params) {
    Batch& above = body_.Activations(p);
    const double began = Now();
    above.mean_over = examples;
    above.goes_on = p > 0;
    ParamView view = params;
    view.gradients = &GradientsOf(p, params);
    GraphPlan& head = heads_.For(above);
    head.Forward(above, view);
    head.Backward(above, view, {});
    const Tensor gradient = head.CutGradient();
    std::copy_n(gradient.As<float>(), gradient.Count(), body_.Gradient(p));
    head_seconds_ += Now() - began;
    body_.Backward(p);
    if (non_finite_.empty()) non_finite_ = head.FirstNonFinite();
    return head.Loss();
  }

  /// In the order of the micro-batches.
  void SumRows(size_t parts, const ParamView& params) {
    const ParamLayout& layout = *params.layout;
    rows_.Sum(
        layout, gradients_.empty() ? first_slice_ : static_cast<int>(layout.slices().size()), parts,
        [&](size_t p, int s) {
          return s < first_slice_ ? body_.Rows(p, s) : PartRows::BlockOf(layout, gradients_[p], s);
        },
        *params.gradients);
  }

  /// Adds a step to what the devices have done. Examples are counted where they begin. Returns its
  /// seconds in virtual time, otherwise 0.
  double Count(const std::vector<int64_t>& begins, PipelineTimes times) {
    const bool in_virtual_time = context_.node && InVirtualTime(*context_.node);
    if (in_virtual_time)
      times = TimesOf({.graph = context_.graph,
                       .device = context_.devices[1 - cpu_]->name(),
                       .parts = SizesOf(begins),
                       .rows = double(body_.rows())},
                      [this](const Cost& cost, const WorkPlace& place) {
                        return VirtualTime(*context_.node).Price(cost, place);
                      });
    usage_.Passed(times.seconds);
    usage_.Count(cpu_, {.updates = 1, .busy_seconds = times.cpu_seconds});
    usage_.Count(1 - cpu_,
                 {.examples = begins.back(), .updates = 1, .busy_seconds = times.device_seconds});
    return in_virtual_time ? times.seconds : 0;
  }

  ExecutorContext context_;
  int64_t micro_batches_;
  int first_slice_;  // of the head
  size_t cpu_;       // in the list of devices
  Plans heads_;
  DeviceBody body_;
  std::vector<Gradients> gradients_;  // of heads by micro-batch; empty: there is one
  PartRows rows_;
  DeviceUsage usage_;
  double head_seconds_ = 0;
  std::string non_finite_;
};

std::string OneBesideTheCpu(const std::vector<Device*>& devices) {
  if (devices.size() == 2 && devices[0]->IsHost() != devices[1]->IsHost()) return "";
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const Device* device : devices) names.push_back(device->name());
  return fmt::format("takes the CPU and one other device, such as [\"cpu\", \"cuda:0\"], not {}",
                     fmt::join(names, ", "));
}

std::string WithAHashedHead(const Graph& graph) {
  if (graph.Cut(CutAt::kHashed)) return "";
  return "needs a model whose last layer is a hashed one (lsh_linear) above others to train";
}

/// As the price of a sparse layer counts: a hundred features an example, or all if there are fewer.
double RowsRead(const Edge& input, int64_t batch) {
  const auto features = double(input.shape.Count());
  return input.sparse ? DifferentOf(features, double(batch) * std::min(100.0, features)) : 0;
}

ExecutorEstimate EstimatePipeline(const Options& options, const EstimateRequest& request) {
  const size_t cpu = request.devices[0] == "cpu" ? 0 : 1;
  const std::string why = WithAHashedHead(request.graph);
  Require(why.empty(), "executor pipeline {}", why);
  const auto batch = double(request.batch);
  const PipelineTimes times = TimesOf(
      {.graph = request.graph,
       .device = request.devices[1 - cpu],
       .parts = SizesOf(BeginsOf(request.batch, options.Int("micro_batches"))),
       .rows = RowsRead(request.graph.task().input, request.batch)},
      [&](const Cost& cost, const WorkPlace& place) { return request.Seconds(cost, place); });
  ExecutorEstimate estimate{.seconds_per_example = times.seconds / batch};
  for (size_t d = 0; d < 2; ++d)
    estimate.devices.push_back(
        {.name = request.devices[d],
         .updates_per_second = 1 / times.seconds,
         .examples_per_update = d == cpu ? 0 : batch,
         .busy = (d == cpu ? times.cpu_seconds : times.device_seconds) / times.seconds});
  return estimate;
}

}  // namespace

ExecutorEntry pipeline() {
  return {.name = "pipeline",
          .summary = "Trains a hashed output on the CPU while a device computes the layers below",
          .options = {{.name = "micro_batches",
                       .type = OptionType::kInt,
                       .fallback = 2,
                       .help = "Parts of a batch that pass the two devices one after the other.",
                       .minimum = 1,
                       .maximum = 1024}},
          .make = [](const Options& options,
                     const ExecutorContext& context) -> std::unique_ptr<Executor> {
            const std::optional<GraphCut> cut = context.graph.Cut(CutAt::kHashed);
            Check(cut.has_value(), "pipeline trains a graph with a hashed head");
            return std::make_unique<Pipeline>(static_cast<int>(options.Int("micro_batches")), *cut,
                                              context);
          },
          .supports = OneBesideTheCpu,
          .trains = WithAHashedHead,
          .divides_model = true,
          .estimate = EstimatePipeline};
}

}  // namespace yoke::executor
