// Compression: encoders and decoders of a few lines each.
#include "strategy/compress.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "kernels/vectors.h"
#include "tensor/types.h"

namespace yoke {
namespace {

/// Blocks of elements that share a scale, each element a code of so many bits.
struct BlockFormat {
  int64_t block = 0;
  int bits = 0;

  float Steps() const { return static_cast<float>((1 << (bits - 1)) - 1); }  // on either side of 0
  int64_t Blocks(int64_t count) const { return (count + block - 1) / block; }
  int64_t Bytes(int64_t count) const { return 4 * Blocks(count) + (count * bits + 7) / 8; }
};
constexpr BlockFormat kInt8 = {.block = 256, .bits = 8};
constexpr BlockFormat kInt4 = {.block = 64, .bits = 4};
constexpr int kHalfByte = 4;  // bits
constexpr int kZero = 8;      // a code of 4 bits is stored with this added

/// A longer gradient is encoded in pieces of so many elements, one after the other: places in a
/// piece fit 32 bits, and the memory that choosing takes is bounded.
constexpr int64_t kPiece = int64_t{1} << 24;
constexpr float kNothing = 1e-30F;

template <typename T>
T* At(std::span<std::byte> bytes, int64_t offset) {
  return reinterpret_cast<T*>(bytes.data() + offset);
}
template <typename T>
const T* At(std::span<const std::byte> bytes, int64_t offset) {
  return reinterpret_cast<const T*>(bytes.data() + offset);
}

/// work(first, piece) for each piece of so many elements.
template <typename Work>
void ForPieces(int64_t count, const Work& work) {
  for (int64_t begin = 0; begin < count; begin += kPiece)
    work(begin, std::min(kPiece, count - begin));
}

/// Codes of one format, one after the other.
template <BlockFormat Format, typename Byte>
class Codes {
 public:
  explicit Codes(Byte* bytes) : bytes_(bytes) {}

  void Put(int64_t i, int code) const {
    if constexpr (Format.bits == kInt8.bits)
      bytes_[i] = static_cast<Byte>(code);
    else if (i % 2 == 0)
      bytes_[i / 2] = static_cast<Byte>(code + kZero);
    else
      bytes_[i / 2] |= static_cast<Byte>((code + kZero) << kHalfByte);
  }
  float At(int64_t i) const {
    if constexpr (Format.bits == kInt8.bits) return static_cast<float>(bytes_[i]);
    const int both = static_cast<uint8_t>(bytes_[i / 2]);
    return static_cast<float>((i % 2 == 0 ? both & 15 : both >> kHalfByte) - kZero);
  }

 private:
  Byte* bytes_;
};

/// `x` becomes what is lost.
template <BlockFormat Format>
void EncodeBlocks(std::span<float> x, std::span<std::byte> bytes) {
  const auto count = static_cast<int64_t>(x.size());
  auto* scales = At<float>(bytes, 0);
  const Codes<Format, int8_t> codes(At<int8_t>(bytes, 4 * Format.Blocks(count)));
  for (int64_t block = 0; block < Format.Blocks(count); ++block) {
    const int64_t begin = block * Format.block, end = std::min(begin + Format.block, count);
    float largest = 0;
    bool finite = true;
    for (int64_t i = begin; i < end; ++i) {
      largest = std::max(largest, std::abs(x[i]));
      finite = finite && std::isfinite(x[i]);
    }
    if (!finite) {  // the sum is not finite either, and the run ends as diverged
      scales[block] = std::numeric_limits<float>::quiet_NaN();
      for (int64_t i = begin; i < end; ++i) codes.Put(i, 0);
      continue;
    }
    if (largest < kNothing) largest = 0;  // its inverse has no number; it stays behind
    scales[block] = largest / Format.Steps();
    const float inverse = largest > 0 ? Format.Steps() / largest : 0;
    for (int64_t i = begin; i < end; ++i) {
      const auto code = static_cast<int>(std::nearbyint(x[i] * inverse));
      codes.Put(i, code);
      x[i] -= scales[block] * static_cast<float>(code);
    }
  }
}

template <BlockFormat Format>
void AddBlocks(std::span<float> sum, std::span<const std::byte> bytes) {
  const auto count = static_cast<int64_t>(sum.size());
  const auto* scales = At<float>(bytes, 0);
  const Codes<Format, const int8_t> codes(At<int8_t>(bytes, 4 * Format.Blocks(count)));
  for (int64_t i = 0; i < count; ++i) sum[i] += scales[i / Format.block] * codes.At(i);
}

/// `x` becomes what is lost. Of equal ones the first are sent.
void EncodeTopK(std::span<float> x, int64_t sent, std::span<std::byte> bytes) {
  std::vector<int32_t> places(x.size());  // of at most kPiece
  std::iota(places.begin(), places.end(), 0);
  std::nth_element(places.begin(), places.begin() + sent, places.end(), [&](int32_t a, int32_t b) {
    const float at_a = std::abs(x[a]), at_b = std::abs(x[b]);
    return at_a != at_b ? at_a > at_b : a < b;
  });
  std::sort(places.begin(), places.begin() + sent);
  auto* ids = At<int32_t>(bytes, 0);
  auto* values = At<float>(bytes, 4 * sent);
  for (int64_t k = 0; k < sent; ++k) {
    ids[k] = places[k];
    values[k] = std::exchange(x[places[k]], 0.0F);
  }
}

void AddTopK(std::span<float> sum, int64_t sent, std::span<const std::byte> bytes) {
  const auto* ids = At<int32_t>(bytes, 0);
  const auto* values = At<float>(bytes, 4 * sent);
  for (int64_t k = 0; k < sent; ++k) {
    Check(ids[k] >= 0 && ids[k] < static_cast<int64_t>(sum.size()),
          "a compressed message names a number that the gradient does not have");
    sum[ids[k]] += values[k];
  }
}

}  // namespace

std::vector<OptionSpec> CompressionOptions() {
  return {
      {.name = "compression",
       .type = OptionType::kString,
       .fallback = "none",
       .help = "Encoding of sent gradients: bf16 halves them; int8, int4 and topk send their error "
               "later.",
       .choices = {"none", "bf16", "int8", "int4", "topk"}},
      {.name = "top_share",
       .type = OptionType::kFloat,
       .fallback = 0.01,
       .help = "The fraction of a gradient's elements that topk sends.",
       .minimum = 0,
       .maximum = 1,
       .exclusive_minimum = true}};
}

OptionSpec DenseCompressionOption() {
  return {.name = "compression",
          .type = OptionType::kString,
          .fallback = "none",
          .help = "Encoding of what is sent: bf16 halves it; int8 and int4 send their error later.",
          .choices = {"none", "bf16", "int8", "int4"}};
}

CompressionSettings ReadCompression(const Options& options) {
  CompressionSettings settings = ReadDenseCompression(options);
  settings.top_share = options.Float("top_share");
  return settings;
}

CompressionSettings ReadDenseCompression(const Options& options) {
  CompressionSettings settings;
  const std::string& name = options.String("compression");
  if (name == "bf16") settings.kind = Compression::kBf16;
  if (name == "int8") settings.kind = Compression::kInt8;
  if (name == "int4") settings.kind = Compression::kInt4;
  if (name == "topk") settings.kind = Compression::kTopK;
  return settings;
}

Compressor::Compressor(const CompressionSettings& settings, int64_t count) : settings_(settings) {
  if (kind() != Compression::kNone && kind() != Compression::kBf16) residual_.resize(count);
}

int64_t Compressor::SentCount(int64_t count) const {
  return std::clamp<int64_t>(std::llround(settings_.top_share * static_cast<double>(count)), 1,
                             std::max<int64_t>(count, 1));
}

int64_t Compressor::BytesOf(int64_t count) const {
  return count / kPiece * BytesOfPiece(kPiece) + BytesOfPiece(count % kPiece);
}

int64_t Compressor::CompressedBytes(int64_t count) const {
  switch (kind()) {
    case Compression::kBf16:
      return 2 * count;
    case Compression::kInt8:
      return kInt8.Bytes(count);
    case Compression::kInt4:
      return kInt4.Bytes(count);
    case Compression::kTopK:
      return 8 * SentCount(count);
    default:
      return 4 * count;
  }
}

std::vector<std::byte> Compressor::Encode(std::span<const float> values, int64_t offset) {
  const auto count = static_cast<int64_t>(values.size());
  std::vector<std::byte> message(BytesOf(count));
  ForPieces(count, [&](int64_t begin, int64_t length) {
    EncodePiece(values.subspan(begin, length), offset + begin,
                std::span(message).subspan(BytesOf(begin), BytesOfPiece(length)));
  });
  return message;
}

void Compressor::EncodePiece(std::span<const float> values, int64_t offset,
                             std::span<std::byte> bytes) {
  const auto count = static_cast<int64_t>(values.size());
  if (kind() == Compression::kBf16)
    std::transform(values.begin(), values.end(), At<Bf16>(bytes, 0),
                   [](float value) { return Bf16(value); });
  if (kind() == Compression::kNone) std::memcpy(bytes.data(), values.data(), bytes.size());
  if (residual_.empty()) return;
  const std::span x(residual_.data() + offset, values.size());
  Add(x, values);
  if (!Shrinks(count)) {
    std::memcpy(bytes.data(), x.data(), bytes.size());
    std::ranges::fill(x, 0.0F);
  } else if (kind() == Compression::kInt8) {
    EncodeBlocks<kInt8>(x, bytes);
  } else if (kind() == Compression::kInt4) {
    EncodeBlocks<kInt4>(x, bytes);
  } else {
    EncodeTopK(x, SentCount(count), bytes);
  }
}

void Compressor::AddTo(std::span<float> sum, std::span<const std::byte> message) const {
  const auto count = static_cast<int64_t>(sum.size());
  Check(static_cast<int64_t>(message.size()) == BytesOf(count),
        "a compressed message has another length than its gradient");
  ForPieces(count, [&](int64_t begin, int64_t length) {
    AddPiece(sum.subspan(begin, length), message.subspan(BytesOf(begin), BytesOfPiece(length)));
  });
}

void Compressor::AddPiece(std::span<float> sum, std::span<const std::byte> bytes) const {
  const auto count = static_cast<int64_t>(sum.size());
  if (Shrinks(count) && kind() == Compression::kInt8) return AddBlocks<kInt8>(sum, bytes);
  if (Shrinks(count) && kind() == Compression::kInt4) return AddBlocks<kInt4>(sum, bytes);
  if (Shrinks(count) && kind() == Compression::kTopK) return AddTopK(sum, SentCount(count), bytes);
  if (kind() == Compression::kBf16)
    for (int64_t i = 0; i < count; ++i) sum[i] += static_cast<float>(At<Bf16>(bytes, 0)[i]);
  else
    for (int64_t i = 0; i < count; ++i) sum[i] += At<float>(bytes, 0)[i];
}

}  // namespace yoke
