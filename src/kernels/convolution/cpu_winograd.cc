// Convolution with 3x3 windows of stride 1 by Winograd's F(4x4, 3x3), f32, channels-last: a tile of
// 4x4 pixels takes 36 products a pair of channels instead of 144. Tiles are taken in chunks that
// stay in the last cache: transformed, multiplied (36 products [tiles, channels] x [channels,
// outputs] at once), transformed back. The input's gradient is the same with turned weights; the
// weights' gradient is F(3x3, 4x4) with the output's gradient as kernel. Lavin and Gray (2016),
// arXiv 1509.09308. Errors are 1e-5 to 2e-5 of the largest output for 256 to 512 channels.
#include <algorithm>
#include <utility>

#include "base/algorithms.h"
#include "kernels/convolution/convolution.h"
#include "kernels/convolution/cpu_winograd_tiles.h"
#include "kernels/cpu/gradient.h"
#include "kernels/cpu/onednn.h"
#include "kernels/threads.h"

namespace yoke::cpu {
namespace {

constexpr int64_t kPoints = kWinogradPoints;
constexpr int64_t kChunkBytes = 12 << 20;  // of points of one side
constexpr int64_t kLeastTiles = 256;       // of a chunk, for products that read all weights

/// The products at all points, each as matrices of a chunk.
struct PointProducts {
  int64_t rows = 0, inner = 0, columns = 0;
  bool turned = false;  ///< The left matrices lie with rows and columns exchanged.
  bool adds = false;    ///< To what the result holds.
};

Description Matrices(int64_t rows, int64_t columns, bool turned = false) {
  using Dims = dnnl::memory::dims;
  const Dims strides = turned ? Dims{rows * columns, 1, rows} : Dims{rows * columns, columns, 1};
  return {Dims{kPoints, rows, columns}, dnnl::memory::data_type::f32, strides};
}

/// A batched product whose right side may be put into the library's own order first.
class WinogradProducts {
 public:
  WinogradProducts() = default;
  WinogradProducts(const dnnl::engine& engine, const PointProducts& p, bool reorders) {
    const Description left = Matrices(p.rows, p.inner, p.turned),
                      plain = Matrices(p.inner, p.columns), result = Matrices(p.rows, p.columns);
    const Description any({kPoints, p.inner, p.columns}, dnnl::memory::data_type::f32,
                          dnnl::memory::format_tag::any);
    dnnl::primitive_attr attributes = Attributes();
    if (p.adds) {
      dnnl::post_ops sum;
      sum.append_sum();
      attributes.set_post_ops(sum);
    }
    const dnnl::matmul::primitive_desc description(engine, left, reorders ? any : plain, result,
                                                   attributes, true);
    fast_ = IsFast(description);
    if (!fast_) return;
    const Description right = description.weights_desc();
    product_ = MakeOperation<dnnl::matmul>(
        engine, description,
        {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, result}});
    if (right != plain)
      reorder_ = MakeOperation<dnnl::reorder>(
          engine, dnnl::reorder::primitive_desc(engine, plain, engine, right, Attributes()),
          {{DNNL_ARG_FROM, plain}, {DNNL_ARG_TO, right}});
    right_bytes_ = RoundUp(static_cast<int64_t>(right.get_size()), 64);
  }

  bool fast() const { return fast_; }
  int64_t right_bytes() const { return right_bytes_; }
  int64_t library_bytes() const {
    return std::max(product_.scratch_bytes(), reorder_.scratch_bytes());
  }

  /// The right side as Run wants it: `plain` itself, or in `place`.
  const float* Right(const float* plain, float* place, void* library) {
    if (!reorder_) return plain;
    reorder_.Run({plain, place}, library);
    return place;
  }
  void Run(const float* left, const float* right, float* result, void* library) {
    product_.Run({left, right, result}, library);
  }

 private:
  Operation product_, reorder_;
  int64_t right_bytes_ = 0;
  bool fast_ = false;
};

/// One side's images and how they are cut.
WinogradTiles TilesOf(const Shape& image, const Shape& tiled, int64_t row_padding,
                      int64_t column_padding) {
  return {.batch = image[0],
          .height = image[2],
          .width = image[3],
          .channels = image[1],
          .row_padding = row_padding,
          .column_padding = column_padding,
          .rows = (tiled[2] + kWinogradStep - 1) / kWinogradStep,
          .columns = (tiled[3] + kWinogradStep - 1) / kWinogradStep};
}

class WinogradConvolution : public ConvolutionKernel {
 public:
  explicit WinogradConvolution(const ConvolutionShape& s)
      : s_(s),
        loops_(WinogradLoopsFor()),
        input_(TilesOf(s.Input(), s.Output(), s.rows.padding, s.columns.padding)),
        output_(TilesOf(s.Output(), s.Output(), 0, 0)),
        gradient_(TilesOf(s.Output(), s.Input(), 2 - s.rows.padding, 2 - s.columns.padding)),
        input_gradient_(TilesOf(s.Input(), s.Input(), 0, 0)) {
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    const int64_t widest = std::max(s.channels, s.outputs);
    const int64_t most = std::max(output_.Count(), s.training ? input_gradient_.Count() : 0);
    chunk_ = std::clamp<int64_t>(kChunkBytes / (4 * kPoints * widest), kLeastTiles, 1 << 16);
    chunk_ = RoundUp(std::min(chunk_, most), 16);
    forward_ = {engine, {.rows = chunk_, .inner = s.channels, .columns = s.outputs}, true};
    Reserve(forward_);
    if (!s.training) return;
    PointProducts weight = {
        .rows = s.channels, .inner = chunk_, .columns = s.outputs, .turned = true};
    weight_ = {engine, weight, false};
    Reserve(weight_);
    if (input_.Count() > chunk_) {
      weight.adds = true;
      more_weight_ = {engine, weight, false};
      Reserve(more_weight_);
    }
    if (!s.input_gradient) return;
    data_ = {engine, {.rows = chunk_, .inner = s.outputs, .columns = s.channels}, true};
    Reserve(data_);
  }

  /// False when one of the products would be slow loops of the library.
  bool fast() const { return fast_; }

  void Forward(const ConvolutionCall& call) override {
    WinogradKernels kernels = Kernels(call.weight, Place(call, 0));
    kernels.a_step = 9, kernels.b_step = 9 * s_.channels;
    kernels.rows = s_.channels, kernels.columns = s_.outputs;
    Convolve(call, forward_, kernels,
             {.tiles = input_, .from = static_cast<const float*>(call.input)},
             {.tiles = output_,
              .to = static_cast<float*>(call.output),
              .bias = static_cast<const float*>(call.bias),
              .relu = s_.relu});
  }

  void Backward(const ConvolutionCall& call) override {
    const Shape out = s_.Output();
    MaskAndSum({.rows = out[0] * out[2] * out[3],
                .columns = s_.outputs,
                .relu_output = s_.relu ? call.output : nullptr,
                .gradient = call.output_gradient,
                .bias_gradient = s_.bias ? call.bias_gradient : nullptr,
                .partial_sums = Place(call, 0)});
    WeightGradient(call);
    if (!call.input_gradient) return;
    WinogradKernels kernels = Kernels(call.weight, Place(call, 0));
    kernels.a_step = 9 * s_.channels, kernels.b_step = 9;
    kernels.rows = s_.outputs, kernels.columns = s_.channels;
    kernels.turned = true;
    Convolve(call, data_, kernels,
             {.tiles = gradient_, .from = static_cast<const float*>(call.output_gradient)},
             {.tiles = input_gradient_, .to = static_cast<float*>(call.input_gradient)});
  }

  int64_t scratch_bytes() const override {
    return PlainBytes() + right_bytes_ + 2 * SideBytes() + library_bytes_;
  }
  std::string name() const override { return "winograd 4x4"; }

 private:
  void Reserve(const WinogradProducts& products) {
    fast_ = fast_ && products.fast();
    right_bytes_ = std::max(right_bytes_, products.right_bytes());
    library_bytes_ = std::max(library_bytes_, products.library_bytes());
  }

  /// Scratch memory: points of the weights, those in the library's order, points of two sides of a
  /// chunk, the library's own.
  int64_t PlainBytes() const {
    return 4 * std::max(kPoints * s_.channels * s_.outputs, kGradientParts * s_.outputs);
  }
  int64_t SideBytes() const { return 4 * kPoints * chunk_ * std::max(s_.channels, s_.outputs); }
  float* Place(const ConvolutionCall& call, int which) const {
    char* at = static_cast<char*>(call.scratch);
    if (which > 0) at += PlainBytes();
    if (which > 1) at += right_bytes_;
    if (which > 2) at += (which - 2) * SideBytes();
    return reinterpret_cast<float*>(at);
  }

  static WinogradKernels Kernels(const void* weight, float* points) {
    return {.weight = const_cast<float*>(static_cast<const float*>(weight)), .points = points};
  }

  /// The size of pieces of `count`, at most `most`, of which each thread has at least four.
  static int64_t PieceOf(int64_t count, int64_t most) {
    return std::clamp<int64_t>(count / (4 * KernelThreads()), 1, most);
  }

  template <typename Loop>
  static void ForKernels(Loop loop, const WinogradKernels& kernels) {
    const int64_t rows = PieceOf(kernels.rows, 16);
#pragma omp parallel for schedule(static)
    for (int64_t a = 0; a < kernels.rows; a += rows) {
      WinogradKernels part = kernels;
      part.begin = a;
      part.end = std::min(a + rows, kernels.rows);
      loop(part);
    }
  }

  /// The tiles of one chunk; where there are too few, the rest of the points becomes 0 on request.
  template <typename Loop>
  void ForTiles(Loop loop, WinogradPass pass, int64_t first) const {
    const int64_t count = std::min(chunk_, pass.tiles.Count() - first), tiles = PieceOf(count, 8);
    pass.first = first;
    pass.chunk = chunk_;
#pragma omp parallel for schedule(static)
    for (int64_t tile = 0; tile < count; tile += tiles) {
      WinogradPass part = pass;
      part.begin = tile;
      part.end = std::min(tile + tiles, count);
      loop(part);
    }
  }

  void ClearRest(const WinogradTiles& tiles, int64_t first, float* points) const {
    const int64_t count = std::min(chunk_, tiles.Count() - first);
#pragma omp parallel for schedule(static) if (count < chunk_)
    for (int64_t k = 0; k < kPoints; ++k)
      std::fill(points + (k * chunk_ + count) * tiles.channels,
                points + (k + 1) * chunk_ * tiles.channels, 0.0F);
  }

  void Convolve(const ConvolutionCall& call, WinogradProducts& products,
                const WinogradKernels& kernels, WinogradPass in, WinogradPass out) const {
    ForKernels(loops_.kernels, kernels);
    float *left = Place(call, 2), *result = Place(call, 3);
    void* library = Place(call, 4);
    const float* right = products.Right(kernels.points, Place(call, 1), library);
    in.to = left;
    out.from = result;
    for (int64_t first = 0; first < in.tiles.Count(); first += chunk_) {
      ForTiles(loops_.patches, in, first);
      products.Run(left, right, result, library);
      ForTiles(loops_.outputs, out, first);
    }
  }

  void WeightGradient(const ConvolutionCall& call) {
    WinogradKernels kernels = Kernels(call.weight_gradient, Place(call, 0));
    kernels.a_step = 9, kernels.b_step = 9 * s_.channels;
    kernels.rows = s_.channels, kernels.columns = s_.outputs;
    float *left = Place(call, 2), *right = Place(call, 3);
    for (int64_t first = 0; first < input_.Count(); first += chunk_) {
      ForTiles(loops_.patches,
               {.tiles = input_, .from = static_cast<const float*>(call.input), .to = left}, first);
      ForTiles(
          loops_.gradients,
          {.tiles = output_, .from = static_cast<const float*>(call.output_gradient), .to = right},
          first);
      ClearRest(input_, first, left);
      ClearRest(output_, first, right);
      (first == 0 ? weight_ : more_weight_).Run(left, right, kernels.points, Place(call, 4));
    }
    ForKernels(loops_.kernel_gradients, kernels);
  }

  ConvolutionShape s_;
  WinogradLoops loops_;
  WinogradTiles input_, output_, gradient_, input_gradient_;
  int64_t chunk_ = 0;  // tiles
  WinogradProducts forward_, weight_, data_;
  WinogradProducts more_weight_;  ///< Of chunks after the first: adds.
  int64_t right_bytes_ = 0, library_bytes_ = 0;
  bool fast_ = true;
};

}  // namespace

std::unique_ptr<ConvolutionKernel> WinogradOf(const ConvolutionShape& shape) {
  if (!FitsWinograd(shape) || shape.layout != Layout::kChannelsLast) return nullptr;
  auto kernel = std::make_unique<WinogradConvolution>(shape);
  if (!kernel->fast()) return nullptr;
  return kernel;
}

}  // namespace yoke::cpu
