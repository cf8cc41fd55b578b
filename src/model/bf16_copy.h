// Bf16Copy: a bf16 copy of the dense parameters, for layers that compute in bf16.
#pragma once

#include "kernels/convert.h"
#include "params/store.h"

namespace yoke {

class Bf16Copy {
 public:
  explicit Bf16Copy(const Target& target = {}) : target_(target), convert_(MakeConvert(target)) {}

  /// The view with `bf16` set: the place of the copy, as Refresh left it.
  ParamView View(const ParamView& params) {
    const int64_t count = params.layout->dense_size();
    if (copy_.bytes() == 0) copy_ = Buffer(*target_.device, count * SizeOf(DType::kBf16));
    ParamView view = params;
    view.bf16 = copy_.As<Bf16>();
    return view;
  }
  /// Copies the dense values of `params` in one pass and returns that view. Valid until the next
  /// call.
  ParamView Refresh(const ParamView& params) {
    const ParamView view = View(params);
    const int64_t count = params.layout->dense_size();
    convert_->Forward({{.shape = {count}, .type = DType::kF32, .data = params.values.data},
                       {.shape = {count}, .type = DType::kBf16, .data = copy_.data()}});
    return view;
  }

 private:
  Target target_;
  std::unique_ptr<ConvertKernel> convert_;
  Buffer copy_;
};

}  // namespace yoke
