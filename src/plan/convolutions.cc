// Convolutions: runs each convolution alone, on random data, once per algorithm.
#include "plan/convolutions.h"

#include <algorithm>
#include <map>

#include "base/algorithms.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/registry.h"
#include "kernels/convolution/convolution.h"
#include "kernels/linear/linear.h"
#include "model/convolution_keys.h"
#include "tensor/device.h"
#include "train/job/parts.h"

namespace yoke {
namespace {

constexpr int kRounds = 5;

Buffer Draw(int64_t count, DType type) {
  Buffer buffer(Cpu(), count * SizeOf(type) + 64);
  Random random{1, 1};
  for (int64_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(random.Uniform()) - 0.5F;
    if (type == DType::kBf16)
      buffer.As<Bf16>()[i] = Bf16(value);
    else
      buffer.As<float>()[i] = value;
  }
  return buffer;
}

/// Minimum saving worth a change; less is measurement noise.
constexpr double kClear = 0.1;

/// Seconds per call: the mean over as many calls as take 10 ms.
template <typename Call>
double Seconds(const Call& call) {
  const double start = Now();
  int64_t calls = 0;
  do {
    call();
    ++calls;
  } while (Now() - start < 0.01);
  return (Now() - start) / static_cast<double>(calls);
}

/// Operations per second of a product of 1024 x 1024 matrices.
class LargeProduct {
 public:
  explicit LargeProduct(DType type)
      : kernel_(MakeLinear(
            {.batch = kSize, .inputs = kSize, .outputs = kSize, .type = type, .bias = false})),
        input_(Draw(kSize * kSize, type)),
        weight_(Draw(kSize * kSize, type)),
        output_(Draw(kSize * kSize, type)),
        scratch_(Cpu(), kernel_->scratch_bytes() + 64) {}
  double Rate() {
    const LinearCall call{.input = input_.data(),
                          .weight = weight_.data(),
                          .output = output_.data(),
                          .scratch = scratch_.data()};
    return 2.0 * kSize * kSize * kSize / Seconds([&] { kernel_->Forward(call); });
  }

 private:
  static constexpr int64_t kSize = 1024;
  std::unique_ptr<LinearKernel> kernel_;
  Buffer input_, weight_, output_, scratch_;
};

/// One layer with the tensors and memory of a call.
class LayerAlone {
 public:
  LayerAlone(const Layer& layer, const PlanRequest& request)
      : plan_(layer.Plan(request)),
        input_(request.input.shape.Batched(request.batch), request.input),
        output_(layer.Output().shape.Batched(request.batch), plan_->output),
        saved_(Cpu(), plan_->saved_bytes + 64),
        scratch_(Cpu(), plan_->scratch_bytes + 64) {
    for (const ParamSpec& spec : layer.Params()) {
      values_.push_back(Draw(spec.shape.Count(), request.arithmetic));
      gradients_.push_back(Draw(spec.shape.Count(), DType::kF32));
      params_.push_back({.value = {.shape = spec.shape, .type = request.arithmetic},
                         .gradient = gradients_.back().As<float>()});
      params_.back().value.data = values_.back().data();
    }
    if (!request.input_gradient) input_.gradient.data = nullptr;
  }

  void Run() {
    const LayerCall call{.batch = batch_,
                         .input = input_.value,
                         .output = output_.value,
                         .input_gradient = input_.gradient,
                         .output_gradient = output_.gradient,
                         .params = params_,
                         .saved = saved_.data(),
                         .scratch = scratch_.data()};
    plan_->Forward(call);
    plan_->Backward(call);
  }

 private:
  /// Random values for an edge, and for its gradient.
  struct Side {
    Side(const Shape& shape, const Edge& edge)
        : elements(Draw(shape.Count(), edge.type)), gradients(Draw(shape.Count(), edge.type)) {
      value = {.shape = shape, .type = edge.type, .layout = edge.layout};
      value.data = elements.data();
      gradient = value;
      gradient.data = gradients.data();
    }
    Buffer elements, gradients;
    Tensor value, gradient;
  };

  std::unique_ptr<LayerPlan> plan_;
  Side input_, output_;
  Buffer saved_, scratch_;
  std::vector<Buffer> values_, gradients_;
  std::vector<ParamRef> params_;
  Batch batch_;
};

struct TuneRequest {
  const Graph& graph;
  const Value& model;  // [model]
  const List& layers;  // the graph's, from ModelLayers
  int64_t batch = 0;
  DType arithmetic = DType::kF32;
};

class Tuner {
 public:
  explicit Tuner(const TuneRequest& request)
      : request_(request), product_(request.arithmetic), infos_(request.graph.Info()) {
    shapes_["data"] = request.graph.task().input.shape;
    for (const LayerInfo& info : infos_) shapes_[info.name] = info.output;
  }

  std::vector<TunedLayer> Tune() {
    std::vector<TunedLayer> layers;
    const std::vector<std::string> names = LayerNames(request_.layers);
    for (const LayerInfo& info : infos_) {
      const auto at = std::find(names.begin(), names.end(), info.name);
      if (at == names.end()) continue;
      const Value& table = request_.layers[at - names.begin()];
      if (const OptionSpec* option = AlgorithmOption(table))
        layers.push_back(TuneLayer(info, table, option->choices));
    }
    return layers;
  }

 private:
  TunedLayer TuneLayer(const LayerInfo& info, const Value& table,
                       const std::vector<std::string>& algorithms) {
    TunedLayer layer{.name = info.name};
    if (const Value* given = table.Find("algorithm")) layer.given = *given->AsString();
    for (const std::string& algorithm : algorithms) {
      try {
        layer.algorithms.push_back(Measure(info, table, algorithm));
      } catch (const UserError&) {  // this algorithm does not support the layer
      }
    }
    const auto faster = [](const TunedAlgorithm& a, const TunedAlgorithm& b) {
      return a.seconds < b.seconds;
    };
    layer.best = std::min_element(layer.algorithms.begin(), layer.algorithms.end(), faster) -
                 layer.algorithms.begin();
    const double usual = layer.algorithms.front().seconds;  // auto
    if (layer.algorithms[layer.best].seconds > (1 - kClear) * usual) layer.best = 0;
    return layer;
  }

  TunedAlgorithm Measure(const LayerInfo& info, const Value& table, const std::string& algorithm) {
    Value options = WithAlgorithm(table, algorithm, request_.model);
    for (const char* key : {"type", "name", "inputs"}) options.Erase(key);
    const LayerEntry& entry = FindEntry(yoke::layers(), "layer", *table.Find("type")->AsString());
    const LayerContext context{.name = info.name, .input = {.shape = shapes_.at(info.inputs[0])}};
    const auto layer = entry.make(Options(info.name, options, entry.options), context);
    for (const Fusion what : info.absorbed) layer->Fuse(what);
    LayerAlone alone(*layer, RequestFor(info));
    alone.Run();
    std::vector<double> seconds, rates;
    for (int round = 0; round < kRounds; ++round) {
      seconds.push_back(Seconds([&] { alone.Run(); }));
      rates.push_back(product_.Rate());
    }
    const double operations = info.cost.operations * static_cast<double>(request_.batch) *
                              (info.inputs[0] == "data" ? 2.0 / 3 : 1);
    const double median = Median(seconds);
    return {
        .algorithm = algorithm, .seconds = median, .share = operations / median / Median(rates)};
  }

  /// The data's images are f32 and row-major; inner ones have the type and layout of the layer
  /// below.
  PlanRequest RequestFor(const LayerInfo& info) const {
    const bool first = info.inputs[0] == "data";
    return {.batch = request_.batch,
            .input = {.shape = shapes_.at(info.inputs[0]),
                      .type = first ? DType::kF32 : request_.arithmetic,
                      .layout = first ? Layout::kPlain : Layout::kChannelsLast},
            .arithmetic = request_.arithmetic,
            .training = true,
            .input_gradient = !first};
  }

  TuneRequest request_;
  LargeProduct product_;
  std::vector<LayerInfo> infos_;
  std::map<std::string, Shape> shapes_;
};

}  // namespace

std::vector<TunedLayer> TuneConvolutions(const Job& job, const Reader& data) {
  const Graph graph = BuildModel(job.model(), TaskOf(data.Info()));
  const List layers = ModelLayers(job.model(), graph.task());
  return Tuner({.graph = graph,
                .model = job.model(),
                .layers = layers,
                .batch = BatchOf(job),
                .arithmetic = ArithmeticOf(job)})
      .Tune();
}

Table AlgorithmsOf(const std::vector<TunedLayer>& layers) {
  Table algorithms;
  for (const TunedLayer& layer : layers)
    algorithms.emplace_back(layer.name, layer.algorithms[layer.best].algorithm);
  return algorithms;
}

}  // namespace yoke
