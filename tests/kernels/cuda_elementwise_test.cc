// CUDA's kernels of elements and images on the host's grid, beside the CPU's.
#include "kernels/support/cuda_host.h"
//
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/images.h"
#include "kernels/cuda/pooling.h"

namespace yoke::cuda_elementwise_test {

using namespace cuda;  // NOLINT(google-build-using-namespace): it is what is tested

TEST(CudaElementwise, Activations) {
  for (const DType type : kFloats)
    for (const auto function : {Activation::kRelu, Activation::kSigmoid, Activation::kTanh}) {
      const int64_t n = 1003;
      const ActivationShape shape = {.function = function, .count = n, .type = type};
      Elements x = Drawn(type, n, 1), dy = Drawn(type, n, 2), y[2], dx[2];
      const auto reference = MakeActivation(shape, {.reference = true});
      ActivationOn<HostGrid> ours(shape, {});
      Kernel<ActivationCall>* const kernels[] = {&ours, reference.get()};
      for (int k = 0; k < 2; ++k) {
        y[k] = dx[k] = Elements(type, n);
        const ActivationCall call = {x.data(), y[k].data(), dy.data(), dx[k].data()};
        kernels[k]->Forward(call);
        kernels[k]->Backward(call);
      }
      ExpectNear(y[0], y[1], "output");
      ExpectNear(dx[0], dx[1], "gradient");
    }
}

/// A function of the layers beside its formula in double.
void ExpectFunction(const NamedFunction& function, double (*value)(double, double, double),
                    bool smooth = true) {
  SCOPED_TRACE(function.name);
  ASSERT_NE(FunctionOf(function.name), Function::kNone);
  const double a = function.parameters[0], b = function.parameters[1];
  std::vector<float> x;
  for (int i = -400; i <= 400; ++i) x.push_back(static_cast<float>(i) / 50 + 0.003F);
  const auto n = static_cast<int64_t>(x.size());
  Elements input(DType::kF32, x), ones(DType::kF32, std::vector<float>(x.size(), 1)),
      y(DType::kF32, n), dx(DType::kF32, n);
  ElementwiseOn<HostGrid> kernel(function, {});
  const ElementwiseCall call = {input.Of({n}), y.Of({n}), ones.Of({n}), dx.Of({n})};
  kernel.Forward(call);
  kernel.Backward(call);
  for (int64_t i = 0; i < n; ++i) {
    const double at = x[i], step = 1e-5;
    EXPECT_NEAR(y.f32()[i], value(at, a, b), 2e-6 * std::max(1.0, std::abs(at))) << at;
    const double slope = (value(at + step, a, b) - value(at - step, a, b)) / (2 * step);
    EXPECT_NEAR(dx.f32()[i], slope, smooth ? 1e-5 : 2e-5) << at;
  }
}

TEST(CudaElementwise, Functions) {
  const auto sigmoid = [](double x, double, double) { return x / (1 + std::exp(-x)); };
  ExpectFunction({"silu"}, sigmoid);
  ExpectFunction({"gelu"}, [](double x, double, double) {
    return x * (1 + std::erf(x / std::sqrt(2.0))) / 2;
  });
  ExpectFunction({"gelu by tanh"}, [](double x, double, double) {
    return x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) / 2;
  });
  ExpectFunction({"leaky_relu", {0.1F}},
                 [](double x, double a, double) { return x < 0 ? a * x : x; });
  ExpectFunction({"clip", {-1, 2}},
                 [](double x, double a, double b) { return std::min(std::max(x, a), b); });
  ExpectFunction({"hard_swish"}, [](double x, double, double) {
    return x * std::min(std::max(x + 3, 0.0), 6.0) / 6;
  });
  ExpectFunction({"hard_sigmoid", {0.2F, 0.5F}}, [](double x, double a, double b) {
    return std::min(std::max(a * x + b, 0.0), 1.0);
  });
}

TEST(CudaElementwise, Sums) {
  for (const DType type : kFloats)
    for (const int count : {1, 2, 8, 9, 17}) {
      const int64_t n = 77;
      std::vector<Elements> inputs;
      std::vector<float> sums(n);
      std::vector<Tensor> tensors;
      for (int k = 0; k < count; ++k) inputs.push_back(Drawn(type, n, k));
      for (Elements& input : inputs) {
        tensors.push_back(input.Of({n}));
        const std::vector<float> values = input.Values();
        for (int64_t i = 0; i < n; ++i) sums[i] += values[i];
      }
      for (float& sum : sums) sum = std::max(sum, 0.0F);
      // In place: in the last of the inputs.
      SumOn<HostGrid>({.relu = true}, {}).Forward({tensors, tensors.back()});
      ExpectNear(inputs.back(), Elements(type, sums), "sum", type == DType::kBf16 ? 0.05F : 2e-5F);
    }
}

TEST(CudaElementwise, WeighsRowsAndConverts) {
  Elements values = Drawn(DType::kF32, 12, 1), same = values, weights = Drawn(DType::kF32, 3, 2);
  WeighRowsOn<HostGrid>({}, {}).Forward({values.f32(), weights.f32(), 3, 4});
  MakeWeighRows()->Forward({same.f32(), weights.f32(), 3, 4});
  ExpectNear(values, same, "rows");
  const Shape shape = {2, 3, 4, 5};
  for (const DType from : kFloats)
    for (const DType to : kFloats)
      for (const Layout a : kLayouts)
        for (const Layout b : kLayouts) {
          Elements x = Drawn(from, shape.Count(), 1), ours(to, shape.Count()), reference = ours;
          ConvertOn<HostGrid>({}, {}).Forward({x.Of(shape, a), ours.Of(shape, b)});
          Convert(x.Of(shape, a), reference.Of(shape, b));
          EXPECT_EQ(ours.Values(), reference.Values());
        }
}

TEST(CudaElementwise, DropoutDrawsWhatTheCpuDraws) {
  for (const DType type : kFloats) {
    const DropoutShape shape = {.batch = 5, .count = 37, .type = type, .keep = 0.7};
    const int64_t n = shape.batch * shape.count;
    const std::vector<int64_t> examples = {7, 3, 1000000007, 0, 2};
    const int64_t epoch = 3;
    for (const bool named : {false, true}) {
      Elements x = Drawn(type, n, 1), y[2];
      std::vector<uint8_t> mask[2];
      const auto cpu = MakeDropout(shape);
      DropoutOn<HostGrid> ours(shape, {});
      Kernel<DropoutCall>* const kernels[] = {&ours, cpu.get()};
      for (int k = 0; k < 2; ++k) {
        y[k] = Elements(type, n);
        mask[k].resize(n, 9);
        const DropoutCall call = {.seed = 5,
                                  .layer = 2,
                                  .epoch = &epoch,
                                  .examples = named ? examples.data() : nullptr,
                                  .mask = mask[k].data(),
                                  .from = x.data(),
                                  .to = y[k].data()};
        kernels[k]->Forward(call);
        kernels[k]->Backward(call);
      }
      EXPECT_EQ(mask[0], mask[1]);
      EXPECT_EQ(y[0].Values(), y[1].Values());
    }
  }
}

TEST(CudaImages, PadsShufflesAndTakesShortcuts) {
  for (const DType type : kFloats)
    for (const Layout layout : kLayouts) {
      SCOPED_TRACE(cuda::NameOf(type, layout));
      const Shape small = {2, 6, 3, 4}, padded = {2, 6, 7, 6};
      Elements x = Drawn(type, small.Count(), 1), y[2], back[2];
      const PadShape pad = {.top = 3, .left = 1, .value = -2};
      const auto cpu = MakePad(pad);
      PadOn<HostGrid> ours(pad, {});
      Kernel<PadCall>* const pads[] = {&ours, cpu.get()};
      const auto cpu_shuffle = MakeShuffle(3);
      ShuffleOn<HostGrid> our_shuffle({3}, {});
      Kernel<ShuffleCall>* const shuffles[] = {&our_shuffle, cpu_shuffle.get()};
      for (int k = 0; k < 2; ++k) {
        y[k] = Elements(type, padded.Count());
        back[k] = Elements(type, small.Count());
        pads[k]->Forward({x.Of(small, layout), y[k].Of(padded, layout)});
        pads[k]->Backward({back[k].Of(small, layout), y[k].Of(padded, layout)});
      }
      EXPECT_EQ(y[0].Values(), y[1].Values());
      EXPECT_EQ(back[0].Values(), x.Values());
      for (int k = 0; k < 2; ++k) {
        shuffles[k]->Forward({x.Of(small, layout), back[k].Of(small, layout)});
        y[k] = Elements(type, small.Count());
        shuffles[k]->Backward({back[k].Of(small, layout), y[k].Of(small, layout)});
      }
      EXPECT_EQ(back[0].Values(), back[1].Values());
      EXPECT_EQ(y[0].Values(), x.Values());
      const ShortcutShape shape = {.batch = 2,
                                   .channels = 3,
                                   .height = 5,
                                   .width = 4,
                                   .outputs = 5,
                                   .stride = 2,
                                   .type = type,
                                   .layout = layout};
      Elements from = Drawn(type, shape.Input().Count(), 1),
               gradient = Drawn(type, shape.Output().Count(), 2), to[2], dx[2];
      const auto reference = MakeShortcut(shape);
      ShortcutOn<HostGrid> shortcut(shape, {});
      Kernel<ShortcutCall>* const shortcuts[] = {&shortcut, reference.get()};
      for (int k = 0; k < 2; ++k) {
        to[k] = Elements(type, shape.Output().Count());
        dx[k] = Elements(type, shape.Input().Count());
        const ShortcutCall call = {from.data(), to[k].data(), gradient.data(), dx[k].data()};
        shortcuts[k]->Forward(call);
        shortcuts[k]->Backward(call);
      }
      EXPECT_EQ(to[0].Values(), to[1].Values());
      EXPECT_EQ(dx[0].Values(), dx[1].Values());
    }
}

TEST(CudaImages, ConcatenatesAndTakesApart) {
  for (const DType type : kFloats)
    for (const Layout layout : kLayouts) {
      const Shape shapes[] = {{2, 3, 2, 2}, {2, 1, 2, 2}, {2, 4, 2, 2}}, whole = {2, 8, 2, 2};
      Elements out[2];
      for (int k = 0; k < 2; ++k) {
        std::vector<Elements> parts;
        std::vector<Tensor> tensors;
        for (const Shape& shape : shapes) parts.push_back(Drawn(type, shape.Count(), 4));
        for (int p = 0; p < 3; ++p) tensors.push_back(parts[p].Of(shapes[p], layout));
        out[k] = Elements(type, std::vector<float>(whole.Count(), 5));
        const auto cpu = MakeConcatenate();
        ConcatenateOn<HostGrid> ours({}, {});
        Kernel<ConcatenateCall>* const kernels[] = {&ours, cpu.get()};
        kernels[k]->Forward({tensors, out[k].Of(whole, layout)});
        for (Elements& part : parts) part = Elements(type, std::ssize(part.Values()));
        for (int p = 0; p < 3; ++p) tensors[p] = parts[p].Of(shapes[p], layout);
        tensors[1].data = nullptr;
        kernels[k]->Backward({tensors, out[k].Of(whole, layout)});
        EXPECT_EQ(parts[2].Values(), Drawn(type, shapes[2].Count(), 4).Values());
        EXPECT_TRUE(std::isnan(parts[1].Values()[0]));
      }
      EXPECT_EQ(out[0].Values(), out[1].Values());
    }
}

TEST(CudaImages, MultipliesAndAverages) {
  for (const DType type : kFloats)
    for (const Layout layout : kLayouts)
      for (const bool gated : {false, true}) {
        SCOPED_TRACE(cuda::NameOf(type, layout));
        const Shape shape = {2, 5, 9, 8}, gate = gated ? Shape{2, 5} : shape;
        Elements x = Drawn(type, shape.Count(), 1), g = Drawn(type, gate.Count(), 2),
                 dy = Drawn(type, shape.Count(), 3), y[2], dx[2], dg[2], mean[2], spread[2];
        const auto cpu = MakeMultiply();
        const auto average = MakeGlobalAverage();
        MultiplyOn<HostGrid> ours({}, {});
        GlobalAverageOn<HostGrid> our_average({}, {});
        Kernel<MultiplyCall>* const kernels[] = {&ours, cpu.get()};
        Kernel<GlobalAverageCall>* const averages[] = {&our_average, average.get()};
        for (int k = 0; k < 2; ++k) {
          y[k] = spread[k] = dx[k] = Elements(type, shape.Count());
          dg[k] = Elements(type, gate.Count());
          mean[k] = Elements(type, 10);
          const MultiplyCall call = {x.Of(shape, layout),     g.Of(gate, layout),
                                     y[k].Of(shape, layout),  dy.Of(shape, layout),
                                     dx[k].Of(shape, layout), dg[k].Of(gate, layout)};
          kernels[k]->Forward(call);
          kernels[k]->Backward(call);
          averages[k]->Forward({x.Of(shape, layout), mean[k].Of({2, 5})});
          averages[k]->Backward({spread[k].Of(shape, layout), mean[k].Of({2, 5})});
        }
        ExpectNear(y[0], y[1], "product");
        ExpectNear(dx[0], dx[1], "its gradient");
        ExpectNear(dg[0], dg[1], "the gate's");
        ExpectNear(mean[0], mean[1], "mean");
        ExpectNear(spread[0], spread[1], "its gradient");
      }
}

TEST(CudaImages, NormalizesBytesAndCrops) {
  const Shape shape = {5, 3, 6, 8};
  std::vector<uint8_t> bytes(shape.Count());
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37 % 256);
  const std::vector<float> scales = {0.5F, 0.25F, 2, 1, 2, 3, -7, -8, -9};
  const std::vector<ImageCrop> crops = {
      {0, 0, 6, 8, 0}, {0, 0, 6, 8, 1}, {-2, 3, 6, 8, 1}, {1, 2, 4, 3, 0}, {2, 1, 3, 5, 1}};
  for (const int64_t channels : {1, 3})
    for (const bool cropped : {false, true}) {
      Elements y[2];
      const auto cpu = MakeNormalize();
      NormalizeOn<HostGrid> ours({}, {});
      Kernel<NormalizeCall>* const kernels[] = {&ours, cpu.get()};
      for (int k = 0; k < 2; ++k) {
        y[k] = Elements(DType::kF32, shape.Count());
        kernels[k]->Forward({.stored = {shape, DType::kU8, bytes.data()},
                             .input = y[k].Of(shape),
                             .scales = {channels, scales.data()},
                             .crops = cropped ? crops.data() : nullptr});
      }
      ExpectNear(y[0], y[1], "input", 1e-5F);
    }
  // Features: a scale each.
  Elements y(DType::kF32, 6);
  NormalizeOn<HostGrid>({}, {}).Forward({.stored = {{2, 3}, DType::kU8, bytes.data()},
                                         .input = y.Of({2, 3}),
                                         .scales = {3, scales.data()},
                                         .crops = nullptr});
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(y.f32()[i], float(bytes[i]) * scales[i % 3] + scales[3 + i % 3]);
}

TEST(CudaImages, Pools) {
  for (const DType type : kFloats)
    for (const Layout layout : kLayouts)
      for (const Pooling function : {Pooling::kMaximum, Pooling::kAverage})
        for (const Window& window :
             {Window{2, 2}, Window{3, 2, 1}, Window{3, 1, 1}, Window{3, 2, 0, true},
              Window{3, 2, 1, true}, Window{2, 3}, Window{3, 2, 0, false, 1}})
          for (const bool leaves_out : {false, true}) {
            SCOPED_TRACE(cuda::NameOf(type, layout));
            const PoolingShape shape = {.function = function,
                                        .batch = 2,
                                        .channels = 3,
                                        .height = 8,
                                        .width = 7,
                                        .rows = window,
                                        .columns = window,
                                        .type = type,
                                        .layout = layout,
                                        .training = true,
                                        .leaves_out_padding = leaves_out};
            Elements x = Drawn(type, shape.Input().Count(), 1),
                     dy = Drawn(type, shape.Output().Count(), 2), y[2], dx[2];
            const auto reference = MakePooling(shape, {.reference = true});
            PoolingOn<HostGrid> ours(shape, {});
            Kernel<PoolingCall>* const kernels[] = {&ours, reference.get()};
            for (int k = 0; k < 2; ++k) {
              y[k] = Elements(type, shape.Output().Count());
              dx[k] = Elements(type, shape.Input().Count());
              std::vector<char> saved(kernels[k]->saved_bytes());
              const PoolingCall call = {x.data(), y[k].data(), dy.data(), dx[k].data(),
                                        saved.data()};
              kernels[k]->Forward(call);
              kernels[k]->Backward(call);
            }
            ExpectNear(y[0], y[1], "output");
            ExpectNear(dx[0], dx[1], "gradient");
          }
}

}  // namespace yoke::cuda_elementwise_test
