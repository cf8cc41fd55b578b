// The weight gradient of 1x1 windows as one product: dW [outputs, channels] = dY^T X over all
// pixels of the batch. The library reads the transposed gradient in place.
#include "kernels/convolution/cpu_weights.h"
#include "kernels/cpu/onednn.h"
#include "kernels/threads.h"

namespace yoke::cpu {
namespace {

// Measured: the product wins where its pixels stay near; it seldom divides them among threads, so
// that each needs weights of its own.
constexpr int64_t kMostPixels = 8192;
constexpr int64_t kWeightsOfThread = 64 * 64;

class ProductWeightGradient : public WeightGradient {
 public:
  explicit ProductWeightGradient(const ConvolutionShape& s) {
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    const int64_t pixels = s.batch * s.height * s.width;
    const Description gradient({s.outputs, pixels}, TypeOf(s.type), dnnl::memory::format_tag::ba),
        input = Describe({pixels, s.channels}, s.type),
        weight = Describe({s.outputs, s.channels}, DType::kF32);
    const dnnl::matmul::primitive_desc description(engine, gradient, input, weight, Attributes(),
                                                   true);
    if (IsFast(description))
      product_ = MakeOperation<dnnl::matmul>(
          engine, description,
          {{DNNL_ARG_SRC, gradient}, {DNNL_ARG_WEIGHTS, input}, {DNNL_ARG_DST, weight}});
  }

  bool fast() const { return static_cast<bool>(product_); }
  void Run(const WeightGradientCall& call) override {
    product_.Run({call.output_gradient, call.input, call.weight_gradient}, call.scratch);
  }
  int64_t scratch_bytes() const override { return product_.scratch_bytes(); }

 private:
  Operation product_;
};

bool IsProduct(const Window& window) {
  return window.size == 1 && window.stride == 1 && window.padding == 0;
}

}  // namespace

std::unique_ptr<WeightGradient> MakeProductWeightGradient(const ConvolutionShape& shape) {
  if (!IsProduct(shape.rows) || !IsProduct(shape.columns) || shape.groups > 1) return nullptr;
  const bool small = shape.batch * shape.height * shape.width <= kMostPixels;
  if (!small || shape.outputs * shape.channels < kWeightsOfThread * KernelThreads()) return nullptr;
  auto product = std::make_unique<ProductWeightGradient>(shape);
  if (!product->fast()) return nullptr;
  return product;
}

}  // namespace yoke::cpu
