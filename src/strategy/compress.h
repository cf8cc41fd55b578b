// Compression: sends gradients in fewer bytes, with error feedback, and sums them so.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/options.h"
#include "comm/communicator.h"
#include "tensor/array.h"

namespace yoke {

enum class Compression {
  kNone,
  kBf16,  ///< bf16, rounded to nearest: 2 bytes per element.
  kInt8,  ///< Blocks of 256 elements, each in 254 steps of the largest: 1 + 1/64 bytes per element.
  kInt4,  ///< Blocks of 64 elements, each in 14 steps of the largest: 1/2 + 1/16 bytes per element.
  kTopK,  ///< The largest elements with their positions: 8 bytes each.
};

struct CompressionSettings {
  Compression kind = Compression::kNone;
  double top_share = 1;  ///< Fraction of elements for kTopK.
};

/// The options compression and top_share.
std::vector<OptionSpec> CompressionOptions();
/// The option compression without topk, for what is sent too rarely to correct a large error.
OptionSpec DenseCompressionOption();
/// Those of a strategy with DenseCompressionOption alone.
CompressionSettings ReadDenseCompression(const Options& options);
CompressionSettings ReadCompression(const Options& options);

/// Error feedback (Seide et al., "1-bit SGD", Interspeech 2014; Karimireddy et al., 2019, arXiv
/// 1901.09847): the part of x that an int8, int4 or top-k message loses is added to the next x.
class Compressor {
 public:
  /// For a gradient of `count` elements; with 0, only for decoding and sizes.
  explicit Compressor(const CompressionSettings& settings, int64_t count = 0);
  Compressor(const Options& options, int64_t count) : Compressor(ReadCompression(options), count) {}

  Compression kind() const { return settings_.kind; }
  const CompressionSettings& settings() const { return settings_; }
  /// Encodes the elements from `offset` of the gradient on as a message.
  std::vector<std::byte> Encode(std::span<const float> values, int64_t offset);
  /// Adds a message of this many elements to `sum`. Throws Error if it is not such a message.
  void AddTo(std::span<float> sum, std::span<const std::byte> message) const;
  /// Bytes of a message of `count` elements: never more than in f32. (A few elements that int8,
  /// int4 or top-k would not shrink are sent as they are.)
  int64_t BytesOf(int64_t count) const;
  /// The error so far; empty without error feedback.
  std::vector<float>& residual() { return residual_; }
  /// For values on a device.
  HostCopy& staging() { return staging_; }

 private:
  int64_t SentCount(int64_t count) const;
  int64_t CompressedBytes(int64_t count) const;
  bool Shrinks(int64_t count) const { return CompressedBytes(count) < 4 * count; }
  int64_t BytesOfPiece(int64_t count) const {
    return Shrinks(count) ? CompressedBytes(count) : 4 * count;
  }
  void EncodePiece(std::span<const float> values, int64_t offset, std::span<std::byte> bytes);
  void AddPiece(std::span<float> sum, std::span<const std::byte> bytes) const;

  CompressionSettings settings_;
  std::vector<float> residual_;
  HostCopy staging_;
};

/// All ranks: `values`, which begin at `offset` of the gradient, become their sum over the ranks,
/// up to what compression loses, and the same bits everywhere.
///
/// Where few ranks meet, all gather all messages. Otherwise each rank owns one of P parts: it sends
/// every other owner that one's part, compressed; adds up, in f32, what it is sent of its own;
/// compresses the sum (a top-k sum travels as it is); and all gather the sums. What is lost of a
/// part on its way up stays with its sender, what is lost of a sum with its owner, and both are
/// sent with the next gradient (DoubleSqueeze: Tang et al., ICML 2019, arXiv 1905.05957). It uses
/// the algorithm of fewer bytes, never more than an all-reduce of the values themselves.
void SumCompressed(const Communicator& world, Compressor& compressor, Array<float> values,
                   int64_t offset);

/// The messages and bytes that all ranks together send for `count` elements.
Cost CostOfSumCompressed(const Compressor& compressor, int64_t count, int ranks);

}  // namespace yoke
