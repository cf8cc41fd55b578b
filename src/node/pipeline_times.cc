// PipelineTimes: two clocks, of the device and of the CPU.
#include "node/pipeline_times.h"

#include <algorithm>
#include <numeric>

namespace yoke {
namespace {

constexpr double kForwardOfPass = 1.0 / 3;  // of a pass's cost

Cost Fraction(Cost cost, double fraction) {
  for (double* const each : {&cost.operations, &cost.bytes, &cost.kernels}) *each *= fraction;
  return cost;
}

/// Bytes of the rows of the body's sparse layers that the batch reads.
double RowBytes(const PipelineStep& step, const GraphCut& cut) {
  double bytes = 0;
  for (int s = 0; s < cut.first_slice; ++s) {
    const Slice& slice = step.graph.layout().slices()[s];
    if (slice.kind == SliceKind::kRowSparse) bytes += 4 * step.rows * double(slice.RowWidth());
  }
  return bytes;
}

}  // namespace

PipelineTimes TimesOf(const PipelineStep& step,
                      const std::function<double(const Cost&, const WorkPlace&)>& seconds) {
  const GraphCut cut = step.graph.Cut(CutAt::kHashed).value();
  const int64_t batch = std::accumulate(step.parts.begin(), step.parts.end(), int64_t{0});
  const double copied = 4.0 * double(step.graph.layout().dense_size()) + RowBytes(step, cut);
  const double staged = seconds({.bytes = 2 * copied}, {.examples = batch});
  const double crossing =
      seconds({.device_bytes = copied}, {.device = step.device, .examples = batch});
  PipelineTimes times{.device_seconds = 2 * crossing, .cpu_seconds = 2 * staged};
  const auto pass = [&](int64_t examples, double fraction) {
    Cost cost = Fraction(step.graph.Price(examples, GraphPart::kBody, CutAt::kHashed), fraction);
    cost.device_bytes = 4.0 * double(examples * cut.activations.Count());
    const double taken = seconds(cost, {.device = step.device, .examples = examples});
    times.device_seconds += taken;
    return taken;
  };
  double device = staged + crossing, cpu = staged;
  std::vector<double> forward;
  for (const int64_t examples : step.parts)
    forward.push_back(device += pass(examples, kForwardOfPass));
  for (size_t p = 0; p < step.parts.size(); ++p) {
    const double head = seconds(step.graph.Price(step.parts[p], GraphPart::kHead, CutAt::kHashed),
                                {.examples = step.parts[p]});
    times.cpu_seconds += head;
    cpu = std::max(cpu, forward[p]) + head;
    device = std::max(device, cpu) + pass(step.parts[p], 1 - kForwardOfPass);
  }
  times.seconds = device + crossing + staged;
  return times;
}

}  // namespace yoke
