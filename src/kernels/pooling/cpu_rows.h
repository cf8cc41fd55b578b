// The arguments for one row of a pool, and the functions that compute it.
#pragma once

#include <cstdint>

namespace yoke::cpu {

/// The extent of one window along an axis: input [begin, end); `first` is the tap at begin.
struct PoolExtent {
  int64_t begin, end, first, counted;
};

/// The windows [begin, end) that cover one input position; none if begin >= end.
struct PoolCover {
  int64_t begin, end;

  [[gnu::always_inline]] bool Any() const { return begin < end; }
};

/// One axis of a pool.
struct PoolAxis {
  const PoolExtent* extents = nullptr;  ///< By output position.
  const PoolCover* covers = nullptr;    ///< By input position.
  int64_t inputs = 0, outputs = 0;
  int64_t size = 1, stride = 1, padding = 0;

  [[gnu::always_inline]] bool Overlaps() const { return size > stride; }
};

/// One row of an image whose pixels have `channels` elements.
struct PoolRow {
  PoolAxis rows, columns;
  int64_t channels = 1;
  bool maximum = true;
  int64_t row = 0;             ///< Forward: row of the output; backward: row of the input.
  const void* from = nullptr;  ///< Forward: the input; backward: the output's gradient.
  void* to = nullptr;          ///< The output; the input's gradient.
  /// Index of the winning tap per output element; may be null in forward.
  uint8_t* taps = nullptr;
};

/// Computes one row.
using PoolLoop = void (*)(const PoolRow& row);

struct PoolLoops {
  PoolLoop forward, backward;
};

/// The fastest loops for this CPU, for f32 or bf16.
PoolLoops PoolLoopsFor(bool bf16);
/// The AVX-512 loops; the CPU must support AVX-512.
PoolLoops PoolLoopsAvx512(bool bf16);

}  // namespace yoke::cpu
