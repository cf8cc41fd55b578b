// Top scores: the results that evaluation and prediction need from a wide linear output, without
// storing all scores.
#pragma once

#include <memory>
#include <string>

#include "kernels/kernel.h"
#include "tensor/tensor.h"

namespace yoke {

/// A sum over all scores of an example.
enum class ScoreSum : uint8_t {
  kNone,
  kLogExp,    ///< log sum exp(s), for the softmax.
  kSoftplus,  ///< sum log(1 + exp(s)), for the sigmoid cross-entropy.
};

struct TopScoresShape {
  int64_t batch = 0;  ///< Memory is proportional to it; a few hundred suffice for full speed.
  int64_t inputs = 0;
  int64_t outputs = 0;
  DType type = DType::kF32;  ///< Type of weight and bias: f32 or bf16. Scores are f32.
  DType weight_type = type;  ///< Of the weight in memory: `type`, or bf16 for products in f32.
  int64_t top = 1;           ///< At most `outputs`; 0: none.
  ScoreSum sum = ScoreSum::kNone;
};

/// Scores are input * weight^T + bias. All row-major.
struct TopScoresCall {
  const float* input = nullptr;  ///< [batch, inputs]; rounded to `type`.
  const void* weight = nullptr;  ///< [outputs, inputs]
  const void* bias = nullptr;    ///< [outputs], or null.
  SparseRows wanted;        ///< Outputs whose scores are requested, one row per example; or none.
  int32_t* ids = nullptr;   ///< [batch, top], written: greatest scores first, ties by id; padded
                            ///< with -1 if NaNs leave too few.
  float* scores = nullptr;  ///< [batch, top], written: their scores.
  double* sums = nullptr;   ///< [batch], written; NaN if a score is NaN.
  float* wanted_scores = nullptr;  ///< Written: one for each entry of `wanted`, in order.
};

/// Results do not depend on the number of threads.
using TopScoresKernel = Kernel<TopScoresCall>;

std::unique_ptr<TopScoresKernel> MakeTopScores(const TopScoresShape& shape,
                                               const Target& target = {});

}  // namespace yoke
