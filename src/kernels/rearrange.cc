// Rearrange: one pass over memory each.
#include "kernels/rearrange.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/makers.h"

namespace yoke {
namespace {

/// An image tensor as planes of rows: of each channel, or, channels last, of all at once.
struct Planes {
  int64_t count, rows, row;
  explicit Planes(const Tensor& t) : rows(t.shape[2]) {
    const bool last = t.layout == Layout::kChannelsLast;
    count = t.shape[0] * (last ? 1 : t.shape[1]);
    row = t.shape[3] * (last ? t.shape[1] : 1);
  }
  /// Elements in a pixel of a row.
  static int64_t Pixel(const Tensor& t) {
    return t.layout == Layout::kChannelsLast ? t.shape[1] : 1;
  }
};

template <typename T>
void Pad(const Tensor& input, int64_t top, int64_t left, float value, const Tensor& output) {
  const Planes in(input), out(output);
  const int64_t before = left * Planes::Pixel(input);
#pragma omp parallel for schedule(static) collapse(2)
  for (int64_t p = 0; p < out.count; ++p)
    for (int64_t r = 0; r < out.rows; ++r) {
      T* to = output.As<T>() + (p * out.rows + r) * out.row;
      const bool inside = r >= top && r < top + in.rows;
      if (!inside) {
        std::fill_n(to, out.row, static_cast<T>(value));
        continue;
      }
      std::fill_n(to, before, static_cast<T>(value));
      std::copy_n(input.As<T>() + (p * in.rows + r - top) * in.row, in.row, to + before);
      std::fill(to + before + in.row, to + out.row, static_cast<T>(value));
    }
}

template <typename T>
void Crop(const Tensor& input, int64_t top, int64_t left, const Tensor& output) {
  const Planes in(input), out(output);
  const int64_t before = left * Planes::Pixel(input);
#pragma omp parallel for schedule(static) collapse(2)
  for (int64_t p = 0; p < out.count; ++p)
    for (int64_t r = 0; r < out.rows; ++r)
      std::copy_n(input.As<T>() + (p * in.rows + r + top) * in.row + before, out.row,
                  output.As<T>() + (p * out.rows + r) * out.row);
}

template <typename T>
void Shuffle(const Tensor& input, int64_t groups, const Tensor& output) {
  const int64_t channels = input.shape[1], n = channels / groups;
  const int64_t pixels = input.Count() / (input.shape[0] * channels);
  const bool last = input.layout == Layout::kChannelsLast;
  const int64_t run = last ? 1 : pixels;  // elements of one channel that lie together
  const int64_t blocks = input.shape[0] * (last ? pixels : 1);
#pragma omp parallel for schedule(static)
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < groups; ++i)
        std::copy_n(input.As<T>() + (b * channels + i * n + j) * run, run,
                    output.As<T>() + (b * channels + j * groups + i) * run);
}

void ShuffleChannels(const ShuffleCall& call, int64_t groups) {
  if (call.input.type == DType::kF32) return Shuffle<float>(call.input, groups, call.output);
  Check(call.input.type == DType::kBf16, "channels are of f32 or bf16");
  Shuffle<Bf16>(call.input, groups, call.output);
}

struct PadLoop {
  using Call = PadCall;
  PadShape s;
  void Forward(const Call& call) const {
    if (call.image.type == DType::kF32)
      return Pad<float>(call.image, s.top, s.left, s.value, call.padded);
    Check(call.image.type == DType::kBf16, "images are of f32 or bf16");
    Pad<Bf16>(call.image, s.top, s.left, s.value, call.padded);
  }
  void Backward(const Call& call) const {
    if (call.image.type == DType::kF32) return Crop<float>(call.padded, s.top, s.left, call.image);
    Crop<Bf16>(call.padded, s.top, s.left, call.image);
  }
};

struct ShuffleLoop {
  using Call = ShuffleCall;
  ShuffleShape s;
  void Forward(const Call& call) const { ShuffleChannels(call, s.groups); }
  void Backward(const Call& call) const { ShuffleChannels(call, call.input.shape[1] / s.groups); }
};

}  // namespace

const KernelList<PadCall, PadShape> operation::kPad("pad", {},
                                                    {{"cuda", "cuda", cuda::Make},
                                                     {"loops", LoopsOf<PadLoop>}});
const KernelList<ShuffleCall, ShuffleShape> operation::kShuffle("shuffle", {},
                                                                {{"cuda", "cuda", cuda::Make},
                                                                 {"loops", LoopsOf<ShuffleLoop>}});

std::unique_ptr<PadKernel> MakePad(const PadShape& shape, const Target& target) {
  return operation::kPad.Make(shape, target);
}

std::unique_ptr<ShuffleKernel> MakeShuffle(int64_t groups, const Target& target) {
  return operation::kShuffle.Make({groups}, target);
}

}  // namespace yoke
