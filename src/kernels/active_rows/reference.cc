// Active rows in plain loops: y = x . w + b for each use of a row; dw += dy x, db += dy, dx += dy
// w.
#include <algorithm>

#include "kernels/active_rows/active_rows.h"

namespace yoke::reference {
namespace {

class ActiveRowLoops : public ActiveRowsKernel {
 public:
  explicit ActiveRowLoops(const ActiveRowsShape& shape) : s_(shape) {}

  void Forward(const ActiveRowsCall& call) override {
    for (int64_t k = 0; k < call.used.Uses(); ++k) {
      const RowUse& use = call.used.uses[k];
      float y = s_.bias ? call.bias[use.id] : 0;
      for (int64_t i = 0; i < s_.inputs; ++i)
        y += call.input[use.example * s_.inputs + i] * Weight(call, use.id * s_.inputs + i);
      call.values[use.place] = s_.relu && y < 0 ? 0 : y;
    }
  }

  void Backward(const ActiveRowsCall& call) override {
    std::fill_n(call.row_gradient, call.used.count * s_.inputs, 0.0F);
    if (s_.bias) std::fill_n(call.bias_gradient, call.used.count, 0.0F);
    if (s_.input_gradient) std::fill_n(call.input_gradient, s_.batch * s_.inputs, 0.0F);
    for (int64_t r = 0; r < call.used.count; ++r)
      for (int64_t k = call.used.starts[r]; k < call.used.starts[r + 1]; ++k)
        BackwardUse(call, r, call.used.uses[k]);
  }

  std::string name() const override { return "reference"; }

 private:
  static float Weight(const ActiveRowsCall& call, int64_t i) {
    return call.bf16_weight ? static_cast<float>(call.bf16_weight[i]) : call.weight[i];
  }

  void BackwardUse(const ActiveRowsCall& call, int64_t r, const RowUse& use) const {
    float& dy = call.gradient[use.place];
    if (s_.relu && !(call.values[use.place] > 0)) dy = 0;
    if (s_.bias) call.bias_gradient[r] += dy;
    for (int64_t i = 0; i < s_.inputs; ++i) {
      const int64_t at = use.example * s_.inputs + i;
      call.row_gradient[r * s_.inputs + i] += dy * call.input[at];
      if (s_.input_gradient) call.input_gradient[at] += dy * Weight(call, use.id * s_.inputs + i);
    }
  }

  ActiveRowsShape s_;
};

}  // namespace

std::unique_ptr<ActiveRowsKernel> ActiveRows(const ActiveRowsShape& shape) {
  return std::make_unique<ActiveRowLoops>(shape);
}

}  // namespace yoke::reference
