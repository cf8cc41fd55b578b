// Convolution whose outputs are direct and whose gradients are two products over lowered images, a
// few images at a time: their rows stay in the last cache. f32, channels-last, one group.
#include <algorithm>
#include <vector>

#include "base/algorithms.h"
#include "kernels/convolution/convolution.h"
#include "kernels/convolution/cpu_lowering.h"
#include "kernels/cpu/gradient.h"
#include "kernels/cpu/onednn.h"
#include "kernels/threads.h"

namespace yoke::cpu {

std::unique_ptr<ConvolutionKernel> Convolution(const ConvolutionShape& shape);

namespace {

/// The products for a number of images:
///   weights [outputs, width] += dY^T rows,    rows [images * pixels, width] = dY weights
struct Products {
  Products(const dnnl::engine& engine, int64_t rows, int64_t width, int64_t outputs) {
    const Description columns({outputs, rows}, dnnl::memory::data_type::f32,
                              dnnl::memory::format_tag::ba),
        gradient = Describe({rows, outputs}, DType::kF32),
        lowered = Describe({rows, width}, DType::kF32),
        weight = Describe({outputs, width}, DType::kF32);
    dnnl::primitive_attr adds = Attributes();
    dnnl::post_ops sum;
    sum.append_sum();
    adds.set_post_ops(sum);
    const dnnl::matmul::primitive_desc for_weights(engine, columns, lowered, weight, adds, true),
        for_input(engine, gradient, weight, lowered, Attributes(), true);
    fast = IsFast(for_weights) && IsFast(for_input);
    if (!fast) return;
    weights = MakeOperation<dnnl::matmul>(
        engine, for_weights,
        {{DNNL_ARG_SRC, columns}, {DNNL_ARG_WEIGHTS, lowered}, {DNNL_ARG_DST, weight}});
    input = MakeOperation<dnnl::matmul>(
        engine, for_input,
        {{DNNL_ARG_SRC, gradient}, {DNNL_ARG_WEIGHTS, weight}, {DNNL_ARG_DST, lowered}});
  }
  int64_t scratch_bytes() const { return std::max(weights.scratch_bytes(), input.scratch_bytes()); }

  Operation weights, input;
  bool fast = false;
};

class LoweredGradients : public ConvolutionKernel {
 public:
  LoweredGradients(std::unique_ptr<ConvolutionKernel> direct, const ConvolutionShape& shape)
      : s_(shape), direct_(std::move(direct)), lowering_(shape, 0) {
    constexpr int64_t kRowsOfThread = 1 << 17;  // elements
    const Shape out = shape.Output();
    pixels_ = out[2] * out[3];
    const int64_t of_thread = std::max<int64_t>(1, kRowsOfThread / (pixels_ * lowering_.width()));
    images_ = std::min(KernelThreads() * of_thread, s_.batch);
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    for (const int64_t images : {images_, s_.batch % images_})
      if (images > 0)
        products_.emplace_back(engine, images * pixels_, lowering_.width(), s_.outputs);
  }

  bool fast() const {
    return std::ranges::all_of(products_, [](const Products& p) { return p.fast; });
  }

  void Forward(const ConvolutionCall& call) override { direct_->Forward(call); }

  void Backward(const ConvolutionCall& call) override {
    auto* packed = static_cast<float*>(call.scratch);
    float *gradient = packed + Weights(), *rows = gradient + Weights();
    MaskAndSum({.rows = s_.batch * pixels_,
                .columns = s_.outputs,
                .relu_output = s_.relu ? call.output : nullptr,
                .gradient = call.output_gradient,
                .bias_gradient = s_.bias ? call.bias_gradient : nullptr,
                .partial_sums = packed});
    lowering_.PackWeights(static_cast<const float*>(call.weight), packed);
    std::fill_n(gradient, Weights(), 0.0F);
    for (int64_t first = 0; first < s_.batch; first += images_) {
      const int64_t images = std::min(images_, s_.batch - first);
      Products& products = products_[images == images_ ? 0 : 1];
      const float* dy =
          static_cast<const float*>(call.output_gradient) + first * pixels_ * s_.outputs;
      Lower(call, first, images, rows);
      products.weights.Run({dy, rows, gradient}, rows + Rows());
      if (!call.input_gradient) continue;
      products.input.Run({dy, packed, rows}, rows + Rows());
      AddBack(call, first, images, rows);
    }
    std::fill_n(call.weight_gradient, s_.outputs * lowering_.width(), 0.0F);
    lowering_.AddWeights(gradient, call.weight_gradient);
  }

  int64_t scratch_bytes() const override {
    int64_t library = 0;
    for (const Products& products : products_)
      library = std::max(library, products.scratch_bytes());
    return std::max({direct_->scratch_bytes(), kGradientParts * s_.outputs * 4,
                     4 * (2 * Weights() + Rows()) + library});
  }
  std::string name() const override { return direct_->name() + ", lowered gradients"; }

 private:
  // Scratch memory: weights, their gradient, rows, the library's.
  int64_t Weights() const { return RoundUp(s_.outputs * lowering_.width(), 16); }
  int64_t Rows() const { return RoundUp(images_ * pixels_ * lowering_.width(), 16); }
  int64_t Image() const { return s_.height * s_.width * s_.channels; }
  float* RowsOf(float* rows, int64_t image) const {
    return rows + image * pixels_ * lowering_.width();
  }

  void Lower(const ConvolutionCall& call, int64_t first, int64_t images, float* rows) const {
    const auto* input = static_cast<const float*>(call.input);
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < images; ++n)
      lowering_.Lower(input + (first + n) * Image(), RowsOf(rows, n));
  }

  void AddBack(const ConvolutionCall& call, int64_t first, int64_t images, float* rows) const {
    auto* gradient = static_cast<float*>(call.input_gradient);
#pragma omp parallel for schedule(static)
    for (int64_t n = 0; n < images; ++n) {
      float* image = gradient + (first + n) * Image();
      std::fill_n(image, Image(), 0.0F);
      lowering_.AddBack(RowsOf(rows, n), image);
    }
  }

  ConvolutionShape s_;
  std::unique_ptr<ConvolutionKernel> direct_;
  Lowering lowering_;
  int64_t pixels_ = 0, images_ = 1;  // of an output image; lowered at a time
  std::vector<Products> products_;   // for images_; for the rest
};

}  // namespace

std::unique_ptr<ConvolutionKernel> ConvolutionWithLoweredGradients(const ConvolutionShape& shape) {
  ConvolutionShape forward = shape;
  forward.training = false;
  std::unique_ptr<ConvolutionKernel> direct = Convolution(forward);
  if (!direct) return nullptr;
  auto kernel = std::make_unique<LoweredGradients>(std::move(direct), shape);
  if (!kernel->fast()) return nullptr;
  return kernel;
}

}  // namespace yoke::cpu
