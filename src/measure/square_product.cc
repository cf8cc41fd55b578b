// SquareProduct: by the device's linear kernel.
#include "measure/square_product.h"

#include <algorithm>

#include "base/random.h"

namespace yoke {
namespace {

/// Numbers between -0.5 and 0.5; zeros would take less power, and so less time. They repeat.
Buffer RandomMatrix(int64_t count, DType type, Device& device) {
  const int64_t drawn = std::min(count, int64_t{1} << 20), bytes = SizeOf(type);
  const Buffer block(device.staging(), drawn * bytes);
  Random random{1};
  for (int64_t i = 0; i < drawn; ++i) {
    const auto value = static_cast<float>(random.Uniform() - 0.5);
    type == DType::kBf16 ? void(block.As<Bf16>()[i] = Bf16(value))
                         : void(block.As<float>()[i] = value);
  }
  Buffer matrix(device, count * bytes);
  for (int64_t at = 0; at < count; at += drawn)
    device.stream().Copy(matrix.As<char>() + at * bytes, block.data(),
                         std::min(drawn, count - at) * bytes);
  device.stream().Wait();
  return matrix;
}

}  // namespace

SquareProduct::SquareProduct(int64_t size, DType type, Device& device)
    : size_(size),
      device_(device),
      kernel_(
          MakeLinear({.batch = size, .inputs = size, .outputs = size, .type = type, .bias = false},
                     {.device = &device, .stream = &device.stream()})),
      input_(RandomMatrix(size * size, type, device)),
      weight_(RandomMatrix(size * size, type, device)),
      output_(device, size * size * SizeOf(type)),
      scratch_(device, kernel_->scratch_bytes() + 64) {}

void SquareProduct::Run() const {
  kernel_->Forward({.input = input_.data(),
                    .weight = weight_.data(),
                    .output = output_.data(),
                    .scratch = scratch_.data()});
  device_.stream().Wait();
}

}  // namespace yoke
