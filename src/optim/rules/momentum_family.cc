// MomentumFamily: one pass for momentum and Nesterov momentum.
#include "optim/rules/momentum_family.h"

namespace yoke {
namespace {

class Momentum : public UpdateRule {
 public:
  Momentum(const Options& options, MomentumForm form)
      : momentum_(static_cast<float>(options.Float("momentum"))),
        decay_(static_cast<float>(options.Float("weight_decay"))),
        direct_(form == MomentumForm::kNesterov ? 1.0F : 0.0F),
        along_(form == MomentumForm::kNesterov ? momentum_ : 1.0F) {}

  std::vector<std::string> StateNames() const override { return {"momentum"}; }

  void Update(const UpdateSpan& span, const UpdateStep& step) const override {
    float* __restrict w = span.values;
    float* __restrict m = span.state[0];
    const float* __restrict gradient = span.gradient;
    const float rate = static_cast<float>(step.learning_rate);
    const float scale = static_cast<float>(step.gradient_scale);
    const float momentum = momentum_, decay = decay_, direct = direct_, along = along_;
    for (int64_t i = 0; i < span.count; ++i) {
      const float g = scale * gradient[i] + decay * w[i];
      m[i] = momentum * m[i] + g;
      w[i] -= rate * (direct * g + along * m[i]);
    }
  }

 private:
  float momentum_, decay_, direct_, along_;
};

}  // namespace

std::unique_ptr<UpdateRule> MakeMomentum(const Options& options, MomentumForm form) {
  return std::make_unique<Momentum>(options, form);
}

}  // namespace yoke
