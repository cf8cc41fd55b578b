// Convolution by oneDNN's direct kernels, and weight gradients by our own where those serve.
// Activations keep the layout they come in; weights are put into the library's own order in each
// call (they are small beside the images).
#include "kernels/convolution/convolution.h"

#include <algorithm>

#include "base/algorithms.h"
#include "kernels/convolution/cpu_weights.h"
#include "kernels/cpu/gradient.h"
#include "kernels/cpu/onednn.h"

namespace yoke::cpu {
namespace {

using dnnl::algorithm;

/// The descriptions of the tensors and of the three operations; an operation that is not wanted
/// stays empty.
struct Descriptions {
  Descriptions(const dnnl::engine& engine, const ConvolutionShape& s);

  Shape weight_shape;  // with an axis of groups in front where there are any
  Description input, output, bias, bias_gradient;
  dnnl::convolution_forward::primitive_desc forward;
  dnnl::convolution_backward_weights::primitive_desc weights;
  dnnl::convolution_backward_data::primitive_desc data;
  std::unique_ptr<WeightGradient> own_weights;  // in place of `weights`
  bool fast = false;                            // all that are wanted are fast
};

Shape WithGroups(const ConvolutionShape& s) {
  const Shape w = s.Weight();
  return s.groups == 1 ? w : Shape{s.groups, w[0] / s.groups, w[1], w[2], w[3]};
}

Descriptions::Descriptions(const dnnl::engine& engine, const ConvolutionShape& s)
    : weight_shape(WithGroups(s)),
      input(Describe(s.Input(), s.type, s.layout)),
      output(Describe(s.Output(), s.type, s.layout)) {
  if (s.bias) {
    bias = Describe({s.outputs}, s.type);
    bias_gradient = Describe({s.outputs}, DType::kF32);
  }
  const Description weight = DescribeAny(weight_shape, s.type);
  const dnnl::memory::dims strides{s.rows.stride, s.columns.stride},
      gaps{s.rows.dilation - 1, s.columns.dilation - 1}, before{s.rows.padding, s.columns.padding},
      after{s.rows.EndPadding(), s.columns.EndPadding()};
  const dnnl::primitive_attr attributes = Attributes();
  forward = {engine,
             dnnl::prop_kind::forward_training,
             algorithm::convolution_direct,
             input,
             weight,
             bias,
             output,
             strides,
             gaps,
             before,
             after,
             Attributes(s.relu),
             true};
  fast = IsFast(forward);
  if (!fast || !s.training) return;
  own_weights = MakeDepthwiseWeightGradient(s);
  if (!own_weights && s.rows.IsPlain() && s.columns.IsPlain()) own_weights = MakeWeightGradient(s);
  if (!own_weights) {
    weights = {engine,        algorithm::convolution_direct,
               input,         DescribeAny(weight_shape, DType::kF32),
               bias_gradient, output,
               strides,       gaps,
               before,        after,
               forward,       attributes,
               true};
    fast = IsFast(weights);
  }
  if (!fast || !s.input_gradient) return;
  data = {engine,     algorithm::convolution_direct,
          input,      weight,
          output,     strides,
          gaps,       before,
          after,      forward,
          attributes, true};
  fast = IsFast(data);
}

class DirectConvolution : public ConvolutionKernel {
 public:
  DirectConvolution(const ConvolutionShape& shape, const dnnl::engine& engine, Descriptions d)
      : s_(shape),
        own_weights_(std::move(d.own_weights)),
        name_(std::string("onednn ") + d.forward.impl_info_str()) {
    const Description plain = Describe(d.weight_shape, s_.type);
    to_forward_ = Reorder(engine, plain, d.forward.weights_desc());
    forward_ =
        MakeOperation<dnnl::convolution_forward>(engine, d.forward,
                                                 {{DNNL_ARG_SRC, d.input},
                                                  {DNNL_ARG_WEIGHTS, d.forward.weights_desc()},
                                                  {DNNL_ARG_DST, d.output},
                                                  {DNNL_ARG_BIAS, d.bias}});
    Reserve(forward_);
    if (s_.training) MakeBackward(engine, d);
  }

  void Forward(const ConvolutionCall& call) override {
    const void* weight = Reordered(to_forward_, call.weight, call.scratch);
    forward_.Run({call.input, weight, call.output, call.bias}, Library(call.scratch));
  }

  void Backward(const ConvolutionCall& call) override {
    own_weights_ ? OwnWeights(call) : LibraryWeights(call);
    if (!call.input_gradient) return;
    const void* weight = Reordered(to_data_, call.weight, call.scratch);
    data_.Run({call.output_gradient, weight, call.input_gradient}, Library(call.scratch));
  }

  int64_t scratch_bytes() const override {
    return std::max(weight_bytes_ + library_bytes_, own_bytes_);
  }
  std::string name() const override { return name_; }

 private:
  void MakeBackward(const dnnl::engine& engine, const Descriptions& d) {
    if (own_weights_)
      own_bytes_ = std::max(own_weights_->scratch_bytes(), kGradientParts * s_.outputs * 4);
    else
      MakeLibraryWeights(engine, d);
    if (s_.input_gradient) MakeData(engine, d);
  }

  void MakeLibraryWeights(const dnnl::engine& engine, const Descriptions& d) {
    const Description gradient = d.weights.diff_weights_desc();
    from_weights_ = Reorder(engine, gradient, Describe(d.weight_shape, DType::kF32));
    weights_ =
        MakeOperation<dnnl::convolution_backward_weights>(engine, d.weights,
                                                          {{DNNL_ARG_SRC, d.input},
                                                           {DNNL_ARG_DIFF_DST, d.output},
                                                           {DNNL_ARG_DIFF_WEIGHTS, gradient},
                                                           {DNNL_ARG_DIFF_BIAS, d.bias_gradient}});
    Reserve(weights_);
  }

  void MakeData(const dnnl::engine& engine, const Descriptions& d) {
    to_data_ = Reorder(engine, Describe(d.weight_shape, s_.type), d.data.weights_desc());
    data_ =
        MakeOperation<dnnl::convolution_backward_data>(engine, d.data,
                                                       {{DNNL_ARG_DIFF_DST, d.output},
                                                        {DNNL_ARG_WEIGHTS, d.data.weights_desc()},
                                                        {DNNL_ARG_DIFF_SRC, d.input}});
    Reserve(data_);
  }

  void OwnWeights(const ConvolutionCall& call) const {
    const Shape out = s_.Output();
    MaskAndSum({.rows = out[0] * out[2] * out[3],
                .columns = s_.outputs,
                .type = s_.type,
                .relu_output = s_.relu ? call.output : nullptr,
                .gradient = call.output_gradient,
                .bias_gradient = s_.bias ? call.bias_gradient : nullptr,
                .partial_sums = static_cast<float*>(call.scratch)});
    own_weights_->Run({call.input, call.output_gradient, call.weight_gradient, call.scratch});
  }

  void LibraryWeights(const ConvolutionCall& call) {
    if (s_.relu) Mask({s_.Output().Count(), s_.type, call.output, call.output_gradient});
    void* gradient = from_weights_ ? call.scratch : call.weight_gradient;
    weights_.Run({call.input, call.output_gradient, gradient, call.bias_gradient},
                 Library(call.scratch));
    if (from_weights_) from_weights_.Run({gradient, call.weight_gradient}, Library(call.scratch));
  }

  /// Empty when both are the same.
  Operation Reorder(const dnnl::engine& engine, const Description& from, const Description& to) {
    if (from == to) return {};
    const dnnl::reorder::primitive_desc description(engine, from, engine, to, Attributes());
    auto operation = MakeOperation<dnnl::reorder>(engine, description,
                                                  {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
    Reserve(operation);
    const auto bytes = static_cast<int64_t>(std::max(from.get_size(), to.get_size()));
    weight_bytes_ = std::max(weight_bytes_, RoundUp(bytes, 64));
    return operation;
  }

  const void* Reordered(Operation& operation, const void* weight, void* scratch) const {
    if (!operation) return weight;
    operation.Run({weight, scratch}, Library(scratch));
    return scratch;
  }

  void Reserve(const Operation& operation) {
    library_bytes_ = std::max(library_bytes_, operation.scratch_bytes());
  }
  void* Library(void* scratch) const { return static_cast<char*>(scratch) + weight_bytes_; }

  ConvolutionShape s_;
  std::unique_ptr<WeightGradient> own_weights_;
  std::string name_;
  Operation to_forward_, forward_, from_weights_, weights_, to_data_, data_;
  int64_t weight_bytes_ = 0;   // reordered weights or their gradient, first in scratch
  int64_t library_bytes_ = 0;  // the library's temporary memory behind them
  int64_t own_bytes_ = 0;      // our weight gradient's, at another time
};

}  // namespace

std::unique_ptr<ConvolutionKernel> Convolution(const ConvolutionShape& shape) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  Descriptions descriptions(engine, shape);
  if (!descriptions.fast) return nullptr;
  return std::make_unique<DirectConvolution>(shape, engine, std::move(descriptions));
}

bool ConvolvesChannelsLast(ConvolutionShape shape) {
  shape.layout = Layout::kChannelsLast;
  return Descriptions(dnnl::engine(dnnl::engine::kind::cpu, 0), shape).fast;
}

}  // namespace yoke::cpu
