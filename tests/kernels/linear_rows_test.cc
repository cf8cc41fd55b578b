// Linear of one or two examples against the reference: odd sizes, with and without bias, ReLU and
// input gradient, any threads.
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/support/near.h"
#include "kernels/linear/linear.h"
#include "kernels/threads.h"
#include "tensor/device.h"

namespace yoke::linear_rows_test {

/// What one forward and backward pass of a kernel gives.
struct Results {
  std::vector<float> output, output_gradient, input_gradient, weight_gradient, bias_gradient;
};

std::vector<float> Draw(int64_t count, uint64_t stream) {
  Random random{5, stream};
  std::vector<float> x(count);
  for (float& v : x) v = static_cast<float>(random.Uniform(-1, 1));
  return x;
}

Results PassesOf(const LinearShape& s, bool reference) {
  const auto kernel = MakeLinear(s, {.reference = reference});
  EXPECT_EQ(kernel->name() == "vector rows", !reference);
  const std::vector<float> x = Draw(s.batch * s.inputs, 1), w = Draw(s.outputs * s.inputs, 2);
  const std::vector<float> bias = Draw(s.outputs, 3);
  const Buffer scratch(Cpu(), std::max<int64_t>(kernel->scratch_bytes(), 64));
  Results r{std::vector<float>(s.batch * s.outputs), Draw(s.batch * s.outputs, 4),
            std::vector<float>(s.batch * s.inputs), std::vector<float>(s.outputs * s.inputs),
            std::vector<float>(s.outputs)};
  const LinearCall call{.input = x.data(),
                        .weight = w.data(),
                        .bias = s.bias ? bias.data() : nullptr,
                        .output = r.output.data(),
                        .output_gradient = r.output_gradient.data(),
                        .input_gradient = s.input_gradient ? r.input_gradient.data() : nullptr,
                        .weight_gradient = r.weight_gradient.data(),
                        .bias_gradient = s.bias ? r.bias_gradient.data() : nullptr,
                        .scratch = scratch.data()};
  kernel->Forward(call);
  kernel->Backward(call);
  return r;
}

TEST(LinearRows, AgreeWithTheReference) {
  const int before = KernelThreads();
  for (int threads : {1, 2, 3})
    for (int64_t batch : {1, 2})
      for (const auto& [inputs, outputs] : {std::pair<int64_t, int64_t>{3, 1}, {17, 6}, {301, 205}})
        for (bool flag : {false, true}) {
          SetKernelThreads(threads);
          const LinearShape shape{.batch = batch,
                                  .inputs = inputs,
                                  .outputs = outputs,
                                  .bias = flag,
                                  .relu = flag,
                                  .training = true,
                                  .input_gradient = flag || inputs > 100};
          const Results found = PassesOf(shape, false), expected = PassesOf(shape, true);
          test::ExpectNear(found.output, expected.output, 2e-5, "output");
          test::ExpectNear(found.output_gradient, expected.output_gradient, 2e-5,
                           "output gradient");
          test::ExpectNear(found.input_gradient, expected.input_gradient, 2e-5, "input gradient");
          test::ExpectNear(found.weight_gradient, expected.weight_gradient, 2e-5,
                           "weight gradient");
          test::ExpectNear(found.bias_gradient, expected.bias_gradient, 2e-5, "bias gradient");
        }
  SetKernelThreads(before);
}

}  // namespace yoke::linear_rows_test
