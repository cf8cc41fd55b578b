// Top scores in plain loops: all scores of an example, sorted and summed.
#include "kernels/top_scores/top_scores.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace yoke::reference {
namespace {

class SortedScores : public TopScoresKernel {
 public:
  explicit SortedScores(const TopScoresShape& shape) : s_(shape), row_(shape.outputs) {}

  void Forward(const TopScoresCall& call) override {
    for (int64_t n = 0; n < s_.batch; ++n) {
      for (int64_t o = 0; o < s_.outputs; ++o) row_[o] = Score(call, n, o);
      WriteTop(call.ids + n * s_.top, call.scores + n * s_.top);
      if (s_.sum != ScoreSum::kNone)
        call.sums[n] = s_.sum == ScoreSum::kLogExp ? LogSumExp() : SumOfSoftplus();
      if (call.wanted.rows == 0) continue;
      for (int64_t i = call.wanted.offsets[n]; i < call.wanted.offsets[n + 1]; ++i)
        call.wanted_scores[i - call.wanted.offsets[0]] = row_[call.wanted.ids[i]];
    }
  }

  std::string name() const override { return "reference"; }

 private:
  static double At(const void* elements, DType type, int64_t i) {
    if (type == DType::kBf16) return static_cast<float>(static_cast<const Bf16*>(elements)[i]);
    return static_cast<const float*>(elements)[i];
  }

  double Input(const float* input, int64_t i) const {
    return s_.type == DType::kBf16 ? static_cast<float>(Bf16(input[i])) : input[i];
  }

  float Score(const TopScoresCall& call, int64_t n, int64_t o) const {
    double score = call.bias ? At(call.bias, s_.type, o) : 0;
    for (int64_t i = 0; i < s_.inputs; ++i)
      score +=
          Input(call.input, n * s_.inputs + i) * At(call.weight, s_.weight_type, o * s_.inputs + i);
    return static_cast<float>(score);
  }

  void WriteTop(int32_t* ids, float* scores) const {
    std::vector<int32_t> order;
    for (int64_t o = 0; o < s_.outputs; ++o)
      if (!std::isnan(row_[o])) order.push_back(static_cast<int32_t>(o));
    std::stable_sort(order.begin(), order.end(),
                     [this](int32_t a, int32_t b) { return row_[a] > row_[b]; });
    order.resize(s_.top, -1);
    for (int64_t k = 0; k < s_.top; ++k) {
      ids[k] = order[k];
      scores[k] = order[k] < 0 ? 0.0F : row_[order[k]];
    }
  }

  double LogSumExp() const {
    const double greatest = *std::max_element(row_.begin(), row_.end());
    double sum = 0;
    for (float score : row_) sum += std::exp(score - greatest);
    return greatest + std::log(sum);
  }

  double SumOfSoftplus() const {
    double sum = 0;
    for (double score : row_) sum += std::max(score, 0.0) + std::log1p(std::exp(-std::abs(score)));
    return sum;
  }

  TopScoresShape s_;
  std::vector<float> row_;  ///< The scores of one example.
};

}  // namespace

std::unique_ptr<TopScoresKernel> TopScores(const TopScoresShape& shape) {
  return std::make_unique<SortedScores>(shape);
}

}  // namespace yoke::reference
