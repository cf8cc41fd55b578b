// What a thread computes of local response normalization at a time, and where the loops are.
#pragma once

#include <cstdint>

namespace yoke::cpu {

/// Where one block lies in memory.
struct NormBlock {
  int64_t first = 0;  ///< Its first number.
  int64_t lines = 0;  ///< One behind the other when channels lie last.
  int64_t width = 0;  ///< Neighbouring numbers of one channel.
};

/// A block's numbers in f32: lines of [channels, width] each. Before and behind those of `squares`
/// and `shares` lie zeros.
struct NormRows {
  static constexpr int64_t kCount = 4;
  float *x, *gradient, *squares, *shares;
};

/// A block's forward or backward.
struct NormBlockCall {
  NormBlock block;
  NormRows rows;
  int64_t channels = 0, pixels = 0;  ///< Of an image.
  int64_t size = 0;                  ///< Channels of a window.
  int64_t stride = 0;                ///< Of lines, in numbers.
  bool plain = false;                ///< Channels lie first.
  double alpha = 0, beta = 0, k = 0;
  const void* input = nullptr;
  const void* output_gradient = nullptr;
  void* result = nullptr;  ///< The output, or the input's gradient.
};

struct NormBlockLoops {
  void (*forward)(const NormBlockCall& call);
  void (*backward)(const NormBlockCall& call);
  int lanes;  ///< Of a vector: lines have room for whole ones.
};

/// The fastest loops of this CPU for f32 or bf16.
NormBlockLoops NormBlockLoopsFor(bool bf16);
/// Those of AVX-512, which the machine must have.
NormBlockLoops NormBlockLoopsAvx512(bool bf16);

}  // namespace yoke::cpu
