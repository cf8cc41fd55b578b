// Convolution by lowering (im2col) and a matrix product, in f32, channels-last. The batch is cut
// into partitions, each lowered and multiplied `lowered_images` at a time: (images m^2) x (k^2 d)
// times (k^2 d) x o. One partition a core with all its images at once is Omnivore's way (Hadjis and
// others 2016); one image at a time with the product on all cores is Caffe's, kept to compare with.
#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <dnnl.hpp>
#include <vector>

#include "base/algorithms.h"
#include "base/check.h"
#include "kernels/convolution/convolution.h"
#include "kernels/convolution/cpu_lowering.h"
#include "kernels/cpu/gradient.h"
#include "kernels/threads.h"

namespace yoke::cpu {
namespace {

struct Matrix {
  const float* data = nullptr;
  int64_t step = 0;  ///< From row to row.
  bool transposed = false;
};

struct Product {
  int64_t rows = 0, columns = 0, inner = 0;
  Matrix a, b;
  float* c = nullptr;
  int64_t c_step = 0;
  float keep = 0;  ///< c = keep c + a b
};

void Multiply(const Product& p) {
  const dnnl_status_t status =
      dnnl_sgemm(p.a.transposed ? 'T' : 'N', p.b.transposed ? 'T' : 'N', p.rows, p.columns, p.inner,
                 1, p.a.data, p.a.step, p.b.data, p.b.step, p.keep, p.c, p.c_step);
  Check(status == dnnl_success, "oneDNN could not multiply matrices");
}

class LoweredProducts : public ConvolutionKernel {
 public:
  explicit LoweredProducts(const ConvolutionShape& shape) : s_(shape), out_(shape.Output()) {
    const bool image = s_.algorithm == ConvolutionAlgorithm::kLowerImage;
    const int64_t wanted = s_.partitions > 0 ? s_.partitions : KernelThreads();
    partitions_ = image ? 1 : std::min(wanted, s_.batch);
    const int64_t part = (s_.batch + partitions_ - 1) / partitions_;
    images_ = image ? 1 : s_.lowered_images > 0 ? std::min(s_.lowered_images, part) : part;
    for (int64_t g = 0; g < s_.groups; ++g) groups_.emplace_back(s_, g);
    pixels_ = out_[2] * out_[3];
    width_ = groups_[0].width();
    outputs_ = s_.outputs / s_.groups;
  }

  void Forward(const ConvolutionCall& call) override {
    const auto* input = static_cast<const float*>(call.input);
    auto* output = static_cast<float*>(call.output);
    groups_[0].PackWeights(static_cast<const float*>(call.weight), Weight(call));
    ForEachChunk([&](int64_t partition, int64_t n, int64_t images) {
      float* rows = Rows(call, partition);
      float* y = output + n * pixels_ * s_.outputs;
      for (int64_t g = 0; g < s_.groups; ++g) {
        LowerImages(g, input + n * Image(), images, rows);
        Multiply({.rows = images * pixels_,
                  .columns = outputs_,
                  .inner = width_,
                  .a = {rows, width_},
                  .b = {Weight(call) + g * outputs_ * width_, width_, true},
                  .c = y + g * outputs_,
                  .c_step = s_.outputs});
      }
      Finish(static_cast<const float*>(call.bias), images * pixels_, y);
    });
  }

  void Backward(const ConvolutionCall& call) override {
    MaskAndSum({.rows = s_.batch * pixels_,
                .columns = s_.outputs,
                .relu_output = s_.relu ? call.output : nullptr,
                .gradient = call.output_gradient,
                .bias_gradient = s_.bias ? call.bias_gradient : nullptr,
                .partial_sums = static_cast<float*>(call.scratch)});
    groups_[0].PackWeights(static_cast<const float*>(call.weight), Weight(call));
    ForEachChunk([&](int64_t partition, int64_t n, int64_t images) {
      for (int64_t g = 0; g < s_.groups; ++g) {
        AddWeightGradient(call, {partition, n, images}, g);
        if (call.input_gradient) InputGradient(call, {partition, n, images}, g);
      }
    });
    UnpackGradient(call);
  }

  int64_t scratch_bytes() const override {
    const int64_t parts = s_.training ? kGradientParts * s_.outputs : 0;
    return 4 * std::max(parts, WeightSize() * (1 + (s_.training ? partitions_ : 0)) +
                                   partitions_ * RowsSize());
  }

  std::string name() const override {
    if (s_.algorithm == ConvolutionAlgorithm::kLowerImage) return "lowered, an image at a time";
    std::string name = s_.partitions > 0 ? fmt::format("lowered, {} partitions", s_.partitions)
                                         : "lowered, a partition a core";
    if (s_.lowered_images > 0) name += fmt::format(", {} images at a time", s_.lowered_images);
    return name;
  }

 private:
  struct Chunk {
    int64_t partition, first, images;
  };

  // Scratch memory: the packed weight, each partition's gradient of it, each partition's rows.
  int64_t WeightSize() const { return RoundUp(s_.outputs * width_, 16); }
  int64_t RowsSize() const { return RoundUp(images_ * pixels_ * width_, 16); }
  int64_t Image() const { return s_.height * s_.width * s_.channels; }
  static float* Weight(const ConvolutionCall& call) { return static_cast<float*>(call.scratch); }
  float* Gradient(const ConvolutionCall& call, int64_t partition) const {
    return Weight(call) + (1 + partition) * WeightSize();
  }
  float* Rows(const ConvolutionCall& call, int64_t partition) const {
    const int64_t gradients = s_.training ? partitions_ : 0;
    return Weight(call) + (1 + gradients) * WeightSize() + partition * RowsSize();
  }

  /// Calls body(partition, first image, images) for every partition's chunks in order: partitions
  /// side by side with a thread each, a single one with the whole team in its products.
  template <typename Body>
  void ForEachChunk(const Body& body) const {
    if (partitions_ == 1) return Chunks(0, body);
    const int team = std::min<int>(KernelThreads(), static_cast<int>(partitions_));
#pragma omp parallel num_threads(team)
    {
      omp_set_num_threads(1);  // of the products in this region
#pragma omp for schedule(static)
      for (int64_t p = 0; p < partitions_; ++p) Chunks(p, body);
    }
  }

  template <typename Body>
  void Chunks(int64_t partition, const Body& body) const {
    const int64_t end = s_.batch * (partition + 1) / partitions_;
    for (int64_t n = s_.batch * partition / partitions_; n < end; n += images_)
      body(partition, n, std::min(images_, end - n));
  }

  void LowerImages(int64_t group, const float* input, int64_t images, float* rows) const {
    for (int64_t n = 0; n < images; ++n)
      groups_[group].Lower(input + n * Image(), rows + n * pixels_ * width_);
  }

  void Finish(const float* bias, int64_t rows, float* y) const {
    if (!s_.bias && !s_.relu) return;
    for (int64_t row = 0; row < rows; ++row, y += s_.outputs)
      for (int64_t o = 0; o < s_.outputs; ++o) {
        const float sum = s_.bias ? y[o] + bias[o] : y[o];
        y[o] = s_.relu && sum < 0 ? 0.0F : sum;
      }
  }

  void AddWeightGradient(const ConvolutionCall& call, const Chunk& chunk, int64_t g) const {
    const auto* input = static_cast<const float*>(call.input) + chunk.first * Image();
    float* rows = Rows(call, chunk.partition);
    LowerImages(g, input, chunk.images, rows);
    const bool first = chunk.first == s_.batch * chunk.partition / partitions_;
    Multiply({.rows = outputs_,
              .columns = width_,
              .inner = chunk.images * pixels_,
              .a = {OutputGradient(call, chunk, g), s_.outputs, true},
              .b = {rows, width_},
              .c = Gradient(call, chunk.partition) + g * outputs_ * width_,
              .c_step = width_,
              .keep = first ? 0.0F : 1.0F});
  }

  void InputGradient(const ConvolutionCall& call, const Chunk& chunk, int64_t g) const {
    auto* gradient = static_cast<float*>(call.input_gradient) + chunk.first * Image();
    float* rows = Rows(call, chunk.partition);
    if (g == 0) std::fill_n(gradient, chunk.images * Image(), 0.0F);
    Multiply({.rows = chunk.images * pixels_,
              .columns = width_,
              .inner = outputs_,
              .a = {OutputGradient(call, chunk, g), s_.outputs},
              .b = {Weight(call) + g * outputs_ * width_, width_},
              .c = rows,
              .c_step = width_});
    for (int64_t n = 0; n < chunk.images; ++n)
      groups_[g].AddBack(rows + n * pixels_ * width_, gradient + n * Image());
  }

  const float* OutputGradient(const ConvolutionCall& call, const Chunk& chunk, int64_t g) const {
    return static_cast<const float*>(call.output_gradient) + chunk.first * pixels_ * s_.outputs +
           g * outputs_;
  }

  void UnpackGradient(const ConvolutionCall& call) const {
    std::fill_n(call.weight_gradient, s_.outputs * width_, 0.0F);
    for (int64_t p = 0; p < partitions_; ++p)
      groups_[0].AddWeights(Gradient(call, p), call.weight_gradient);
  }

  ConvolutionShape s_;
  Shape out_;
  std::vector<Lowering> groups_;
  int64_t partitions_ = 1, images_ = 1;
  int64_t pixels_ = 0, width_ = 0;  // of the lowered matrix: rows an image, columns
  int64_t outputs_ = 0;             // of a group
};

}  // namespace

std::unique_ptr<ConvolutionKernel> LoweredConvolution(const ConvolutionShape& shape) {
  if (shape.type != DType::kF32 || shape.layout != Layout::kChannelsLast) return nullptr;
  return std::make_unique<LoweredProducts>(shape);
}

}  // namespace yoke::cpu
