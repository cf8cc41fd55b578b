// Runs one layer forward and backward on drawn numbers.
#include "model/support/layer_harness.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "base/random.h"
#include "base/registry.h"
#include "kernels/convert.h"

namespace yoke::testing_support {
namespace {

/// Memory of `bytes`, aligned as plans expect it.
class Memory {
 public:
  explicit Memory(int64_t bytes) : buffer_(Cpu(), std::max<int64_t>(bytes, 64)) {}
  void* data() const { return buffer_.data(); }

 private:
  Buffer buffer_;
};

ConstTensor Plain(const Shape& shape, const float* data) { return {.shape = shape, .data = data}; }

Tensor OfEdge(const Edge& edge, int64_t batch, void* data) {
  return {
      .shape = edge.shape.Batched(batch), .type = edge.type, .data = data, .layout = edge.layout};
}

std::vector<float> ToFloats(const ConstTensor& tensor) {
  std::vector<float> numbers(tensor.Count());
  Convert(tensor, {.shape = tensor.shape, .data = numbers.data()});
  return numbers;
}

/// Distinct numbers at least 0.03 apart and from 0, in random order, so that no maximum or kink is
/// nearby.
std::vector<float> Spread(int64_t n, Random random) {
  const auto order = Permutation(n, random);
  std::vector<float> numbers(n);
  const float step = std::max(0.03F, 3.0F / float(n));
  const int64_t middle = n / 2;
  for (int64_t i = 0; i < n; ++i) numbers[i] = (float(order[i] - middle) + 0.5F) * step;
  return numbers;
}

std::vector<float> Dense(const RowGradient& rows, const Shape& shape) {
  std::vector<float> numbers(shape.Count());
  for (size_t i = 0; i < rows.ids.size(); ++i)
    std::copy_n(&rows.values[i * shape[1]], shape[1], &numbers[rows.ids[i] * shape[1]]);
  return numbers;
}

void Spoil(void* memory, int64_t bytes, int byte = 0xFF) {
  if (memory) std::memset(memory, byte, bytes);  // 0xFF: NaN in f32 and bf16
}

/// The tensors of a call and their memory; none for sparse input.
class Tensors {
 public:
  Tensors(const std::vector<Edge>& edges, const LayerPlan& plan, int64_t batch, bool in_place) {
    output = Take(plan.output, batch), output_gradient = Take(plan.output, batch);
    for (size_t k = 0; k < edges.size(); ++k) {
      inputs.push_back(Take(edges[k], batch));
      gradients.push_back(Take(edges[k], batch));
      const bool alike = edges[k].type == plan.output.type &&
                         edges[k].layout == plan.output.layout &&
                         edges[k].shape == plan.output.shape;
      if (in_place && alike && plan.gradient_in_place == int(k))
        gradients[k].data = output_gradient.data;
    }
    if (!plan.output_is_input) return;
    output.data = inputs[0].data, gradients[0].data = output_gradient.data;
  }

  /// Overwrites what Backward does not read.
  void SpoilUnread(const LayerPlan& plan, int byte) const {
    if (!plan.reads_input)
      for (const Tensor& input : inputs) Spoil(input.data, input.Bytes(), byte);
    if (!plan.reads_output && output.data != inputs[0].data)
      Spoil(output.data, output.Bytes(), byte);
  }

  std::vector<Tensor> inputs, gradients;
  Tensor output, output_gradient;

 private:
  Tensor Take(const Edge& edge, int64_t batch) {
    if (edge.sparse) return OfEdge(edge, batch, nullptr);
    memory_.emplace_back(batch * edge.shape.Count() * SizeOf(edge.type));
    return OfEdge(edge, batch, memory_.back().data());
  }
  std::vector<Memory> memory_;
};

/// A call's parameters and where their gradients go.
class Parameters {
 public:
  Parameters(const std::vector<ParamSpec>& specs, const std::vector<std::vector<float>>& numbers,
             DType arithmetic)
      : refs(specs.size()), specs_(specs), rows_(specs.size()) {
    for (size_t p = 0; p < specs.size(); ++p) {
      const bool dense = specs[p].kind == SliceKind::kDense;
      const DType type = dense && !specs[p].keep_f32 ? arithmetic : DType::kF32;
      values_.emplace_back(specs[p].shape.Count() * 4);
      const Tensor value{.shape = specs[p].shape, .type = type, .data = values_[p].data()};
      Convert(Plain(specs[p].shape, numbers[p].data()), value);
      refs[p].value = value;
      gradients_.emplace_back(specs[p].shape.Count(), NAN);
      if (dense) refs[p].gradient = gradients_[p].data();
      if (specs[p].kind == SliceKind::kRowSparse) refs[p].rows = &rows_[p];
      if (specs[p].kind == SliceKind::kBuffer) refs[p].writable = value.As<float>();
    }
  }

  /// Gradients, and what buffers hold.
  std::vector<std::vector<float>> Results() const {
    std::vector<std::vector<float>> results = gradients_;
    for (size_t p = 0; p < specs_.size(); ++p) {
      if (specs_[p].kind == SliceKind::kRowSparse) results[p] = Dense(rows_[p], specs_[p].shape);
      if (specs_[p].kind == SliceKind::kBuffer) results[p] = ToFloats(refs[p].value);
    }
    return results;
  }

  std::vector<ParamRef> refs;

 private:
  const std::vector<ParamSpec>& specs_;
  std::vector<Memory> values_;
  std::vector<std::vector<float>> gradients_;
  std::vector<RowGradient> rows_;
};

/// A call's memory: on the host itself, on another device copies, taken there before a pass and
/// back after it. What shares memory here shares it there.
class Mirror {
 public:
  Mirror(const Target& target, const LayerCall& call, const LayerPlan& plan)
      : target_(target),
        params_(call.params.begin(), call.params.end()),
        others_(call.others.begin(), call.others.end()),
        other_gradients_(call.other_gradients.begin(), call.other_gradients.end()),
        there_(call) {
    if (target.device->IsHost()) return;
    for (Tensor* tensor :
         {&there_.input, &there_.output, &there_.input_gradient, &there_.output_gradient})
      Move(*tensor);
    for (std::vector<Tensor>* tensors : {&others_, &other_gradients_})
      for (Tensor& tensor : *tensors) Move(tensor);
    for (ParamRef& param : params_) {
      const int64_t count = param.value.Count();
      param.gradient = static_cast<float*>(At(param.gradient, 4 * count));
      param.writable = static_cast<float*>(At(param.writable, 4 * count));
      param.value.data = At(param.value.data, count * SizeOf(param.value.type));
    }
    const Batch& batch = call.batch;
    Move(there_.sparse.offsets, batch.sparse.offsets.size());
    Move(there_.sparse.ids, batch.sparse.ids.size());
    Move(there_.sparse.values, batch.sparse.values.size());
    Move(there_.labels.classes, batch.classes.size());
    Move(there_.labels.targets, batch.targets.size());
    Move(there_.labels.sets.offsets, batch.labels.offsets.size());
    Move(there_.labels.sets.ids, batch.labels.ids.size());
    Move(there_.examples, batch.examples.size());
    Move(there_.epoch, 1);
    there_.saved = At(there_.saved, plan.saved_bytes);
    there_.scratch = At(there_.scratch, plan.scratch_bytes);
    there_.params = params_;
    there_.others = others_;
    there_.other_gradients = other_gradients_;
  }

  template <typename Run>
  void Pass(const Run& run) {
    for (const auto& [here, there] : copies_)
      target_.stream->Copy(there.data(), here, there.bytes());
    run(there_);
    for (const auto& [here, there] : copies_)
      target_.stream->Copy(here, there.data(), there.bytes());
    for (const ParamRef& param : params_)
      if (param.rows) Fetch(*param.rows);
    target_.stream->Wait();
  }

 private:
  void* At(const void* here, int64_t bytes) {
    if (!here || bytes == 0) return nullptr;
    Buffer& there = copies_[const_cast<void*>(here)];
    if (there.bytes() == 0) there = Buffer(*target_.device, bytes);
    return there.data();
  }
  /// A sparse gradient's values, which stay on the device.
  void Fetch(RowGradient& rows) {
    if (rows.values_there.count == 0) return;
    rows.values.resize(rows.values_there.count);
    target_.stream->Copy(rows.values.data(), rows.values_there.data, rows.values_there.Bytes());
  }
  void Move(Tensor& tensor) { tensor.data = At(tensor.data, tensor.Bytes()); }
  template <typename T>
  void Move(const T*& values, size_t count) {
    values = static_cast<T*>(At(values, static_cast<int64_t>(count * sizeof(T))));
  }

  Target target_;
  std::map<void*, Buffer> copies_;
  std::vector<ParamRef> params_;
  std::vector<Tensor> others_, other_gradients_;
  LayerCall there_;
};

}  // namespace

std::string NameOf(const LayerCase& c) {
  std::string options = c.options;
  std::replace(options.begin(), options.end(), '\n', ';');
  return c.type + " " + c.input.Text() + " batch " + std::to_string(c.batch) +
         (c.fuse_add ? " add" : "") + (c.fuse_relu ? " relu" : "") + " (" + options + ")";
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
  LayerContext context{
      .name = "layer", .input = {.shape = case_.input, .sparse = case_.sparse}, .index = 1};
  for (const Shape& shape : case_.others) context.others.push_back({.shape = shape});
  layer_ = entry.make(options, context);
  loss_ = entry.loss.has_value();
  if (case_.fuse_add) {
    Check(layer_->Fuse(Fusion::kAdd), "the case's layer absorbs an addition");
    case_.others.push_back(layer_->Output().shape);
  }
  if (case_.fuse_relu) Check(layer_->Fuse(Fusion::kRelu), "the case's layer absorbs a ReLU");
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
  output_gradient.resize(batch.size * layer_->Output().shape.Count());
  for (float& g : output_gradient) g = float(random.Uniform(-1, 1));
  DrawInputs(seed);
}

void LayerHarness::DrawInputs(uint64_t seed) {
  for (size_t k = 0; k < case_.others.size(); ++k)
    others.push_back(Spread(case_.batch * case_.others[k].Count(), Random{seed, 5 + k}));
  if (!case_.sparse) {
    input = Spread(case_.batch * case_.input.Count(), Random{seed, 3});
    return;
  }
  Random random{seed, 6};
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
  const auto& loss = FindEntry(layers(), "layer", case_.type).loss;
  if (loss && IsRegression(*loss)) {
    batch.targets.resize(batch.size * outputs);
    for (float& target : batch.targets) target = float(random.Uniform(-3, 3));
    return;
  }
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

std::unique_ptr<LayerPlan> LayerHarness::MakePlan(const RunOptions& options,
                                                  const std::vector<Edge>& edges) const {
  return layer_->Plan({.batch = case_.batch,
                       .input = edges[0],
                       .others = {edges.begin() + 1, edges.end()},
                       .arithmetic = options.arithmetic,
                       .training = true,
                       .input_gradient = !case_.sparse,
                       .target = options.target});
}

LayerRun LayerHarness::Run(const RunOptions& options) const {
  std::vector<Edge> edges = {options.edge};
  edges[0].shape = case_.input, edges[0].sparse = case_.sparse;
  for (const Shape& shape : case_.others) {
    edges.push_back(options.other_edge);
    edges.back().shape = shape;
  }
  const auto plan = MakePlan(options, edges);
  Tensors tensors(edges, *plan, case_.batch, options.in_place);
  Parameters parameters(specs_, params, options.arithmetic);
  const Memory saved(plan->saved_bytes), scratch(plan->scratch_bytes);
  LayerCall call{.batch = batch,
                 .sparse = batch.sparse.View(),
                 .labels = batch.Targets(),
                 .examples = batch.examples.empty() ? nullptr : batch.examples.data(),
                 .epoch = &batch.epoch,
                 .input = tensors.inputs[0],
                 .output = tensors.output,
                 .input_gradient = tensors.gradients[0],
                 .output_gradient = tensors.output_gradient,
                 .params = parameters.refs,
                 .others = std::span(tensors.inputs).subspan(1),
                 .other_gradients = std::span(tensors.gradients).subspan(1),
                 .saved = saved.data(),
                 .scratch = scratch.data()};
  Mirror mirror(options.target, call, *plan);
  LayerRun run{.edge = plan->output, .kernel = plan->kernel};
  for (int repeat = 0; repeat < 2; ++repeat) {  // a plan is used again and again
    if (!case_.sparse) Convert(Plain(call.input.shape, input.data()), call.input);
    for (size_t k = 0; k < others.size(); ++k)
      Convert(Plain(call.others[k].shape, others[k].data()), call.others[k]);
    Spoil(scratch.data(), plan->scratch_bytes);
    if (!options.target.device->IsHost()) plan->Send(batch);
    mirror.Pass([&](const LayerCall& there) { plan->Forward(there); });
    run.output = ToFloats(call.output);
    Convert(Plain(call.output.shape, output_gradient.data()), call.output_gradient);
    Spoil(scratch.data(), plan->scratch_bytes);
    tensors.SpoilUnread(*plan, options.target.reference ? 0xFF : 0);
    mirror.Pass([&](const LayerCall& there) { plan->Backward(there); });
  }
  if (!case_.sparse) run.input_gradient = ToFloats(call.input_gradient);
  for (const Tensor& gradient : call.other_gradients)
    run.other_gradients.push_back(ToFloats(gradient));
  run.gradients = parameters.Results();
  return run;
}

double LayerHarness::Objective() const {
  const std::vector<float> y = Run({.target = {.reference = true}}).output;
  double sum = 0;
  for (size_t i = 0; i < y.size(); ++i) sum += loss_ ? y[i] : double(y[i]) * output_gradient[i];
  return loss_ ? sum / double(batch.size) : sum;
}

}  // namespace yoke::testing_support
