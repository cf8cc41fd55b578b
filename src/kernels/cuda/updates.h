// Updates: one launch updates all parameters: a team a run of elements, or a touched row.
#pragma once

#include <cmath>

#include "kernels/cuda/numbers.h"
#include "kernels/makers.h"
#include "kernels/update.h"

namespace yoke::cuda {

/// The arithmetic of src/optim/rules for one element; its numbers are rounded as there.
struct ElementUpdate {
  UpdateFormula formula;
  float rate, scale, decay, keep, beta1, rest1, beta2, rest2, epsilon, inverse, direct, along, most;

  YOKE_HOST_DEVICE ElementUpdate(const RuleConstants& rule, const UpdateStep& step)
      : formula(rule.formula),
        rate(static_cast<float>(step.learning_rate)),
        scale(static_cast<float>(step.gradient_scale)),
        decay(static_cast<float>(rule.decay) * static_cast<float>(step.decay)),
        keep(static_cast<float>(1 - (step.decay_rate ? *step.decay_rate : step.learning_rate) *
                                        (rule.decoupled_decay * step.decay))),
        beta1(static_cast<float>(rule.beta1)),
        rest1(static_cast<float>(1 - rule.beta1)),
        beta2(static_cast<float>(rule.beta2)),
        rest2(static_cast<float>(1 - rule.beta2)),
        epsilon(static_cast<float>(rule.epsilon)),
        inverse(1),
        direct(rule.direct),
        along(rule.along),
        most(rule.most) {
    if (formula == UpdateFormula::kAdam) {
      const auto t = static_cast<double>(step.step);
      rate = static_cast<float>(step.learning_rate / (1 - pow(rule.beta1, t)));
      inverse = static_cast<float>(1 / sqrt(1 - pow(rule.beta2, t)));
    } else if (formula == UpdateFormula::kMomentum) {
      const float gain = rule.sums_steps ? rule.gain * rate : rule.gain;
      scale *= gain;
      decay = gain * static_cast<float>(rule.decay) * static_cast<float>(step.decay);
      rate = rule.sums_steps ? 1 : rate;
    } else if (formula == UpdateFormula::kYellowFin) {
      along = static_cast<float>(step.momentum);
    }
  }

  YOKE_HOST_DEVICE static float Sign(float x) { return x > 0 ? 1.0F : x < 0 ? -1.0F : 0.0F; }

  /// `s0`, `s1`: the state arrays' elements, of formulas that have them.
  YOKE_HOST_DEVICE void operator()(float& w, float gradient, float* s0, float* s1) const {
    const float g = scale * gradient;
    switch (formula) {
      case UpdateFormula::kSgd:
        w -= rate * (g + decay * w);
        return;
      case UpdateFormula::kMomentum: {
        const float own = g + decay * w;
        *s0 = beta1 * *s0 + own;
        w -= rate * (direct * own + along * *s0);
        return;
      }
      case UpdateFormula::kAdam:
        return Adam(w, g, *s0, *s1);
      case UpdateFormula::kAdagrad: {
        const float own = g + decay * w;
        *s0 += own * own;
        w -= rate * own / (sqrtf(*s0) + epsilon);
        return;
      }
      case UpdateFormula::kRmsProp: {
        const float own = g + decay * w;
        *s0 = beta2 * *s0 + rest2 * own * own;
        w -= rate * own / (sqrtf(*s0) + epsilon);
        return;
      }
      case UpdateFormula::kLion: {
        const float direction = Sign(fmaf(beta1, *s0, rest1 * g));
        w = fmaf(keep, w, -rate * direction);
        *s0 = fmaf(beta2, *s0, rest2 * g);
        return;
      }
      case UpdateFormula::kYellowFin:
        *s0 = beta1 * *s0 + rest1 * g;
        *s1 = along * *s1 - rate * (g + decay * w);
        w += *s1;
        return;
      default:
        return;
    }
  }

 private:
  YOKE_HOST_DEVICE void Adam(float& w, float gradient, float& m, float& v) const {
    const float kept = keep * w;
    const float g = gradient + decay * kept;
    m = beta1 * m + rest1 * g;
    v = beta2 * v + rest2 * g * g;
    const float root = sqrtf(v), bound = most * root;
    const float low = m < -bound ? -bound : m, mean = low > bound ? bound : low;
    w = kept - rate * mean / (root * inverse + epsilon);
  }
};

struct UpdateBody {
  RuleConstants rule;
  UpdateCall call;
  int64_t each;  ///< Elements of a team's run.

  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t i) const {
    if (call.scalars->stop != 0) return;
    if (call.ids && i >= call.Rows()) return;
    if (call.ids) return Row(team, i);
    const int64_t begin = i * each, end = Least(begin + each, call.span.count);
    if (!call.parts) return Run(team, call.settings.Of(call.scalars->step), begin, begin, end);
    for (int64_t p = FirstPart(call.first + begin);
         p < call.part_count && call.parts[p].begin < call.first + end; ++p) {
      const int64_t from = Most(call.parts[p].begin - call.first, begin);
      const int64_t to = Least(call.parts[p].end - call.first, end);
      Run(team, call.parts[p].settings.Of(call.scalars->step), from, from, to);
    }
  }

 private:
  template <typename Team>
  YOKE_HOST_DEVICE void Row(Team& team, int64_t r) const {
    const int64_t id = call.ids[r];
    UpdateStep step = call.settings.Of(call.scalars->step);
    step.step = call.steps[id] + 1;
    team.Sync();  // all threads have read it
    team.Once([&] { call.steps[id] = static_cast<int32_t>(step.step); });
    Run(team, step, id * call.span.count, r * call.span.count, (id + 1) * call.span.count);
  }

  /// Values [begin, end), whose gradient begins at `gradient`.
  template <typename Team>
  YOKE_HOST_DEVICE void Run(Team& team, const UpdateStep& step, int64_t begin, int64_t gradient,
                            int64_t end) const {
    const ElementUpdate update(rule, step);
    float* const s0 = call.span.state[0];
    float* const s1 = call.span.state[1];
    team.Each(end - begin, [&](int64_t i) {
      update(call.span.values[begin + i], call.span.gradient[gradient + i],
             s0 ? s0 + begin + i : nullptr, s1 ? s1 + begin + i : nullptr);
    });
  }

  /// The first part that ends behind this element.
  YOKE_HOST_DEVICE int64_t FirstPart(int64_t element) const {
    int64_t low = 0, high = call.part_count;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (call.parts[middle].end > element)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }
};

template <typename Grid>
class UpdateOn : public GridKernel<Grid, UpdateCall> {
 public:
  UpdateOn(const RuleConstants& rule, const Grid& grid)
      : GridKernel<Grid, UpdateCall>(grid), rule_(rule) {}
  void Forward(const UpdateCall& call) override {
    const int64_t width = call.span.count;
    if (call.ids)
      this->grid_.Teams(call.rows, ThreadsFor(width), UpdateBody{rule_, call, width});
    else
      this->grid_.Teams((width + kRun - 1) / kRun, kTeam, UpdateBody{rule_, call, kRun});
  }

 private:
  static constexpr int64_t kRun = 4 * kTeam;  // what starts a thread is paid by four elements

  RuleConstants rule_;
};

struct UpdateStartBody {
  UpdateStart call;
  YOKE_HOST_DEVICE void operator()(int64_t /*one*/) const {
    UpdateStep step = call.starts ? call.step : call.scalars->step;
    if (call.clip_norm > 0) {
      const double norm = step.gradient_scale * sqrt(call.scalars->squares.gradient);
      if (norm > call.clip_norm) step.gradient_scale *= call.clip_norm / norm;
    }
    call.scalars->step = step;
  }
};

template <typename Grid>
class UpdateStartOn : public GridKernel<Grid, UpdateStart> {
 public:
  UpdateStartOn(const NoShape& /*none*/, const Grid& grid) : GridKernel<Grid, UpdateStart>(grid) {}
  void Forward(const UpdateStart& call) override { this->grid_.Each(1, UpdateStartBody{call}); }
};

}  // namespace yoke::cuda
