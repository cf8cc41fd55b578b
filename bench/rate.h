// Rate: how often something can be done a second, and the arithmetic peak it is compared with.
#pragma once

#include <algorithm>
#include <functional>

#include "base/clock.h"
#include "kernels/linear/linear.h"
#include "kernels/threads.h"
#include "tensor/device.h"

namespace yoke {

/// Calls a second during `seconds`, after a fifth of that as warm-up.
inline double Rate(double seconds, const std::function<void()>& call) {
  for (double end = Now() + seconds / 5; Now() < end;) call();
  int64_t calls = 0;
  const double start = Now();
  double elapsed = 0;
  for (; elapsed < seconds; elapsed = Now() - start, ++calls) call();
  return static_cast<double>(calls) / elapsed;
}

/// Operations a second of a 2048^3 multiplication in f32 or bf16: the best of five tries. 0 for
/// bf16 where the processor has no instructions for it: the loops would take minutes.
inline double GemmPeak(DType type = DType::kF32) {
  constexpr int64_t kSize = 2048;
  if (type == DType::kBf16 && !DescribeKernelLibrary().fast_bf16) return 0;
  const auto kernel =
      MakeLinear({.batch = kSize, .inputs = kSize, .outputs = kSize, .type = type, .bias = false});
  const int64_t bytes = kSize * kSize * SizeOf(type);
  const Buffer input(Cpu(), bytes), weight(Cpu(), bytes), output(Cpu(), bytes);
  const Buffer scratch(Cpu(), std::max<int64_t>(kernel->scratch_bytes(), 64));
  const LinearCall call{.input = input.data(),
                        .weight = weight.data(),
                        .output = output.data(),
                        .scratch = scratch.data()};
  double best = 0;
  for (int i = 0; i < 5; ++i) best = std::max(best, Rate(0.1, [&] { kernel->Forward(call); }));
  return best * 2 * kSize * kSize * kSize;
}

}  // namespace yoke
