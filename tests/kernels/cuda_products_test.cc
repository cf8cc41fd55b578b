// CUDA's kernels around products on the host's grid, beside the CPU's reference: how linear layers
// and convolutions ask their libraries, sparse rows, top scores.
#include "kernels/support/cuda_host.h"
//
#include "kernels/cuda/convolution.h"
#include "kernels/cuda/linear.h"
#include "kernels/cuda/sparse.h"
#include "kernels/cuda/top_scores.h"

namespace yoke::cuda_products_test {

using namespace cuda;  // NOLINT(google-build-using-namespace): it is what is tested

/// A product whose library has no epilogue that sums.
class NoSums : public HostGrid {
 public:
  class Product : public HostProduct {
   public:
    Product() = default;
    Product(const ProductShape& shape, const Target& target)
        : HostProduct(shape, target), made_(!shape.sums) {}
    bool made() const { return made_; }

   private:
    bool made_ = false;
  };
};

template <typename Grid>
void ExpectLinear(const LinearShape& shape) {
  const DType type = shape.type;
  const int64_t batch = shape.batch, in = shape.inputs, out = shape.outputs,
                wide = batch * shape.Stride();
  Elements x = Drawn(type, batch * in, 1), w = Drawn(type, out * in, 2), b = Drawn(type, out, 3);
  Elements y[2], dy[2], dx[2], dw[2], db[2];
  const auto reference = MakeLinear(shape, {.reference = true});
  LinearOn<Grid> ours(shape, {});
  ASSERT_TRUE(ours.made());
  Kernel<LinearCall>* const kernels[] = {&ours, reference.get()};
  for (int k = 0; k < 2; ++k) {
    y[k] = Elements(type, std::vector<float>(wide, 5));
    dy[k] = Drawn(type, wide, 4);
    dx[k] = Elements(type, batch * in);
    dw[k] = Drawn(DType::kF32, out * in, 5);
    db[k] = Elements(DType::kF32, out);
    std::vector<char> scratch(kernels[k]->scratch_bytes() + 64);
    const LinearCall call = {.input = x.data(),
                             .weight = w.data(),
                             .bias = b.data(),
                             .output = y[k].data(),
                             .output_gradient = dy[k].data(),
                             .input_gradient = shape.input_gradient ? dx[k].data() : nullptr,
                             .weight_gradient = dw[k].f32(),
                             .factor = -0.25F,
                             .bias_gradient = db[k].f32(),
                             .scratch = scratch.data()};
    kernels[k]->Forward(call);
    if (k == 0) y[1] = y[0];
    if (shape.training) kernels[k]->Backward(call);
  }
  Elements expected = Elements(type, std::vector<float>(wide, 5));
  std::vector<char> scratch(64);
  reference->Forward({.input = x.data(),
                      .weight = w.data(),
                      .bias = b.data(),
                      .output = expected.data(),
                      .scratch = scratch.data()});
  ExpectNear(y[0], expected, "output", 1e-4F);
  if (!shape.training) return;
  if (shape.input_gradient) ExpectNear(dx[0], dx[1], "gradient", 1e-4F);
  ExpectNear(dw[0], dw[1], "weight's", 1e-4F);
  if (shape.bias) ExpectNear(db[0], db[1], "bias's", 1e-4F);
  if (!shape.adds) {
    EXPECT_EQ(dy[0].Values(), dy[1].Values());
  }
}

TEST(CudaLinear, AsksForTheRightProducts) {
  for (const DType type : kFloats)
    for (const bool relu : {false, true})
      for (const bool bias : {false, true})
        for (const int64_t stride : {0, 40})
          for (const bool adds : {false, true}) {
            SCOPED_TRACE(testing::Message() << relu << bias << stride << adds);
            if (adds && stride) continue;
            const LinearShape shape = {.batch = 7,
                                       .inputs = 13,
                                       .outputs = 35,
                                       .type = type,
                                       .bias = bias,
                                       .relu = relu,
                                       .training = true,
                                       .input_gradient = true,
                                       .adds = adds,
                                       .stride = stride};
            ExpectLinear<HostGrid>(shape);
            ExpectLinear<NoSums>(shape);
          }
  ExpectLinear<HostGrid>({.batch = 3, .inputs = 4, .outputs = 5});
  // Columns are summed by chunks of rows.
  ExpectLinear<NoSums>({.batch = 3000, .inputs = 2, .outputs = 3, .training = true});
}

/// A library that has no convolution for some passes.
template <ConvolutionPass... Passes>
class Without : public HostGrid {
 public:
  class Convolver : public HostConvolver {
   public:
    Convolver() = default;
    Convolver(const ConvolutionShape& shape, ConvolutionPass pass, const Target& target)
        : HostConvolver(shape, pass, target), declines_(((pass == Passes) || ...)) {}
    bool made() const { return !declines_ && HostConvolver::made(); }

   private:
    bool declines_ = false;
  };
};

template <typename Grid = HostGrid>
void ExpectConvolution(const ConvolutionShape& shape, bool library, float tolerance = 1e-4F) {
  const DType type = shape.type;
  const int64_t weights = shape.Weight().Count();
  Elements x = Drawn(type, shape.Input().Count(), 1), w = Drawn(type, weights, 2),
           b = Drawn(type, shape.outputs, 3);
  Elements y[2], dy[2], dx[2], dw[2], db[2];
  const auto reference = MakeConvolution(shape, {.reference = true});
  ConvolutionOn<Grid> ours(shape, {}, library);
  if (std::is_same_v<Grid, HostGrid>) {
    EXPECT_EQ(ours.name(), library && shape.layout == Layout::kChannelsLast ? "cudnn" : "cuda");
  }
  Kernel<ConvolutionCall>* const kernels[] = {&ours, reference.get()};
  for (int k = 0; k < 2; ++k) {
    if (k == 0) y[0] = Elements(type, shape.Output().Count());
    dy[k] = Drawn(type, shape.Output().Count(), 4);
    dx[k] = Elements(type, shape.Input().Count());
    dw[k] = Elements(DType::kF32, weights);
    db[k] = Elements(DType::kF32, shape.outputs);
    std::vector<char> scratch(kernels[k]->scratch_bytes() + 64);
    const ConvolutionCall call = {.input = x.data(),
                                  .weight = w.data(),
                                  .bias = b.data(),
                                  .output = y[0].data(),  // one mask for both
                                  .output_gradient = dy[k].data(),
                                  .input_gradient = dx[k].data(),
                                  .weight_gradient = dw[k].f32(),
                                  .bias_gradient = db[k].f32(),
                                  .scratch = scratch.data()};
    if (k == 0) kernels[k]->Forward(call);
    kernels[k]->Backward(call);
  }
  y[1] = Elements(type, shape.Output().Count());
  reference->Forward(
      {.input = x.data(), .weight = w.data(), .bias = b.data(), .output = y[1].data()});
  ExpectNear(y[0], y[1], "output", 1e-4F);
  ExpectNear(dx[0], dx[1], "gradient", 1e-4F);
  ExpectNear(dw[0], dw[1], "weight's", tolerance);
  if (shape.bias) ExpectNear(db[0], db[1], "bias's", 1e-4F);
  EXPECT_EQ(dy[0].Values(), dy[1].Values());
}

/// With a square window of this size.
ConvolutionShape ShapeOf(int64_t size, DType type) {
  const Window window = {.size = size, .stride = 1, .padding = size / 2};
  return {.batch = 2,
          .channels = 4,
          .height = 6,
          .width = 5,
          .outputs = 8,
          .rows = window,
          .columns = window,
          .type = type,
          .layout = Layout::kChannelsLast,
          .bias = true,
          .relu = true,
          .training = true,
          .input_gradient = true};
}

TEST(CudaConvolution, WhatTheLibraryDeclinesIsOurs) {
  using enum ConvolutionPass;
  for (const DType type : kFloats)
    for (const int64_t size : {1, 3}) {
      const ConvolutionShape shape = ShapeOf(size, type);
      ExpectConvolution<Without<kForwardBias>>(shape, true);
      ExpectConvolution<Without<kForward, kForwardBias>>(shape, true);
      ExpectConvolution<Without<kInput>>(shape, true);
      ExpectConvolution<Without<kWeight>>(shape, true, type == DType::kBf16 ? 1e-2F : 1e-4F);
      ExpectConvolution<Without<kWeight, kNarrowWeight>>(shape, true);
    }
}

TEST(CudaConvolution, WithoutTheLibraryHasNoPlaceForTurnedWeights) {
  using enum ConvolutionPass;
  const ConvolutionShape shape = ShapeOf(3, DType::kF32);
  using None = Without<kForward, kForwardBias, kInput, kWeight, kNarrowWeight>;
  EXPECT_EQ(ConvolutionOn<None>(shape, {}).scratch_bytes(),
            ConvolutionOn<None>(shape, {}, false).scratch_bytes());
  EXPECT_GT(ConvolutionOn<HostGrid>(shape, {}).scratch_bytes(),
            ConvolutionOn<None>(shape, {}).scratch_bytes());
}

TEST(CudaConvolution, OfEveryForm) {
  const Window plain = {.size = 3, .stride = 1, .padding = 1}, one = {},
               strided = {.size = 3, .stride = 2, .padding = 1},
               uneven = {.size = 2, .stride = 2, .padding = 0, .more_padding = 1},
               apart = {.size = 3, .stride = 1, .padding = 2, .dilation = 2};
  for (const DType type : kFloats)
    for (const Layout layout : kLayouts)
      for (const Window& rows : {plain, one, strided, uneven, apart})
        for (const int64_t groups : {1, 2, 4})
          for (const bool library : {false, true})
            for (const bool bias : {false, true}) {
              SCOPED_TRACE(testing::Message() << cuda::NameOf(type, layout) << groups << library
                                              << bias << rows.size << rows.stride);
              ExpectConvolution({.batch = 2,
                                 .channels = 4,
                                 .height = 6,
                                 .width = 5,
                                 .outputs = 8,
                                 .groups = groups,
                                 .rows = rows,
                                 .columns = groups == 2 ? one : rows,
                                 .type = type,
                                 .layout = layout,
                                 .bias = bias,
                                 .relu = bias,
                                 .training = true,
                                 .input_gradient = true},
                                library);
            }
}

TEST(CudaSparse, SumsAndTouchesRows) {
  const int64_t offsets[] = {2, 5, 5, 7, 8};
  const int32_t ids[] = {9, 9, 3, 0, 7, 3, 1, 7};
  const std::vector<float> values = {9, 9, 0.5F, -1, 2, 1, 3, -2};
  for (const int64_t outputs : {1, 3, 40})
    for (const bool relu : {false, true})
      for (const bool bf16 : {false, true})
        for (const bool valued : {false, true}) {
          const SparseLinearShape shape = {
              .features = 8, .outputs = outputs, .bias = relu || bf16, .relu = relu};
          const SparseRows input = {.rows = 4,
                                    .width = 8,
                                    .offsets = offsets,
                                    .ids = ids,
                                    .values = valued ? values.data() : nullptr};
          TouchedRowList list;
          std::vector<int32_t> touched_ids;
          const TouchedRows touched = list.Find(input, 8, touched_ids);
          ASSERT_EQ(touched.count, 4);
          Elements w = Drawn(DType::kF32, 8 * outputs, 1), b = Drawn(DType::kF32, outputs, 2),
                   low = Drawn(DType::kBf16, 8 * outputs, 1), y[2], dy[2], db[2], rows[2];
          const auto reference = MakeSparseLinear(shape, {.reference = true});
          SparseLinearOn<HostGrid> ours(shape, {});
          Kernel<SparseLinearCall>* const kernels[] = {&ours, reference.get()};
          for (int k = 0; k < 2; ++k) {
            y[k] = Elements(DType::kF32, 4 * outputs);
            dy[k] = Drawn(DType::kF32, 4 * outputs, 3);
            db[k] = Elements(DType::kF32, outputs);
            rows[k] = Elements(DType::kF32, touched.count * outputs);
            const SparseLinearCall call = {
                .input = input,
                .weight = bf16 ? nullptr : w.f32(),
                .bf16_weight = bf16 ? static_cast<const Bf16*>(low.data()) : nullptr,
                .bias = b.f32(),
                .output = y[k].f32(),
                .output_gradient = dy[k].f32(),
                .bias_gradient = db[k].f32(),
                .touched = touched,
                .row_values = rows[k].f32()};
            kernels[k]->Forward(call);
            kernels[k]->Backward(call);
          }
          ExpectNear(y[0], y[1], "output");
          EXPECT_EQ(dy[0].Values(), dy[1].Values());
          ExpectNear(rows[0], rows[1], "rows");
          if (shape.bias) ExpectNear(db[0], db[1], "bias's");
        }
}

TEST(CudaTopScores, MergesBlocks) {
  for (const auto& [type, weights] :
       {std::pair{DType::kF32, DType::kF32}, std::pair{DType::kBf16, DType::kBf16},
        std::pair{DType::kF32, DType::kBf16}})
    for (const ScoreSum sum : {ScoreSum::kNone, ScoreSum::kLogExp, ScoreSum::kSoftplus})
      for (const int64_t block : {1, 16, 37, 100})
        for (const int64_t top : {0, 1, 5, 37}) {
          SCOPED_TRACE(testing::Message() << block << ' ' << top);
          const TopScoresShape shape = {.batch = 3,
                                        .inputs = 4,
                                        .outputs = 37,
                                        .type = type,
                                        .weight_type = weights,
                                        .top = top,
                                        .sum = sum};
          // Small integers: many ties, and sums without rounding.
          std::vector<float> x = {1, -1, 2, 0, 0, 0, 0, 0, 1, 1, 1, -2}, w, b;
          for (int i = 0; i < 37 * 4; ++i) w.push_back(static_cast<float>(i * 7 % 5 - 2));
          for (int i = 0; i < 37; ++i) b.push_back(static_cast<float>(i % 3));
          b[11] = std::numeric_limits<float>::quiet_NaN();
          Elements input(DType::kF32, x), weight(weights, w), bias(type, b);
          const int64_t offsets[] = {1, 3, 3, 6};
          const int32_t ids[] = {0, 36, 0, 5, 16, 11};
          std::vector<int32_t> best[2];
          Elements scores[2], wanted[2];
          std::vector<double> sums[2];
          const auto reference = MakeTopScores(shape, {.reference = true});
          TopScoresOn<HostGrid> ours(shape, {}, block);
          Kernel<TopScoresCall>* const kernels[] = {&ours, reference.get()};
          for (int k = 0; k < 2; ++k) {
            best[k].resize(3 * top + 1, 99);
            sums[k].resize(3, 7);
            scores[k] = Elements(DType::kF32, 3 * top);
            wanted[k] = Elements(DType::kF32, 5);
            kernels[k]->Forward({.input = input.f32(),
                                 .weight = weight.data(),
                                 .bias = bias.data(),
                                 .wanted = {.rows = 3, .width = 37, .offsets = offsets, .ids = ids},
                                 .ids = best[k].data(),
                                 .scores = scores[k].f32(),
                                 .sums = sums[k].data(),
                                 .wanted_scores = wanted[k].f32()});
          }
          EXPECT_EQ(best[0], best[1]);
          EXPECT_EQ(scores[0].Values(), scores[1].Values());
          ExpectNear(wanted[0], wanted[1], "wanted");
          for (int n = 0; n < 3; ++n)
            EXPECT_EQ(std::isnan(sums[0][n]), sum != ScoreSum::kNone) << sums[1][n];
        }
}

TEST(CudaTopScores, SumsAllScores) {
  for (const ScoreSum sum : {ScoreSum::kLogExp, ScoreSum::kSoftplus}) {
    const TopScoresShape shape = {.batch = 2, .inputs = 3, .outputs = 700, .sum = sum};
    Elements x = Drawn(DType::kF32, 6, 1), w = Drawn(DType::kF32, 2100, 2), scores[2];
    std::vector<double> sums[2];
    std::vector<int32_t> ids[2];
    const auto reference = MakeTopScores(shape, {.reference = true});
    TopScoresOn<HostGrid> ours(shape, {}, 300);
    Kernel<TopScoresCall>* const kernels[] = {&ours, reference.get()};
    for (int k = 0; k < 2; ++k) {
      sums[k].resize(2);
      ids[k].resize(2);
      scores[k] = Elements(DType::kF32, 2);
      kernels[k]->Forward({.input = x.f32(),
                           .weight = w.f32(),
                           .ids = ids[k].data(),
                           .scores = scores[k].f32(),
                           .sums = sums[k].data()});
    }
    EXPECT_EQ(ids[0], ids[1]);
    for (int n = 0; n < 2; ++n) EXPECT_NEAR(sums[0][n], sums[1][n], 1e-5 * sums[1][n]);
  }
}

}  // namespace yoke::cuda_products_test
