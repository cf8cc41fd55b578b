// Join: one pass over memory each.
#include <algorithm>
#include <cstring>
#include <span>

#include "base/check.h"
#include "kernels/cpu/wide.h"
#include "kernels/join/join.h"
#include "kernels/makers.h"

namespace yoke {
namespace {

constexpr int64_t kJoinBlock =
    4096;  // elements that a thread takes at a time; they stay in its cache

/// Calls body(begin, count) for blocks that cover [0, n), on all threads.
template <typename Body>
void ForEachBlock(int64_t n, const Body& body) {
#pragma omp parallel for schedule(static) if (n > 4 * kJoinBlock)
  for (int64_t i = 0; i < n; i += kJoinBlock) body(i, std::min(kJoinBlock, n - i));
}

/// The sums of elements [at, at + Count vectors), in registers.
template <typename T, int Lanes, int Count>
void SumVectors(std::span<const Tensor> inputs, bool relu, T* output, int64_t at) {
  using W = cpu::Wide<Lanes>;
  typename W::Floats sum[Count], v;
  for (int k = 0; k < Count; ++k) W::Load(inputs[0].As<T>() + at + k * Lanes, sum[k]);
  for (const Tensor& input : inputs.subspan(1))
    for (int k = 0; k < Count; ++k) {
      W::Load(input.As<T>() + at + k * Lanes, v);
      sum[k] += v;
    }
  for (int k = 0; k < Count; ++k) {
    // A NaN is kept: it is not less than 0.
    if (relu) sum[k] = sum[k] < 0 ? typename W::Floats{} : sum[k];
    W::Store(sum[k], output + at + k * Lanes);
  }
}

template <typename T>
void SumTyped(std::span<const Tensor> inputs, bool relu, T* output, int64_t n) {
  ForEachBlock(n, [&](int64_t begin, int64_t count) {
    const int64_t end = begin + count;
    for (; begin + 32 <= end; begin += 32) SumVectors<T, 8, 4>(inputs, relu, output, begin);
    for (; begin < end; ++begin) SumVectors<T, 1, 1>(inputs, relu, output, begin);
  });
}

/// A tensor as `rows` runs, in which each channel takes `channel` bytes.
struct Runs {
  int64_t rows = 0;
  int64_t channel = 0;
};

Runs RunsOf(const Tensor& t) {
  int64_t pixels = 1;
  for (int axis = 2; axis < t.shape.rank(); ++axis) pixels *= t.shape[axis];
  const bool last = t.layout == Layout::kChannelsLast;
  return {.rows = t.shape[0] * (last ? pixels : 1),
          .channel = (last ? 1 : pixels) * SizeOf(t.type)};
}

/// Calls copy(part's memory, whole's memory, bytes) for each run of each part. Of a part without
/// data only the number of channels is known.
template <typename Copy>
void ForEachRun(const Tensor& whole, std::span<const Tensor> parts, const Copy& copy) {
  const Runs all = RunsOf(whole);
#pragma omp parallel for schedule(static) if (whole.Count() > 4 * kJoinBlock)
  for (int64_t row = 0; row < all.rows; ++row) {
    char* at = whole.As<char>() + row * whole.shape[1] * all.channel;
    for (const Tensor& part : parts) {
      const int64_t run = part.shape[1] * all.channel;
      if (part.data) copy(part.As<char>() + row * run, at, run);
      at += run;
    }
  }
}

struct SumLoop {
  using Call = SumCall;
  SumShape shape;
  void Forward(const Call& call) const {
    const int64_t n = call.output.Count();
    const DType type = call.output.type;
    Check(!call.inputs.empty(), "a sum is of one tensor or more");
    for (const Tensor& input : call.inputs)
      Check(input.Count() == n && input.type == type, "tensors of a sum are of one type");
    if (type == DType::kF32) return SumTyped(call.inputs, shape.relu, call.output.As<float>(), n);
    Check(type == DType::kBf16, "sums are of f32 or bf16");
    SumTyped(call.inputs, shape.relu, call.output.As<Bf16>(), n);
  }
};

struct ConcatenateLoop {
  using Call = ConcatenateCall;
  static void Forward(const Call& call) {
    ForEachRun(call.whole, call.parts,
               [](const char* part, char* whole, int64_t n) { std::memcpy(whole, part, n); });
  }
  static void Backward(const Call& call) {
    ForEachRun(call.whole, call.parts,
               [](char* part, const char* all, int64_t n) { std::memcpy(part, all, n); });
  }
};

}  // namespace

const KernelList<SumCall, SumShape> operation::kSum("sum", {.backward = false, .others = "relu"},
                                                    {{"cuda", "cuda", cuda::Make},
                                                     {"loops", LoopsOf<SumLoop>}});
const KernelList<ConcatenateCall, NoShape> operation::kConcatenate(
    "concatenate", {}, {{"cuda", "cuda", cuda::Make}, {"loops", LoopsOf<ConcatenateLoop>}});

std::unique_ptr<SumKernel> MakeSum(bool relu, const Target& target) {
  return operation::kSum.Make({relu}, target);
}

std::unique_ptr<ConcatenateKernel> MakeConcatenate(const Target& target) {
  return operation::kConcatenate.Make({}, target);
}

}  // namespace yoke
