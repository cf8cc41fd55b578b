// Bf16Update: a row is copied to f32 in parts that fit the L1 cache, updated there, and rounded
// back. Stochastic rounding adds 16 random bits below the last bit that is kept and cuts them off
// (Gupta, Agrawal, Gopalakrishnan, Narayanan, "Deep Learning with Limited Numerical Precision",
// 2015, section 3).
#include "optim/bf16_update.h"

#include <algorithm>
#include <bit>

#include "base/random.h"

namespace yoke {
namespace {

/// Elements of a part: values and two state arrays beside their gradient.
constexpr int64_t kPart = 1024;
constexpr uint32_t kLowHalf = 0xFFFF;

/// 32 random bits by a key and a counter (Wellons' hash "lowbias32").
inline uint32_t BitsOf(uint64_t key, uint32_t counter) {
  uint32_t x = (counter * 0x9E3779B9U) ^ static_cast<uint32_t>(key);
  x = (x ^ (x >> 16)) * 0x7FEB352DU;
  x = (x ^ (x >> 15) ^ static_cast<uint32_t>(key >> 32)) * 0x846CA68BU;
  return x ^ (x >> 16);
}

/// Whether these are bits of a number, not infinity or NaN.
inline bool IsFinite(uint32_t bits) { return (~bits & 0x7F800000U) != 0; }

/// `noise`: 16 random bits.
inline Bf16 RoundBy(float value, uint32_t noise) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t moved = bits + noise;
  Bf16 rounded;
  rounded.bits = static_cast<uint16_t>((IsFinite(bits) && IsFinite(moved) ? moved : bits) >> 16);
  return rounded;
}

[[gnu::no_sanitize("thread")]] void Widen(const Bf16* __restrict from, int64_t count,
                                          float* __restrict to) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

[[gnu::no_sanitize("thread")]] void RoundToNearest(const float* __restrict from, int64_t count,
                                                   Bf16* __restrict to) {
  for (int64_t i = 0; i < count; ++i) to[i] = Bf16(from[i]);
}

uint64_t KeyOf(const RowUpdate& update) {
  return Random({update.rounding.seed, Word(Draw::kRounding), static_cast<uint64_t>(update.slice),
                 static_cast<uint64_t>(update.row), static_cast<uint64_t>(update.step)})
      .Bits();
}

}  // namespace

/// A draw serves two elements.
[[gnu::no_sanitize("thread")]] void RoundStochastically(const float* __restrict from, int64_t count,
                                                        uint64_t key, Bf16* __restrict to) {
  const int64_t half = count / 2;
  for (int64_t i = 0; i < half; ++i) {
    const uint32_t bits = BitsOf(key, static_cast<uint32_t>(i));
    to[i] = RoundBy(from[i], bits & kLowHalf);
    to[half + i] = RoundBy(from[half + i], bits >> 16);
  }
  if (count % 2)
    to[count - 1] = RoundBy(from[count - 1], BitsOf(key, static_cast<uint32_t>(half)) & kLowHalf);
}

Bf16Slice::Bf16Slice(float* values, const RuleState& state, const Slice& slice) {
  first_row_.count = slice.RowWidth();
  first_row_.arrays[0] = reinterpret_cast<Bf16*>(values + slice.offset);
  for (size_t i = 0; i < state.names().size(); ++i)
    first_row_.arrays[i + 1] =
        reinterpret_cast<Bf16*>(state.array(static_cast<int>(i)).Host().data() + slice.offset);
}

Bf16Span Bf16Slice::Row(int64_t id) const {
  Bf16Span row = first_row_;
  for (Bf16*& array : row.arrays)
    if (array) array += id * row.count;
  return row;
}

void UpdateBf16(const UpdateRule& rule, const Bf16Span& row, const float* gradient,
                const UpdateStep& step, const RowUpdate& update) {
  alignas(64) std::array<std::array<float, kPart>, 1 + kMaxStateArrays> wide;
  Random draws{update.rounding.stochastic ? KeyOf(update) : 0};
  for (int64_t at = 0; at < row.count; at += kPart) {
    UpdateSpan span{.values = wide[0].data(),
                    .gradient = gradient + at,
                    .count = std::min(kPart, row.count - at),
                    .rounded = true};
    for (size_t i = 0; i < row.arrays.size() && row.arrays[i]; ++i) {
      Widen(row.arrays[i] + at, span.count, wide[i].data());
      if (i > 0) span.state[i - 1] = wide[i].data();
    }
    rule.Update(span, step);
    for (size_t i = 0; i < row.arrays.size() && row.arrays[i]; ++i)
      if (update.rounding.stochastic)
        RoundStochastically(wide[i].data(), span.count, draws.Bits(), row.arrays[i] + at);
      else
        RoundToNearest(wide[i].data(), span.count, row.arrays[i] + at);
  }
}

}  // namespace yoke
