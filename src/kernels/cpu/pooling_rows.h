// What a row of a pool is computed from, and where its loops are.
#pragma once

#include <cstdint>

namespace yoke::cpu {

/// Where one window lies along an axis: input [begin, end), of which `first` is the tap at begin.
struct PoolExtent {
  int64_t begin, end, first, counted;
};

/// The windows [begin, end) that cover one input position; none where begin >= end.
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

/// One image of pixels that hold `channels` numbers each, and one of its rows.
struct PoolRow {
  PoolAxis rows, columns;
  int64_t channels = 1;
  bool maximum = true;
  int64_t row = 0;             ///< Forward: of the output; backward: of the input.
  const void* from = nullptr;  ///< Forward: the input; backward: the output's gradient.
  void* to = nullptr;          ///< The output; the input's gradient.
  uint8_t* taps = nullptr;     ///< Which tap won, by output number; forward may have none.
};

/// Computes one row.
using PoolLoop = void (*)(const PoolRow& row);

struct PoolLoops {
  PoolLoop forward, backward;
};

/// The fastest loops of this CPU for f32 or bf16.
PoolLoops PoolLoopsFor(bool bf16);
/// Those of AVX-512, which the machine must have.
PoolLoops PoolLoopsAvx512(bool bf16);

}  // namespace yoke::cpu
