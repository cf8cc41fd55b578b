// First touch: a zero into each page.
#include "optim/first_touch.h"

#include <omp.h>
#include <unistd.h>

#include "optim/thread_part.h"

namespace yoke {

void TouchFirst(const ParamStore& params) {
  constexpr int64_t kLarge = 1 << 22;  // smaller ones are cleared when they are allocated
  const Array<float> values = params.values();
  if (!values.OnHost() || values.Bytes() < kLarge) return;
  const int64_t page = sysconf(_SC_PAGESIZE) / static_cast<int64_t>(sizeof(float));
#pragma omp parallel
  for (size_t slice = 0; slice < params.layout().slices().size(); ++slice) {
    const Array<float> of_slice = params.values(static_cast<int>(slice));
    const auto [begin, end] =
        ThreadPart(of_slice.count, omp_get_thread_num(), omp_get_num_threads());
    for (int64_t i = begin; i < end; i += page) of_slice.data[i] = 0;
  }
}

}  // namespace yoke
