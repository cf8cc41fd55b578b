// Products: which form computes a layer's step, and what both share.
#include "model/layers/lsh_linear/products.h"

#include <algorithm>
#include <cmath>

#include "base/algorithms.h"
#include "model/layer.h"
#include "model/layers/lsh_linear/group_products.h"
#include "model/layers/lsh_linear/row_products.h"

namespace yoke::layer {
namespace {

constexpr int64_t kSmallGroup = 4;  // up to which rows are faster than blocks
constexpr float kNothing = -1e30F;  // the score of padding: no loss, no gradient

}  // namespace

std::unique_ptr<Products> MakeProducts(const LshPlanShape& shape, const PlanRequest& request) {
  const bool dense = !request.input.sparse && request.input.active == 0;
  if (dense && shape.settings.group <= kSmallGroup)
    return std::make_unique<RowProducts>(shape, request);
  return std::make_unique<GroupProducts>(shape, request);
}

double ActiveOf(const LshSettings& s) {
  if (!s.hashed() || s.fill) return double(s.wanted());
  return FoundOf(s) + double(s.random);
}

double SetsOf(const LshSettings& s, int64_t batch) {
  return std::ceil(double(batch) / double(s.group));
}

double TouchedOf(const LshSettings& s, double ids) { return DifferentOf(double(s.outputs), ids); }

void FinishScores(const LshSettings& s, const LayerCall& call, const ActiveGroup& group,
                  int64_t begin, int64_t end) {
  const int64_t random = group.active - group.hard;
  const bool correct = s.correct && random > 0 && call.batch.epoch + 1 >= s.correct_from;
  const float more =
      correct ? std::log(float(s.outputs - group.hard) / static_cast<float>(random)) : 0.0F;
  const int64_t drawn = std::max(begin, group.hard);
  const int64_t padding = std::min(end, std::max(begin, group.active));
  float* values = call.active_output->values.data() + group.value;
  for (int64_t i = 0; i < group.examples; ++i, values += group.columns) {
    if (more != 0)
      for (int64_t k = drawn; k < padding; ++k) values[k] += more;
    std::fill(values + padding, values + end, kNothing);
  }
}

}  // namespace yoke::layer
