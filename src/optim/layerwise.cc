// LayerwiseRule: what such rules have in common.
#include "optim/layerwise.h"

#include <algorithm>

#include "base/check.h"

namespace yoke {

std::unique_ptr<Kernel<UpdateCall>> LayerwiseRule::MakeKernel(const Target& target) const {
  if (target.device->IsHost()) return UpdateRule::MakeKernel(target);
  throw UserError(
      fmt::format("rule {} runs on the CPU alone, and this is {}: it looks at whole "
                  "layers",
                  name(), target.device->name()));
}

void LayerwiseRule::UpdateElements(const UpdateSpan& span, const UpdateStep& step) const {
  constexpr int64_t kAtOnce = 1 << 12;
#pragma omp parallel for schedule(static) if (span.count > kParallelCount)
  for (int64_t begin = 0; begin < span.count; begin += kAtOnce)
    Update(PartOf(span, begin, std::min(span.count, begin + kAtOnce)), step);
}

}  // namespace yoke
