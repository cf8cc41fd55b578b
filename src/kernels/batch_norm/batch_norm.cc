// The kernels of batch normalization, best first, and the arithmetic of one channel.
#include "kernels/batch_norm/batch_norm.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "kernels/makers.h"

namespace yoke {
namespace cpu {
std::unique_ptr<BatchNormKernel> BatchNorm(const BatchNormShape& shape);
}
namespace reference {
std::unique_ptr<BatchNormKernel> BatchNorm(const BatchNormShape& shape);
}

std::unique_ptr<BatchNormKernel> MakeBatchNorm(const BatchNormShape& shape, const Target& target) {
  return MakeFirst<BatchNormCall, BatchNormShape>({cpu::BatchNorm, reference::BatchNorm}, shape,
                                                  target);
}

void SaveMoments(const BatchNormShape& shape, const BatchNormCall& call, int64_t channel,
                 const Moments& moments) {
  const int64_t c = channel, channels = shape.channels, rows = shape.Rows();
  const double inverse = 1 / std::sqrt(moments.variance + shape.epsilon);
  call.saved[c] = static_cast<float>(moments.mean);
  call.saved[channels + c] = static_cast<float>(inverse);
  call.saved[2 * channels + c] =
      static_cast<float>(call.weight ? inverse * double(call.weight[c]) : inverse);
  call.saved[3 * channels + c] = call.bias ? call.bias[c] : 0.0F;
  const double unbiased = moments.variance * double(rows) / double(std::max<int64_t>(rows - 1, 1));
  // Passes that share the statistics (hogwild) may move them at the same time. Each element is read
  // and written whole. One of two moves at once may be lost: the running mean then misses one batch
  // of many, and nothing in training reads it. A lock would cost every training step.
  const auto move = [&](float& running, double now) {
    const std::atomic_ref<float> shared(running);
    const double before = shared.load(std::memory_order_relaxed);
    shared.store(static_cast<float>((1 - shape.momentum) * before + shape.momentum * now),
                 std::memory_order_relaxed);
  };
  if (!call.moved_mean) return;
  move(call.moved_mean[c], moments.mean);
  move(call.moved_variance[c], unbiased);
}

}  // namespace yoke
