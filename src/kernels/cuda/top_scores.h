// Top scores: products of blocks of outputs, each of which a team an example merges into the best
// so far, the sum and the wanted scores.
#pragma once

#include <cmath>

#include "kernels/cuda/numbers.h"
#include "kernels/cuda/products.h"
#include "kernels/makers.h"
#include "kernels/top_scores/top_scores.h"

namespace yoke::cuda {

/// A score with its id. Greater scores are before others, equal ones by id; NaNs are nowhere.
struct ScoreEntry {
  float score;
  int32_t id;  ///< -1: none.
  YOKE_HOST_DEVICE static bool Before(const ScoreEntry& a, const ScoreEntry& b) {
    if (a.id < 0 || b.id < 0) return b.id < 0 && a.id >= 0;
    return a.score > b.score || (a.score == b.score && a.id < b.id);
  }
};

/// The greatest score and the sum of exponentials relative to it.
struct LogSum {
  float largest;
  double sum;
  YOKE_HOST_DEVICE static LogSum Join(const LogSum& a, const LogSum& b) {
    if (a.sum == 0) return b;
    if (b.sum == 0) return a;
    if (a.largest == b.largest) return {a.largest, a.sum + b.sum};  // both may be -inf
    const float largest = a.largest < b.largest ? b.largest : a.largest;
    return {largest,
            a.sum * exp(double(a.largest) - largest) + b.sum * exp(double(b.largest) - largest)};
  }
};

/// Scores of outputs [first, first + count), [batch, count], behind the bias.
struct TopScoresBody {
  TopScoresCall call;
  const float* scores;
  const void* bias;  ///< Null: none.
  DType type;
  int64_t first, count, top;
  ScoreSum sum;
  bool starts, ends;       ///< The first block; the last.
  const ScoreEntry* best;  ///< [batch, top] of the blocks before.
  ScoreEntry* next;        ///< Those with this one.
  LogSum* sums;            ///< [batch], of all blocks so far; `sum` alone for softplus.

  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t n) const {
    if (sum != ScoreSum::kNone) Sum(team, n);
    Choose(team, n);
    if (call.wanted.rows == 0) return;
    const int64_t begin = call.wanted.offsets[n], own = call.wanted.offsets[n + 1] - begin;
    team.Each(own, [&](int64_t k) {
      const int64_t at = call.wanted.ids[begin + k] - first;
      if (at >= 0 && at < count)
        call.wanted_scores[begin + k - call.wanted.offsets[0]] = Score(n, at);
    });
  }

 private:
  YOKE_HOST_DEVICE float Score(int64_t n, int64_t o) const {
    const float score = scores[n * count + o];
    if (!bias) return score;
    return score + (type == DType::kBf16 ? Wide(static_cast<const Bf16*>(bias)[first + o])
                                         : static_cast<const float*>(bias)[first + o]);
  }

  template <typename Team>
  YOKE_HOST_DEVICE void Sum(Team& team, int64_t n) const {
    const bool exponentials = sum == ScoreSum::kLogExp;
    const LogSum block = team.Reduce(
        count, LogSum{},
        [&](int64_t o) {
          const float score = Score(n, o);
          if (exponentials) return LogSum{score, 1};
          return LogSum{0, (score > 0 ? score : 0.0) + log1p(exp(-fabs(double(score))))};
        },
        [exponentials](const LogSum& a, const LogSum& b) {
          return exponentials ? LogSum::Join(a, b) : LogSum{0, a.sum + b.sum};
        });
    team.Once([&] {
      LogSum all = block;
      if (!starts && exponentials) all = LogSum::Join(sums[n], block);
      if (!starts && !exponentials) all.sum += sums[n].sum;
      sums[n] = all;
      if (ends) call.sums[n] = exponentials ? all.largest + log(all.sum) : all.sum;
    });
  }

  /// The next best after the last one, `top` times, among the best before and this block.
  template <typename Team>
  YOKE_HOST_DEVICE void Choose(Team& team, int64_t n) const {
    ScoreEntry last = {INFINITY, -1};
    const int64_t before = starts ? 0 : top;
    for (int64_t k = 0; k < top; ++k) {
      const bool any = k == 0;
      const ScoreEntry chosen = team.Reduce(
          before + count, ScoreEntry{0, -1},
          [&](int64_t i) {
            ScoreEntry entry = {0, -1};
            if (i < before)
              entry = best[n * top + i];
            else
              entry = {Score(n, i - before), static_cast<int32_t>(first + i - before)};
            const bool later = any || ScoreEntry::Before(last, entry);
            return entry.score == entry.score && later ? entry : ScoreEntry{0, -1};
          },
          [](const ScoreEntry& a, const ScoreEntry& b) {
            return ScoreEntry::Before(b, a) ? b : a;
          });
      last = chosen;
      team.Once([&] {
        next[n * top + k] = chosen;
        if (!ends) return;
        call.ids[n * top + k] = chosen.id;
        call.scores[n * top + k] = chosen.id < 0 ? 0.0F : chosen.score;
      });
      if (chosen.id >= 0) continue;
      for (++k; k < top; ++k)
        team.Once([&] {
          next[n * top + k] = chosen;
          if (ends) call.ids[n * top + k] = -1, call.scores[n * top + k] = 0;
        });
    }
  }
};

/// Between f32 and bf16.
template <typename From, typename To>
struct CastBody {
  const From* from;
  To* to;
  YOKE_HOST_DEVICE void operator()(int64_t i) const { to[i] = Narrow<To>(Wide(from[i])); }
};

/// Takes memory of its own when it is made: a block of scores, and what is converted.
template <typename Grid>
class TopScoresOn : public GridKernel<Grid, TopScoresCall> {
 public:
  using Product = typename Grid::Product;
  static constexpr int64_t kBlock = 16384;

  TopScoresOn(const TopScoresShape& shape, const Grid& grid, int64_t block = kBlock)
      : GridKernel<Grid, TopScoresCall>(grid),
        s_(shape),
        block_(Least(block, shape.outputs)),
        widens_(shape.type == DType::kF32 && shape.weight_type == DType::kBf16),
        scores_(Memory(s_.batch * block_, sizeof(float))),
        input_(Memory(shape.type == DType::kBf16 ? s_.batch * s_.inputs : 0, sizeof(Bf16))),
        weight_(Memory(widens_ ? block_ * s_.inputs : 0, sizeof(float))),
        best_(Memory(2 * s_.batch * s_.top, sizeof(ScoreEntry))),
        sums_(Memory(s_.batch, sizeof(LogSum))),
        whole_(Make(block_)),
        rest_(Make(s_.outputs % block_)),
        scratch_(Memory(Most(Most(whole_.scratch_bytes(), rest_.scratch_bytes()), 1), 1)) {}

  bool made() const { return whole_.made() && (s_.outputs % block_ == 0 || rest_.made()); }

  void Forward(const TopScoresCall& call) override {
    if (input_.bytes() > 0)
      this->grid_.Each(s_.batch * s_.inputs,
                       CastBody<float, Bf16>{call.input, input_.template As<Bf16>()});
    auto* const best = best_.template As<ScoreEntry>();
    for (int64_t first = 0, k = 0; first < s_.outputs; first += block_, ++k) {
      const int64_t count = Least(block_, s_.outputs - first);
      Multiply(call, first, count);
      this->grid_.Teams(s_.batch, kTeam,
                        TopScoresBody{.call = call,
                                      .scores = scores_.template As<float>(),
                                      .bias = call.bias,
                                      .type = s_.type,
                                      .first = first,
                                      .count = count,
                                      .top = s_.top,
                                      .sum = s_.sum,
                                      .starts = first == 0,
                                      .ends = first + count == s_.outputs,
                                      .best = best + (k + 1) % 2 * s_.batch * s_.top,
                                      .next = best + k % 2 * s_.batch * s_.top,
                                      .sums = sums_.template As<LogSum>()});
    }
  }
  std::string name() const override { return "cublaslt by blocks"; }

 private:
  Buffer Memory(int64_t count, size_t bytes) {
    return Buffer(this->grid_.device(), count * static_cast<int64_t>(bytes));
  }
  /// Scores of `count` outputs, by column: W x^T.
  Product Make(int64_t count) {
    if (count == 0) return {};
    return Product({.m = count,
                    .n = s_.batch,
                    .k = s_.inputs,
                    .transposed_a = true,
                    .lead_a = s_.inputs,
                    .lead_b = s_.inputs,
                    .lead_d = count,
                    .type = s_.type},
                   Target{&this->grid_.device(), &this->grid_.stream()});
  }
  void Multiply(const TopScoresCall& call, int64_t first, int64_t count) {
    const int64_t at = first * s_.inputs;
    const void* weight = static_cast<const char*>(call.weight) + at * SizeOf(s_.weight_type);
    if (widens_) {
      this->grid_.Each(count * s_.inputs, CastBody<Bf16, float>{static_cast<const Bf16*>(weight),
                                                                weight_.template As<float>()});
      weight = weight_.data();
    }
    const void* const input = input_.bytes() > 0 ? input_.data() : call.input;
    (count == block_ ? whole_ : rest_)
        .Run({weight, input, scores_.data(), nullptr, 1, scratch_.data()});
  }

  TopScoresShape s_;
  int64_t block_;
  bool widens_;
  Buffer scores_, input_, weight_, best_, sums_;
  Product whole_, rest_;
  Buffer scratch_;
};

}  // namespace yoke::cuda
