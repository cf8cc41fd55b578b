// Convert: one pass over memory; an image is transposed between (channels, pixels) and (pixels,
// channels).
#include "kernels/convert.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/makers.h"

namespace yoke {
namespace {

constexpr int64_t kConvertBlock = 16384;  // elements a thread takes at a time

template <typename From, typename To>
void ConvertRange(const From* from, To* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(static_cast<float>(from[i]));
}

template <typename From, typename To>
void ConvertFlat(const From* from, To* to, int64_t n) {
#pragma omp parallel for schedule(static) if (n > kConvertBlock)
  for (int64_t i = 0; i < n; i += kConvertBlock)
    ConvertRange(from + i, to + i, std::min(kConvertBlock, n - i));
}

/// to[b][j][i] = from[b][i][j] for each of `batch` matrices of rows x columns.
template <typename From, typename To>
void Transpose(const From* from, To* to, const Shape& size) {
  const int64_t rows = size[1], columns = size[2], image = rows * columns;
#pragma omp parallel for schedule(static) if (size.Count() > kConvertBlock)
  for (int64_t b = 0; b < size[0]; ++b)
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = 0; i < rows; ++i)
        to[b * image + j * rows + i] =
            static_cast<To>(static_cast<float>(from[b * image + i * columns + j]));
}

template <typename From, typename To>
void ConvertTyped(const ConstTensor& from, const Tensor& to) {
  const Shape& shape = from.shape;
  if (from.layout == to.layout || shape.rank() != 4)
    return ConvertFlat(from.As<From>(), to.As<To>(), from.Count());
  const int64_t pixels = shape[2] * shape[3];
  if (from.layout == Layout::kPlain)
    Transpose(from.As<From>(), to.As<To>(), {shape[0], shape[1], pixels});
  else
    Transpose(from.As<From>(), to.As<To>(), {shape[0], pixels, shape[1]});
}

}  // namespace

void Convert(const ConstTensor& from, const Tensor& to) {
  Check(from.Count() == to.Count(), "a conversion keeps the shape");
  const bool from_f32 = from.type == DType::kF32, to_f32 = to.type == DType::kF32;
  Check((from_f32 || from.type == DType::kBf16) && (to_f32 || to.type == DType::kBf16),
        "conversions are between f32 and bf16");
  if (from_f32)
    return to_f32 ? ConvertTyped<float, float>(from, to) : ConvertTyped<float, Bf16>(from, to);
  return to_f32 ? ConvertTyped<Bf16, float>(from, to) : ConvertTyped<Bf16, Bf16>(from, to);
}

const float* InF32(const ConstTensor& from, int64_t first, int64_t count,
                   std::vector<float>& copy) {
  if (from.type == DType::kF32) return from.As<float>() + first;
  copy.resize(static_cast<size_t>(count));
  ConvertRange(from.As<Bf16>() + first, copy.data(), count);
  return copy.data();
}

namespace {
struct ConvertLoop {
  using Call = ConvertCall;
  static void Forward(const Call& call) { Convert(call.from, call.to); }
};
}  // namespace

const KernelList<ConvertCall, NoShape> operation::kConvert(
    "convert", {.backward = false, .others = "between types and layouts"},
    {{"cuda", "cuda", cuda::Make}, {"loops", LoopsOf<ConvertLoop>}});

std::unique_ptr<ConvertKernel> MakeConvert(const Target& target) {
  return operation::kConvert.Make({}, target);
}

}  // namespace yoke
