// Linear by three matrix products of oneDNN: y = x W^T + b (and a ReLU), dx = dy W, dW = dy^T x.
// The library reads the transposed operands in place. Where the weight is updated on the spot, the
// factor goes to dy, the smaller operand, and the product adds: W += (factor dy)^T x.
#include <algorithm>

#include "kernels/cpu/gradient.h"
#include "kernels/cpu/onednn.h"
#include "kernels/linear/linear.h"
#include "kernels/shared.h"

namespace yoke::cpu {
namespace {

Description Strided(int64_t rows, int64_t columns, int64_t stride, DType type) {
  return Description({rows, columns}, TypeOf(type), dnnl::memory::dims{stride, 1});
}

Description Transposed(int64_t rows, int64_t columns, DType type) {
  return Description({rows, columns}, TypeOf(type), dnnl::memory::format_tag::ba);
}

class LinearProducts : public LinearKernel {
 public:
  explicit LinearProducts(const LinearShape& shape)
      : s_(shape), engine_(dnnl::engine::kind::cpu, 0) {
    const int64_t n = s_.batch, in = s_.inputs, out = s_.outputs;
    const Description result = Strided(n, out, s_.Stride(), s_.type);
    forward_ = Product(Describe({n, in}, s_.type), Transposed(in, out, s_.type), result, true);
    if (!s_.training) return;
    parts_ = s_.adds && out % kSharedParts == 0 ? kSharedParts : 1;
    const Description columns({out / parts_, n}, TypeOf(s_.type),
                              dnnl::memory::dims{1, s_.Stride()});
    weight_ = Product(columns, Describe({n, in}, s_.type),
                      Describe({out / parts_, in}, DType::kF32), false, s_.adds);
    if (s_.input_gradient)
      input_ = Product(result, Describe({out, in}, s_.type), Describe({n, in}, s_.type), false);
  }

  /// False when one of the products would be slow loops of the library.
  bool fast() const { return fast_; }

  void Forward(const LinearCall& call) override {
    forward_.Run({call.input, call.weight, call.output, call.bias}, call.scratch);
  }

  void Backward(const LinearCall& call) override {
    MaskAndSum({.rows = s_.batch,
                .columns = s_.outputs,
                .step = s_.Stride(),
                .type = s_.type,
                .relu_output = s_.relu ? call.output : nullptr,
                .gradient = call.output_gradient,
                .bias_gradient = s_.bias ? call.bias_gradient : nullptr});
    if (call.input_gradient)
      input_.Run({call.output_gradient, call.weight, call.input_gradient, nullptr}, call.scratch);
    if (call.weight_gradient) WeightGradient(call);
  }

  int64_t scratch_bytes() const override {
    return std::max({forward_.scratch_bytes(), weight_.scratch_bytes(), input_.scratch_bytes()});
  }
  std::string name() const override { return name_; }

 private:
  void WeightGradient(const LinearCall& call) {
    const int64_t rows = s_.outputs / parts_;
    if (s_.adds)
      Scale({.count = s_.batch * s_.outputs,
             .type = s_.type,
             .factor = call.factor,
             .gradient = call.output_gradient});
    for (int i = 0; i < parts_; ++i) {
      const int64_t row = (FirstPart(call.writer) + i) % parts_ * rows;
      const char* dy = static_cast<const char*>(call.output_gradient) + row * SizeOf(s_.type);
      weight_.Run({dy, call.input, call.weight_gradient + row * s_.inputs, nullptr}, call.scratch);
    }
  }

  Operation Product(const Description& a, const Description& b, const Description& c, bool forward,
                    bool adds = false) {
    const Description bias =
        forward && s_.bias ? Describe({1, s_.outputs}, s_.type) : Description();
    dnnl::primitive_attr attributes = Attributes(forward && s_.relu);
    if (adds) {
      dnnl::post_ops sum;
      sum.append_sum();
      attributes.set_post_ops(sum);
    }
    const dnnl::matmul::primitive_desc description(engine_, a, b, bias, c, attributes, true);
    fast_ = fast_ && IsFast(description);
    if (!fast_) return {};
    if (forward) name_ = std::string("onednn ") + description.impl_info_str();
    return MakeOperation<dnnl::matmul>(
        engine_, description,
        {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}, {DNNL_ARG_BIAS, bias}});
  }

  LinearShape s_;
  dnnl::engine engine_;
  Operation forward_, weight_, input_;
  int parts_ = 1;  ///< Of the weight's rows, one after the other.
  bool fast_ = true;
  std::string name_;
};

}  // namespace

std::unique_ptr<LinearKernel> Linear(const LinearShape& shape) {
  auto kernel = std::make_unique<LinearProducts>(shape);
  if (!kernel->fast()) return nullptr;
  return kernel;
}

}  // namespace yoke::cpu

namespace yoke {

bool AddsFaster(const LinearShape& shape) {
  constexpr int64_t kFew = 2;    // examples: the kernel of few reads each weight once
  constexpr int64_t kMany = 12;  // with fewer, threads that share the weights wait longer
  constexpr int64_t kWeights = int64_t{1} << 14;  // with fewer, the second pass is in the cache
  if (shape.batch <= kFew) return true;
  return shape.batch >= kMany && shape.inputs * shape.outputs >= kWeights;
}

}  // namespace yoke
