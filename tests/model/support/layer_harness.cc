// Runs one layer forward and backward on drawn numbers.
#include "model/support/layer_harness.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.h"
#include "base/registry.h"
#include "kernels/convert.h"

namespace yoke::testing {
namespace {

/// Memory of `bytes`, aligned as plans expect it.
class Memory {
 public:
  explicit Memory(int64_t bytes) : buffer_(Cpu(), std::max<int64_t>(bytes, 64)) {}
  void* data() const { return buffer_.data(); }

 private:
  Buffer buffer_;
};

Tensor Plain(const Shape& shape, const float* data) {
  return {.shape = shape, .data = const_cast<float*>(data)};
}

Tensor OfEdge(const Edge& edge, int64_t batch, void* data) {
  return {
      .shape = edge.shape.Batched(batch), .type = edge.type, .data = data, .layout = edge.layout};
}

std::vector<float> ToFloats(const Tensor& tensor) {
  std::vector<float> numbers(tensor.Count());
  Convert(tensor, Plain(tensor.shape, numbers.data()));
  return numbers;
}

/// Distinct numbers at least 0.03 apart and from 0, in random order, so that no maximum or kink is
/// nearby.
std::vector<float> Spread(int64_t n, Random random) {
  const auto order = Permutation(n, random);
  std::vector<float> numbers(n);
  const float step = std::max(0.03F, 3.0F / float(n));
  for (int64_t i = 0; i < n; ++i) numbers[i] = (float(order[i]) - float(n / 2) + 0.5F) * step;
  return numbers;
}

std::vector<float> Dense(const RowGradient& rows, const Shape& shape) {
  std::vector<float> numbers(shape.Count());
  for (size_t i = 0; i < rows.ids.size(); ++i)
    std::copy_n(&rows.values[i * shape[1]], shape[1], &numbers[rows.ids[i] * shape[1]]);
  return numbers;
}

}  // namespace

std::string NameOf(const LayerCase& c) {
  std::string options = c.options;
  std::replace(options.begin(), options.end(), '\n', ';');
  return c.type + " " + c.input.Text() + " batch " + std::to_string(c.batch) +
         (c.fuse_relu ? " relu" : "") + " (" + options + ")";
}

double RelativeError(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double error = 0, largest = 1e-6;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) return std::numeric_limits<double>::infinity();
    if (std::isnan(a[i])) continue;
    error = std::max(error, std::abs(double(a[i]) - b[i]));
    largest = std::max(largest, std::abs(double(b[i])));
  }
  return error / largest;
}

LayerHarness::LayerHarness(const LayerCase& layer_case, uint64_t seed) : case_(layer_case) {
  const LayerEntry& entry = FindEntry(layers(), "layer", case_.type);
  const Options options("layer", ParseToml(case_.options, "case"), entry.options);
  const LayerContext context{
      .name = "layer", .input = {.shape = case_.input, .sparse = case_.sparse}, .index = 1};
  layer_ = entry.make(options, context);
  if (case_.fuse_relu) Check(layer_->Fuse("relu"), "the case's layer absorbs a ReLU");
  specs_ = layer_->Params();
  DrawData(seed);
  DrawLabels(seed);
}

void LayerHarness::DrawData(uint64_t seed) {
  batch.size = case_.batch, batch.seed = seed, batch.is_sparse = case_.sparse;
  for (int64_t n = 0; n < batch.size; ++n) batch.examples.push_back(100 + 7 * n);
  for (size_t p = 0; p < specs_.size(); ++p) {
    Random random{seed, 10 + p};
    const double bound = 1 / std::sqrt(double(specs_[p].fan_in));
    params.emplace_back(specs_[p].shape.Count());
    for (float& w : params.back()) w = float(random.Uniform(-bound, bound));
  }
  Random random{seed, 2};
  output_gradient.resize(batch.size * layer_->OutputShape().Count());
  for (float& g : output_gradient) g = float(random.Uniform(-1, 1));
  if (!case_.sparse) {
    input = Spread(case_.batch * case_.input.Count(), Random{seed, 3});
    return;
  }
  batch.sparse.width = case_.input[0];
  batch.sparse.Clear();
  for (int64_t n = 0; n < batch.size; ++n) {
    for (int64_t id = n % 2; id < case_.input[0]; id += 1 + int64_t(random.Below(4))) {
      batch.sparse.ids.push_back(int32_t(id));
      batch.sparse.values.push_back(float(random.Uniform(-1, 1)));
    }
    batch.sparse.offsets.push_back(int64_t(batch.sparse.ids.size()));
  }
}

void LayerHarness::DrawLabels(uint64_t seed) {
  Random random{seed, 4};
  const int64_t outputs = case_.input.Count();
  batch.labels.width = outputs;
  batch.labels.Clear();
  for (int64_t n = 0; n < batch.size; ++n) {
    if (!case_.label_sets) {
      batch.classes.push_back(int32_t(random.Below(uint64_t(std::max<int64_t>(outputs, 2)))));
      continue;
    }
    for (int64_t id = n % 3; n % 3 < 2 && id < outputs; id += 1 + int64_t(random.Below(5)))
      batch.labels.ids.push_back(int32_t(id));  // every third example has none
    batch.labels.offsets.push_back(int64_t(batch.labels.ids.size()));
  }
}

LayerRun LayerHarness::Run(const RunOptions& options) const {
  Edge edge = options.edge;
  edge.shape = case_.input, edge.sparse = case_.sparse;
  const auto plan = layer_->Plan({.batch = case_.batch,
                                  .input = edge,
                                  .arithmetic = options.arithmetic,
                                  .training = true,
                                  .input_gradient = !case_.sparse,
                                  .reference = options.reference});
  const int64_t in = case_.batch * case_.input.Count();
  const int64_t out = case_.batch * plan->output.shape.Count();
  const Memory x(case_.sparse ? 0 : in * 4), y(out * 4), dx(case_.sparse ? 0 : in * 4), dy(out * 4),
      saved(plan->saved_bytes), scratch(plan->scratch_bytes);
  LayerCall call{.batch = batch,
                 .input = OfEdge(edge, case_.batch, x.data()),
                 .output = OfEdge(plan->output, case_.batch, y.data()),
                 .input_gradient = OfEdge(edge, case_.batch, dx.data()),
                 .output_gradient = OfEdge(plan->output, case_.batch, dy.data()),
                 .params = {},
                 .saved = saved.data(),
                 .scratch = scratch.data()};
  if (case_.sparse) call.input.data = call.input_gradient.data = nullptr;
  if (plan->output_is_input)
    call.output.data = x.data(), call.input_gradient.data = call.output_gradient.data;

  std::vector<ParamRef> refs(specs_.size());
  std::vector<RowGradient> rows(specs_.size());
  std::vector<Memory> values;
  LayerRun run{.edge = plan->output, .kernel = plan->kernel};
  for (size_t p = 0; p < specs_.size(); ++p) {
    const bool dense = specs_[p].kind == SliceKind::kDense;
    const DType type = dense ? options.arithmetic : DType::kF32;
    values.emplace_back(specs_[p].shape.Count() * 4);
    refs[p].value = {.shape = specs_[p].shape, .type = type, .data = values[p].data()};
    Convert(Plain(specs_[p].shape, params[p].data()), refs[p].value);
    run.gradients.emplace_back(specs_[p].shape.Count(), NAN);
    refs[p].gradient = dense ? run.gradients[p].data() : nullptr;
    refs[p].rows = dense ? nullptr : &rows[p];
  }
  call.params = refs;
  const Shape out_shape = plan->output.shape.Batched(case_.batch);
  for (int repeat = 0; repeat < 2; ++repeat) {  // a plan is used again and again
    if (!case_.sparse) Convert(Plain(call.input.shape, input.data()), call.input);
    plan->Forward(call);
    run.output = ToFloats(call.output);
    Convert(Plain(out_shape, output_gradient.data()), call.output_gradient);
    plan->Backward(call);
  }
  if (!case_.sparse) run.input_gradient = ToFloats(call.input_gradient);
  for (size_t p = 0; p < specs_.size(); ++p)
    if (refs[p].rows) run.gradients[p] = Dense(rows[p], specs_[p].shape);
  return run;
}

double LayerHarness::Objective() const {
  const std::vector<float> y = Run({.reference = true}).output;
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i)
    sum += layer_->IsLoss() ? y[i] : double(y[i]) * output_gradient[i];
  return layer_->IsLoss() ? sum / double(batch.size) : sum;
}

}  // namespace yoke::testing
