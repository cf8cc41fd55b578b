// Local response normalization, a block of pixels at a time (cpu_loops.h). Channels last, each
// pixel is a line; of a plain tensor a few neighbours are one line, channel by channel. Loops run
// over whole vectors, for which lines have room. Backward computes the sums anew, so that nothing
// but the input is kept.
#include "kernels/local_response_norm/local_response_norm.h"

#include <omp.h>

#include <algorithm>

#include "base/algorithms.h"
#include "kernels/local_response_norm/cpu_block.h"
#include "kernels/threads.h"

namespace yoke::cpu {
namespace {

constexpr int64_t kNormBlock = 1536;        // elements of a block
constexpr int64_t kPixels = 32;             // of a block of a plain tensor
constexpr int64_t kParallelNorm = 1 << 14;  // elements that are worth a team of threads

class LocalResponseNormBlocks : public LocalResponseNormKernel {
 public:
  explicit LocalResponseNormBlocks(const LocalResponseNormShape& shape)
      : s_(shape),
        loops_(NormBlockLoopsFor(shape.type == DType::kBf16)),
        threads_(s_.Count() < kParallelNorm ? 1 : std::max(KernelThreads(), 1)),
        plain_(s_.layout == Layout::kPlain) {
    const int64_t width = plain_ ? kPixels : 1;
    stride_ = RoundUp((s_.channels + s_.Window()) * width + loops_.lanes, loops_.lanes);
    lines_ = plain_ ? 1 : std::max<int64_t>(1, kNormBlock / stride_);
  }

  void Forward(const LocalResponseNormCall& call) override {
    Run(loops_.forward, {.input = call.input, .result = call.output}, call.scratch);
  }

  void Backward(const LocalResponseNormCall& call) override {
    Run(loops_.backward,
        {.input = call.input,
         .output_gradient = call.output_gradient,
         .result = call.input_gradient},
        call.scratch);
  }

  int64_t scratch_bytes() const override {
    return threads_ * NormRows::kCount * lines_ * stride_ * int64_t{sizeof(float)};
  }
  std::string name() const override { return "blocks of channels"; }

 private:
  NormRows RowsOf(void* scratch, int thread) const {
    const int64_t row = lines_ * stride_;
    float* at = static_cast<float*>(scratch) + thread * NormRows::kCount * row;
    return {at, at + row, at + 2 * row, at + 3 * row};
  }

  NormBlock BlockOf(int64_t index, int64_t blocks) const {
    const int64_t all = plain_ ? s_.pixels : s_.batch * s_.pixels, size = plain_ ? kPixels : lines_;
    const int64_t at = index % blocks * size, pixels = std::min(size, all - at);
    if (plain_) return {index / blocks * s_.channels * s_.pixels + at, 1, pixels};
    return {at * s_.channels, pixels, 1};
  }

  void Run(void (*loop)(const NormBlockCall& call), NormBlockCall call, void* scratch) const {
    call.channels = s_.channels, call.pixels = s_.pixels;
    call.size = s_.size, call.window = s_.Window(), call.stride = stride_;
    call.plain = plain_;
    call.alpha = s_.alpha, call.beta = s_.beta, call.k = s_.k;
    const int64_t all = plain_ ? s_.pixels : s_.batch * s_.pixels, size = plain_ ? kPixels : lines_;
    const int64_t blocks = (all + size - 1) / size, images = plain_ ? s_.batch : 1;
#pragma omp parallel for schedule(static) firstprivate(call) \
    num_threads(std::min(threads_, KernelThreads())) if (threads_ > 1)
    for (int64_t b = 0; b < images * blocks; ++b) {
      call.block = BlockOf(b, blocks);
      call.rows = RowsOf(scratch, threads_ > 1 ? omp_get_thread_num() : 0);
      loop(call);
    }
  }

  LocalResponseNormShape s_;
  NormBlockLoops loops_;
  int threads_;
  bool plain_;
  int64_t stride_ = 0, lines_ = 1;  // of a block's rows
};

}  // namespace

std::unique_ptr<LocalResponseNormKernel> LocalResponseNorm(const LocalResponseNormShape& shape) {
  return std::make_unique<LocalResponseNormBlocks>(shape);
}

}  // namespace yoke::cpu
