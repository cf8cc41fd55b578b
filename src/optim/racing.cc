// Racing: copies a run of shared elements to the thread's memory, updates it there by the rule, and
// copies it back.
#include "optim/racing.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/shared.h"
#include "kernels/vectors.h"
#include "optim/bf16_update.h"

namespace yoke {
namespace {

/// Elements per run: values and two state arrays fit the L1 cache beside the gradient.
constexpr int64_t kRun = 1024;

double SquareSumShared(const float* x, int64_t count) {
  alignas(64) std::array<float, kRun> own;
  double sum = 0;
  for (int64_t at = 0; at < count; at += kRun) {
    const int64_t n = std::min(kRun, count - at);
    CopyShared(x + at, n, own.data());
    sum += SquareSum(ConstValues(own.data(), n));
  }
  return sum;
}

/// The first place of a row in the packed buffer; of one in bf16 maybe the last of the row before.
int64_t PlaceOf(const Slice& slice, int64_t row) {
  return slice.offset + row * slice.RowWidth() * SizeOf(slice.type) / SizeOf(DType::kF32);
}

[[gnu::no_sanitize("thread")]] int32_t CountShared(int32_t& clock) { return ++clock; }

}  // namespace

double RateOfPart(const UpdateRule& rule, double rate, double parts, double touched) {
  const bool follows_length = rule.Reach() > 0 || rule.Scalars() > 0;  // the latter tune the rate
  return follows_length ? rate / parts : rate / std::sqrt(1 + (parts - 1) * touched);
}

double DecayRateOfPart(double rate, double parts, double touched) {
  return rate / (1 + (parts - 1) * touched);
}

/// Of the run that begins there. Runs of all updates begin at the same places.
std::unique_lock<std::mutex> RacingUpdates::LockRun(int64_t offset) {
  if (locks_.empty()) return {};
  return std::unique_lock(locks_[static_cast<size_t>(offset / kRun) % locks_.size()]);
}

int32_t RacingUpdates::CountRow(int slice, int64_t row, int64_t offset) {
  const auto lock = LockRun(offset);
  return CountShared(state_.row_steps(slice).data[row]);
}

void RacingUpdates::ApplyRun(const UpdateRule& rule, float* values, const float* gradient,
                             int64_t offset, int64_t count, const UpdateStep& step) {
  alignas(64) std::array<std::array<float, kRun>, 1 + kMaxStateArrays> own;
  const size_t arrays = state_.names().size();
  for (int64_t at = 0; at < count; at += kRun) {
    const int64_t n = std::min(kRun, count - at);
    const auto lock = LockRun(offset + at);
    UpdateSpan span{.values = own[0].data(), .gradient = gradient + at, .count = n};
    CopyShared(values + offset + at, n, own[0].data());
    for (size_t i = 0; i < arrays; ++i) {
      span.state[i] = own[i + 1].data();
      CopyShared(StateAt(i, offset + at), n, span.state[i]);
    }
    rule.Update(span, step);
    CopyShared(own[0].data(), n, values + offset + at);
    for (size_t i = 0; i < arrays; ++i) CopyShared(span.state[i], n, StateAt(i, offset + at));
  }
}

void RacingUpdates::ApplyRow(int index, float* values, const float* gradient, int64_t row,
                             const UpdateStep& step) {
  const Slice& slice = layout_.slices()[index];
  const int64_t place = PlaceOf(slice, row);
  if (slice.type != DType::kBf16)
    return ApplyRun(row_rule_, values, gradient, place, slice.RowWidth(), step);
  const auto lock = LockRun(place);
  UpdateBf16(row_rule_, Bf16Slice(values, state_, slice).Row(row), gradient, step,
             {state_.rounding(), index, row, step.step});
}

UpdateStep RacingUpdates::Tune(const UpdateStep& step, const Gradients& gradients,
                               std::optional<double> total_momentum) {
  if (rule_.Scalars() == 0) return step;
  UpdateFacts facts = FactsOf(layout_, gradients, step.gradient_scale);
  facts.state_square = SquareSumShared(StateAt(0, 0), layout_.dense_size());
  facts.total_momentum = total_momentum;
  const std::lock_guard lock(scalars_);
  return rule_.Tune(step, facts, state_.scalars());
}

void RacingUpdates::Apply(int index, float* values, const Gradients& gradients, UpdateStep step,
                          double parts) {
  const Slice& slice = layout_.slices()[index];
  const SliceSettings settings = state_.Of(static_cast<size_t>(index));
  if (settings.frozen()) return;
  step = settings.Of(step);
  const double rate = step.learning_rate, updates = double(step.step);
  step.learning_rate = RateOfPart(rule_, rate, parts);
  step.decay_rate = DecayRateOfPart(rate, parts);
  if (slice.kind == SliceKind::kDense)
    return ApplyRun(rule_, values, gradients.dense().Host().data() + slice.offset, slice.offset,
                    slice.Count(), step);
  const RowGradient& rows = gradients.rows(index);
  const int64_t width = slice.RowWidth();
  for (size_t r = 0; r < rows.ids.size(); ++r) {
    step.step = CountRow(index, rows.ids[r], PlaceOf(slice, rows.ids[r]));
    const double touched = std::min(1.0, double(step.step) / updates);
    step.learning_rate = RateOfPart(row_rule_, rate, parts, touched);
    step.decay_rate = DecayRateOfPart(rate, parts, touched);
    ApplyRow(index, values, rows.values.data() + static_cast<int64_t>(r) * width, rows.ids[r],
             step);
  }
}

}  // namespace yoke
