// Shortcut: rows of elements are copied; what has no source is zero.
#include "kernels/shortcut.h"

#include <algorithm>

#include "kernels/makers.h"

namespace yoke {
namespace {

/// to[n, c, y, x] = from[n, c, y * a / b, x * a / b] where that pixel and channel exist and the
/// division leaves no rest, else 0.
template <typename T>
void Sample(const T* from, const Shape& source, T* to, const Shape& target, Layout layout,
            int64_t a, int64_t b) {
  const ImageIndex at(source, layout), put(target, layout);
#pragma omp parallel for schedule(static) collapse(2)
  for (int64_t n = 0; n < target[0]; ++n)
    for (int64_t y = 0; y < target[2]; ++y)
      for (int64_t x = 0; x < target[3]; ++x) {
        const bool taken = y % b == 0 && x % b == 0;
        const int64_t copied = taken ? std::min(source[1], target[1]) : 0;
        if (layout == Layout::kChannelsLast) {  // a pixel's channels lie together
          T* pixel = to + put(n, 0, y, x);
          if (copied > 0) std::copy_n(from + at(n, 0, y * a / b, x * a / b), copied, pixel);
          std::fill_n(pixel + copied, target[1] - copied, T{});
          continue;
        }
        for (int64_t c = 0; c < target[1]; ++c)
          to[put(n, c, y, x)] = c < copied ? from[at(n, c, y * a / b, x * a / b)] : T{};
      }
}

template <typename T>
struct ShortcutLoop {
  using Call = ShortcutCall;
  ShortcutShape s;
  void Forward(const Call& call) const {
    Sample(static_cast<const T*>(call.input), s.Input(), static_cast<T*>(call.output), s.Output(),
           s.layout, s.stride, 1);
  }
  void Backward(const Call& call) const {
    Sample(static_cast<const T*>(call.output_gradient), s.Output(),
           static_cast<T*>(call.input_gradient), s.Input(), s.layout, 1, s.stride);
  }
};

}  // namespace

const KernelList<ShortcutCall, ShortcutShape> operation::kShortcut(
    "shortcut", {}, {{"cuda", "cuda", cuda::Make}, {"loops", TypedLoopsOf<ShortcutLoop>}});

std::unique_ptr<ShortcutKernel> MakeShortcut(const ShortcutShape& shape, const Target& target) {
  return operation::kShortcut.Make(shape, target);
}

}  // namespace yoke
