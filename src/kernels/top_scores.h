// Top scores: what evaluation and prediction want of a wide linear output, without keeping its
// scores.
#pragma once

#include <memory>
#include <string>

#include "tensor/tensor.h"

namespace yoke {

/// A sum over all scores of an example.
enum class ScoreSum : uint8_t {
  kNone,
  kLogExp,    ///< log sum exp(s), of the softmax.
  kSoftplus,  ///< sum log(1 + exp(s)), of the sigmoid cross-entropy.
};

struct TopScoresShape {
  int64_t batch = 0;  ///< Memory grows with it; a few hundred are enough for full speed.
  int64_t inputs = 0;
  int64_t outputs = 0;
  DType type = DType::kF32;  ///< Of weight and bias (f32 or bf16); scores are f32.
  int64_t top = 1;           ///< At most `outputs`; 0: none.
  ScoreSum sum = ScoreSum::kNone;
};

/// Scores are input * weight^T + bias. All row-major.
struct TopScoresCall {
  const float* input = nullptr;  ///< [batch, inputs]; rounded to the shape's type.
  const void* weight = nullptr;  ///< [outputs, inputs]
  const void* bias = nullptr;    ///< [outputs], or null.
  SparseRows wanted;             ///< A row an example: outputs whose scores are asked for; or none.
  int32_t* ids = nullptr;        ///< [batch, top], written: greatest scores first, equals by id;
                                 ///< -1 behind them when a NaN left out makes them too few.
  float* scores = nullptr;       ///< [batch, top], written: their scores.
  double* sums = nullptr;        ///< [batch], written; NaN when a score is one.
  float* wanted_scores = nullptr;  ///< Written: one for each entry of `wanted`, in its order.
};

/// Results do not depend on the number of threads.
class TopScoresKernel {
 public:
  virtual ~TopScoresKernel() = default;
  /// One pass over the weights, on the caller's kernel threads (as many as when it was made).
  virtual void Forward(const TopScoresCall& call) = 0;
  virtual std::string name() const = 0;
};

std::unique_ptr<TopScoresKernel> MakeTopScores(const TopScoresShape& shape, bool reference = false);

}  // namespace yoke
