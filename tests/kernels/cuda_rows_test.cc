// CUDA's kernels of rows, losses, vectors and norms on the host's grid, beside the CPU's.
#include "kernels/support/cuda_host.h"
//
#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/local_response_norm.h"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/vectors.h"

namespace yoke::cuda_rows_test {

using namespace cuda;  // NOLINT(google-build-using-namespace): it is what is tested

TEST(CudaRows, LayerNorm) {
  for (const DType type : kFloats)
    for (const int64_t columns : {5, 33, 300})
      for (const bool plain : {false, true}) {
        const LayerNormShape shape = {.rows = 37, .columns = columns, .type = type};
        const int64_t n = shape.rows * columns;
        Elements x = Drawn(type, n, 1), dy = Drawn(type, n, 2), w = Drawn(DType::kF32, columns, 3),
                 b = Drawn(DType::kF32, columns, 4), y[2], dx[2], dw[2], db[2], saved[2];
        const auto cpu = MakeLayerNorm(shape);
        LayerNormOn<HostGrid> ours(shape, {});
        Kernel<LayerNormCall>* const kernels[] = {&ours, cpu.get()};
        for (int k = 0; k < 2; ++k) {
          y[k] = Elements(type, n);
          dx[k] = dy;  // in place
          dw[k] = db[k] = Elements(DType::kF32, columns);
          saved[k] = Elements(DType::kF32, 2 * shape.rows);
          const LayerNormCall call = {.input = x.data(),
                                      .output = y[k].data(),
                                      .weight = plain ? nullptr : w.f32(),
                                      .bias = plain ? nullptr : b.f32(),
                                      .saved = saved[k].f32(),
                                      .weight_gradient = dw[k].f32(),
                                      .bias_gradient = db[k].f32(),
                                      .output_gradient = dx[k].data(),
                                      .input_gradient = dx[k].data()};
          kernels[k]->Forward(call);
          kernels[k]->Backward(call);
        }
        ExpectNear(y[0], y[1], "output");
        ExpectNear(dx[0], dx[1], "gradient", 1e-4F);
        ExpectNear(dw[0], dw[1], "weight's", 1e-4F);
        ExpectNear(db[0], db[1], "bias's", 1e-4F);
      }
}

TEST(CudaRows, CrossEntropies) {
  for (const auto function : {CrossEntropy::kSoftmax, CrossEntropy::kSigmoid})
    for (const int64_t outputs : {1, 7, 500})
      for (const bool sets : {false, true}) {
        const CrossEntropyShape shape = {
            .function = function, .batch = 4, .outputs = outputs, .mean_over = 6};
        Elements scores = Drawn(DType::kF32, 4 * outputs, 1), losses[2], gradient[2];
        scores.f32()[0] = 90;
        scores.f32()[4 * outputs - 1] = std::numeric_limits<float>::quiet_NaN();
        const auto last = static_cast<int32_t>(outputs - 1);
        const int32_t classes[] = {0, last, last / 2, 0};
        const int64_t offsets[] = {0, 2, 2, 3, 4};
        const int32_t ids[] = {0, last, last, last};
        Labels labels;
        if (sets)
          labels.sets = {.rows = 4, .width = outputs, .offsets = offsets, .ids = ids};
        else
          labels.classes = classes;
        const auto reference = MakeCrossEntropy(shape, {.reference = true});
        CrossEntropyOn<HostGrid> ours(shape, {});
        Kernel<CrossEntropyCall>* const kernels[] = {&ours, reference.get()};
        for (int k = 0; k < 2; ++k) {
          losses[k] = Elements(DType::kF32, 4);
          gradient[k] = Elements(DType::kF32, 4 * outputs);
          const CrossEntropyCall call = {scores.f32(), labels, losses[k].f32(), gradient[k].f32()};
          kernels[k]->Forward(call);
          kernels[k]->Backward(call);
        }
        ExpectNear(losses[0], losses[1], "losses", 1e-6F);
        ExpectNear(gradient[0], gradient[1], "gradient", 1e-6F);
        EXPECT_TRUE(std::isnan(losses[0].f32()[3]) || outputs == 1);
      }
}

TEST(CudaRows, RegressionLosses) {
  for (const auto function : {RegressionLoss::kSquared, RegressionLoss::kAbsolute,
                              RegressionLoss::kHuber, RegressionLoss::kQuantile})
    for (const int64_t outputs : {1, 40, 90}) {
      const RegressionLossShape shape = {function, 0.7, 3, outputs};
      const int64_t n = 3 * outputs;
      Elements scores = Drawn(DType::kF32, n, 1), targets = Drawn(DType::kF32, n, 2), losses[2],
               gradient[2];
      targets.f32()[0] = scores.f32()[0];
      scores.f32()[n - 1] = std::numeric_limits<float>::quiet_NaN();
      const auto cpu = MakeRegressionLoss(shape);
      RegressionLossOn<HostGrid> ours(shape, {});
      Kernel<RegressionLossCall>* const kernels[] = {&ours, cpu.get()};
      for (int k = 0; k < 2; ++k) {
        losses[k] = Elements(DType::kF32, 3);
        gradient[k] = Elements(DType::kF32, n);
        const RegressionLossCall call = {scores.f32(), targets.f32(), losses[k].f32(),
                                         gradient[k].f32()};
        kernels[k]->Forward(call);
        kernels[k]->Backward(call);
      }
      ExpectNear(losses[0], losses[1], "losses", 1e-6F);
      EXPECT_EQ(gradient[0].Values().front(), gradient[1].Values().front());
      ExpectNear(gradient[0], gradient[1], "gradient", 1e-7F);
    }
}

TEST(CudaRows, StepLossesAddUpAndStop) {
  StepLossOn<HostGrid> kernel({}, {});
  const std::vector<float> losses = {1, 2, 6};
  double loss = 0, stop = 0;
  kernel.Forward({losses.data(), 3, true, false, &loss, &stop});
  EXPECT_EQ(loss, 9);
  kernel.Forward({losses.data(), 3, false, true, &loss, &stop});
  EXPECT_EQ(loss, 6);
  EXPECT_EQ(stop, 0);
  for (const float wrong :
       {-1.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    stop = 0;
    kernel.Forward({&wrong, 1, true, true, &loss, &stop});
    EXPECT_EQ(stop, 1) << wrong;
    EXPECT_FALSE(IsPossibleLoss(loss));
  }
}

TEST(CudaRows, Vectors) {
  using Operation = VectorCall::Operation;
  const auto cpu = MakeVectors();
  VectorsOn<HostGrid> ours({}, {});
  Kernel<VectorCall>* const kernels[] = {&ours, cpu.get()};
  for (const int64_t n : {0, 1, 300, 5000, 100000})
    for (int operation = 0; operation <= static_cast<int>(Operation::kFirstNonFinite);
         ++operation) {
      SCOPED_TRACE(operation);
      Elements p = Drawn(DType::kF32, n, 2), q = Drawn(DType::kF32, n, 3), y[2];
      double result[2] = {3, 3};
      for (int k = 0; k < 2; ++k) {
        y[k] = Drawn(DType::kF32, n, 1);
        kernels[k]->Forward({.operation = static_cast<Operation>(operation),
                             .y = y[k].f32(),
                             .a = 0.3F,
                             .p = p.f32(),
                             .q = q.f32(),
                             .n = 4,
                             .count = n,
                             .result = &result[k]});
      }
      ExpectNear(y[0], y[1], "vector", 1e-6F);
      EXPECT_NEAR(result[0], result[1], 1e-9 * std::abs(result[1]));
    }
  Elements x = Drawn(DType::kF32, 100000, 1);
  x.f32()[77777] = -std::numeric_limits<float>::infinity();
  x.f32()[54321] = std::numeric_limits<float>::quiet_NaN();
  double place = 0;
  ours.Forward(
      {.operation = Operation::kFirstNonFinite, .p = x.f32(), .count = 100000, .result = &place});
  EXPECT_EQ(place, 54321);
}

void ExpectBatchNorm(const BatchNormShape& shape, bool more, bool in_place) {
  const DType type = shape.type;
  const int64_t n = shape.Count(), channels = shape.channels;
  std::vector<float> far = Normals(n, 1);
  for (float& value : far) value = 3 * value + 10;  // the mean is far from 0
  Elements x(type, far), z = Drawn(type, n, 2), w = Drawn(DType::kF32, channels, 4),
                         b = Drawn(DType::kF32, channels, 5), m = Drawn(type, n, 6);
  Elements y[2], dy[2], dx[2], dz[2], dw[2], db[2], saved[2], mean[2], variance[2];
  const auto reference = MakeBatchNorm(shape, {.reference = true});
  BatchNormOn<HostGrid> ours(shape, {});
  Kernel<BatchNormCall>* const kernels[] = {&ours, reference.get()};
  for (int k = 0; k < 2; ++k) {
    y[k] = dx[k] = dz[k] = Elements(type, n);
    dy[k] = Drawn(type, n, 3);
    dw[k] = db[k] = Elements(DType::kF32, channels);
    saved[k] = Elements(DType::kF32, 4 * channels);
    mean[k] = Drawn(DType::kF32, channels, 7);
    variance[k] = Elements(DType::kF32, std::vector<float>(channels, 2));
    std::vector<char> scratch(kernels[k]->scratch_bytes());
    const BatchNormCall call = {
        .input = x.data(),
        .addend = z.data(),
        .output = y[k].data(),
        .weight = w.f32(),
        .bias = b.f32(),
        .running_mean = mean[k].f32(),
        .running_variance = variance[k].f32(),
        .moved_mean = shape.training ? mean[k].f32() : nullptr,
        .moved_variance = shape.training ? variance[k].f32() : nullptr,
        .weight_gradient = dw[k].f32(),
        .bias_gradient = db[k].f32(),
        .output_gradient = dy[k].data(),
        .more_gradient = more ? m.data() : nullptr,
        .input_gradient = in_place && !shape.add ? dy[k].data() : dx[k].data(),
        .addend_gradient = !shape.add ? nullptr
                           : in_place ? dy[k].data()
                                      : dz[k].data(),
        .saved = saved[k].f32(),
        .scratch = scratch.data()};
    kernels[k]->Forward(call);
    if (shape.training) kernels[k]->Backward(call);
    if (in_place) (shape.add ? dz[k] : dx[k]) = dy[k];
  }
  const float tolerance = type == DType::kBf16 ? 0.05F : 1e-4F;
  ExpectNear(y[0], y[1], "output", 2e-5F);
  if (!shape.training) return;
  ExpectNear(saved[0], saved[1], "moments", 2e-5F);
  ExpectNear(mean[0], mean[1], "running mean");
  ExpectNear(variance[0], variance[1], "running variance", 1e-4F);
  if (type == DType::kBf16 && shape.relu) return;  // a mask may differ in an element next to 0
  ExpectNear(dx[0], dx[1], "gradient", tolerance);
  if (shape.add) ExpectNear(dz[0], dz[1], "addend's", tolerance);
  ExpectNear(dw[0], dw[1], "weight's", tolerance);
  ExpectNear(db[0], db[1], "bias's", tolerance);
}

TEST(CudaNorms, BatchNorm) {
  for (const DType type : kFloats)
    for (const Layout layout : kLayouts)
      for (const bool training : {false, true})
        for (const bool add : {false, true})
          for (const bool relu : {false, true})
            for (const bool more : {false, true}) {
              SCOPED_TRACE(testing::Message()
                           << cuda::NameOf(type, layout) << training << add << relu << more);
              const BatchNormShape shape = {.batch = 5,
                                            .channels = more ? 40 : 35,  // whole packs, or none
                                            .pixels = 12,
                                            .type = type,
                                            .layout = layout,
                                            .training = training,
                                            .add = add,
                                            .relu = relu};
              ExpectBatchNorm(shape, more, !more);
            }
}

TEST(CudaNorms, BatchNormOfManyRowsAndOfOne) {
  ExpectBatchNorm({.batch = 20, .channels = 3, .pixels = 100, .training = true}, false, false);
  ExpectBatchNorm({.batch = 1, .channels = 3, .pixels = 1, .training = true}, false, false);
}

TEST(CudaNorms, LocalResponseNorm) {
  for (const DType type : kFloats)
    for (const Layout layout : kLayouts)
      for (const int64_t size : {1, 5, 21}) {
        const LocalResponseNormShape shape = {.batch = 2,
                                              .channels = 9,
                                              .pixels = 7,
                                              .type = type,
                                              .layout = layout,
                                              .size = size,
                                              .alpha = 0.5};
        Elements x = Drawn(type, shape.Count(), 1), dy[2], y[2];
        const auto reference = MakeLocalResponseNorm(shape, {.reference = true});
        LocalResponseNormOn<HostGrid> ours(shape, {});
        Kernel<LocalResponseNormCall>* const kernels[] = {&ours, reference.get()};
        for (int k = 0; k < 2; ++k) {
          y[k] = Elements(type, shape.Count());
          dy[k] = Drawn(type, shape.Count(), 2);
          std::vector<char> scratch(kernels[k]->scratch_bytes());
          const LocalResponseNormCall call = {x.data(), y[k].data(), dy[k].data(), dy[k].data(),
                                              scratch.data()};
          kernels[k]->Forward(call);
          if (k == 1) dy[k] = Elements(type, shape.Count());
          Elements gradient = Drawn(type, shape.Count(), 2);
          LocalResponseNormCall back = call;
          back.output_gradient = k == 0 ? dy[k].data() : gradient.data();
          back.input_gradient = dy[k].data();
          kernels[k]->Backward(back);
        }
        ExpectNear(y[0], y[1], "output");
        ExpectNear(dy[0], dy[1], "gradient, in place");
      }
}

}  // namespace yoke::cuda_rows_test
