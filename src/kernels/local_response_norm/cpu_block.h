// Blocks of local response normalization that one thread computes at a time, and the functions that
// compute them.
#pragma once

#include <cstdint>

namespace yoke::cpu {

/// The position of a block in memory.
struct NormBlock {
  int64_t first = 0;  ///< Its first element.
  int64_t lines = 0;  ///< Consecutive if channels-last.
  int64_t width = 0;  ///< Contiguous elements of one channel.
};

/// A block's elements in f32, in lines of [channels, width]. The lines of `squares` and `shares`
/// are surrounded by zeros.
struct NormRows {
  static constexpr int64_t kCount = 4;
  float *x, *gradient, *squares, *shares;
};

/// The arguments of a block's forward or backward.
struct NormBlockCall {
  NormBlock block;
  NormRows rows;
  int64_t channels = 0, pixels = 0;  ///< Channels and pixels of an image.
  int64_t size = 0;                  ///< Divides alpha.
  int64_t window = 0;                ///< Channels per window.
  int64_t stride = 0;                ///< Stride of lines in elements.
  bool plain = false;                ///< Channels come first.
  double alpha = 0, beta = 0, k = 0;
  const void* input = nullptr;
  const void* output_gradient = nullptr;
  void* result = nullptr;  ///< The output, or the input's gradient.
};

struct NormBlockLoops {
  void (*forward)(const NormBlockCall& call);
  void (*backward)(const NormBlockCall& call);
  int lanes;  ///< Lanes of a vector; lines have room for whole vectors.
};

/// The fastest loops for this CPU, for f32 or bf16.
NormBlockLoops NormBlockLoopsFor(bool bf16);
/// The AVX-512 loops; the CPU must support AVX-512.
NormBlockLoops NormBlockLoopsAvx512(bool bf16);

}  // namespace yoke::cpu
