// Compression: gradients in fewer bytes on their way, what is lost being sent later.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/options.h"

namespace yoke {

enum class Compression {
  kNone,
  kBf16,  ///< The upper half of each number, rounded to nearest: 2 bytes.
  kInt8,  ///< Blocks of 256 numbers, each in 254 steps of the largest one: 1 byte and a 64th.
  kTopK,  ///< The share of the numbers that are largest, with their places: 8 bytes each.
};

struct CompressionSettings {
  Compression kind = Compression::kNone;
  double top_share = 1;  ///< kTopK's.
};

/// compression and top_share, for a strategy that can take them.
std::vector<OptionSpec> CompressionOptions();
CompressionSettings ReadCompression(const Options& options);

/// Error feedback (Seide et al., "1-bit SGD", Interspeech 2014; Karimireddy et al., 2019, arXiv
/// 1901.09847): what an int8 or top-k message lost of x is added to the next x.
class Compressor {
 public:
  /// For a gradient of `count` numbers; with 0 it decodes and prices.
  explicit Compressor(const CompressionSettings& settings, int64_t count = 0);
  Compressor(const Options& options, int64_t count) : Compressor(ReadCompression(options), count) {}

  Compression kind() const { return settings_.kind; }
  const CompressionSettings& settings() const { return settings_; }
  /// Numbers that begin at `offset` of the gradient, as a message.
  std::vector<std::byte> Encode(std::span<const float> values, int64_t offset);
  /// sum += what a message of as many numbers said. Throws Error where it is none.
  void AddTo(std::span<float> sum, std::span<const std::byte> message) const;
  /// Bytes of a message of `count` numbers: never more than they have in f32. (A few numbers that
  /// int8 or top-k would not shrink travel as they are.)
  int64_t BytesOf(int64_t count) const;
  /// What has been lost so far; empty where nothing is fed back.
  std::vector<float>& residual() { return residual_; }

 private:
  int64_t Kept(int64_t count) const;
  int64_t CompressedBytes(int64_t count) const;
  bool Shrinks(int64_t count) const { return CompressedBytes(count) < 4 * count; }
  int64_t BytesOfPiece(int64_t count) const {
    return Shrinks(count) ? CompressedBytes(count) : 4 * count;
  }
  void EncodePiece(std::span<const float> values, int64_t offset, std::span<std::byte> bytes);
  void AddPiece(std::span<float> sum, std::span<const std::byte> bytes) const;

  CompressionSettings settings_;
  std::vector<float> residual_;
};

}  // namespace yoke
