// Normalize: one pass over an example, by channel; over a crop by row.
#include "kernels/normalize.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/check.h"
#include "kernels/makers.h"

namespace yoke {
namespace {

template <typename T>
void ScaleStored(const T* __restrict from, float* __restrict to, int64_t n, float factor,
                 float offset) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]) * factor + offset;
}

/// From the last to the first.
template <typename T>
void ScaleMirrored(const T* __restrict last, float* __restrict to, int64_t n, float factor,
                   float offset) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(last[-i]) * factor + offset;
}

template <typename T>
void ScaleFeatures(const T* __restrict from, float* __restrict to, int64_t n,
                   const float* __restrict factors, const float* __restrict offsets) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]) * factors[i] + offsets[i];
}

template <typename T>
void NormalizeWhole(const T* stored, int64_t count, const ChannelScales& scales, float* input) {
  const float* const factors = scales.values;
  const float* const offsets = factors + scales.channels;
  const int64_t area = count / scales.channels;
  if (area == 1) return ScaleFeatures(stored, input, count, factors, offsets);
  for (int64_t c = 0; c < scales.channels; ++c)
    ScaleStored(stored + c * area, input + c * area, area, factors[c], offsets[c]);
}

/// A channel of an image.
template <typename T>
struct StoredPlane {
  const T* pixels = nullptr;
  int64_t height = 0;
  int64_t width = 0;
  float factor = 1, offset = 0, black = 0;
};

/// Pixels [first, first + n) of a row.
template <typename T>
void NormalizeRow(const StoredPlane<T>& plane, const T* row, bool mirrored, int64_t first,
                  int64_t n, float* to) {
  if (mirrored)
    ScaleMirrored(row + plane.width - 1 - first, to, n, plane.factor, plane.offset);
  else
    ScaleStored(row + first, to, n, plane.factor, plane.offset);
}

/// A crop of the image's size.
template <typename T>
void CutPlane(const StoredPlane<T>& plane, const ImageCrop& crop, float* to) {
  const int64_t left = crop.left, before = std::max<int64_t>(-left, 0);
  const int64_t inside = plane.width - std::abs(left), after = plane.width - before - inside;
  for (int64_t y = crop.top; y < crop.top + plane.height; ++y, to += plane.width) {
    if (y < 0 || y >= plane.height) {
      std::fill_n(to, plane.width, plane.black);
      continue;
    }
    std::fill_n(to, before, plane.black);
    NormalizeRow(plane, plane.pixels + y * plane.width, crop.mirrored != 0, after, inside,
                 to + before);
    std::fill_n(to + before + inside, after, plane.black);
  }
}

/// A new pixel is (1 - next) * old pixel `first` + next * old pixel `second`.
struct PixelTap {
  int64_t first = 0;
  int64_t second = 0;
  float next = 0;
};

/// The crop is no larger than the image, so no pixel is skipped.
std::vector<PixelTap> TapsOf(int64_t start, int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  std::vector<PixelTap> taps;
  for (int64_t i = 0; i < to; ++i) {
    const double place = std::max(0.0, (static_cast<double>(i) + 0.5) * scale - 0.5);
    const auto first = static_cast<int64_t>(place);
    taps.push_back({start + first, start + std::min(first + 1, from - 1),
                    static_cast<float>(place - static_cast<double>(first))});
  }
  return taps;
}

float Between(float first, float second, float next) { return first + next * (second - first); }

/// A smaller crop, stretched.
template <typename T>
void StretchPlane(const StoredPlane<T>& plane, const ImageCrop& crop, float* to) {
  std::vector<float> whole(static_cast<size_t>(plane.height * plane.width));
  CutPlane(plane, {.mirrored = crop.mirrored}, whole.data());
  const std::vector<PixelTap> columns = TapsOf(crop.left, crop.width, plane.width);
  for (const PixelTap& row : TapsOf(crop.top, crop.height, plane.height)) {
    const float* upper = whole.data() + row.first * plane.width;
    const float* lower = whole.data() + row.second * plane.width;
    for (const PixelTap& column : columns)
      *to++ = Between(Between(upper[column.first], upper[column.second], column.next),
                      Between(lower[column.first], lower[column.second], column.next), row.next);
  }
}

struct NormalizeLoop {
  using Call = NormalizeCall;
  static void Forward(const Call& call) {
    Check(call.stored.type == DType::kU8, "what is normalized is stored in bytes");
    const Shape example(call.stored.shape.axes().subspan(1));
    const int64_t batch = call.stored.shape[0], count = example.Count();
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < batch; ++i)
      NormalizeExample(call.stored.As<uint8_t>() + i * count, example, call.scales,
                       call.crops ? call.crops + i : nullptr, call.input.As<float>() + i * count);
  }
};

}  // namespace

template <typename T>
void NormalizeExample(const T* stored, const Shape& shape, const ChannelScales& scales,
                      const ImageCrop* crop, float* input) {
  const int64_t count = shape.Count(), height = shape[1], width = shape[2];
  const bool resized = crop && (crop->height != height || crop->width != width);
  if (!crop || (!resized && crop->top == 0 && crop->left == 0 && crop->mirrored == 0))
    return NormalizeWhole(stored, count, scales, input);
  for (int64_t c = 0; c < shape[0]; ++c) {
    const float* const scale = scales.values + (scales.channels == 1 ? 0 : c);
    const StoredPlane<T> plane = {
        stored + c * height * width, height, width, scale[0], scale[scales.channels],
        scale[2 * scales.channels]};
    float* const to = input + c * height * width;
    resized ? StretchPlane(plane, *crop, to) : CutPlane(plane, *crop, to);
  }
}

template void NormalizeExample(const uint8_t*, const Shape&, const ChannelScales&, const ImageCrop*,
                               float*);
template void NormalizeExample(const float*, const Shape&, const ChannelScales&, const ImageCrop*,
                               float*);

const KernelList<NormalizeCall, NoShape> operation::kNormalize(
    "normalize", {.backward = false, .bf16 = false, .others = "bytes, image crops"},
    {{"cuda", "cuda", cuda::Make}, {"loops", LoopsOf<NormalizeLoop>}});

std::unique_ptr<Kernel<NormalizeCall>> MakeNormalize(const Target& target) {
  return operation::kNormalize.Make({}, target);
}

}  // namespace yoke
