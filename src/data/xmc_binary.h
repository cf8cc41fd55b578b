// The file format xmc-binary: header, sections, checksum and writer.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include "data/memory_reader.h"

namespace yoke {

static_assert(std::endian::native == std::endian::little, "the file is read as it lies");

/// The first 64 bytes. The five sections follow, each padded with zeros to a multiple of
/// kXmcAlignment: offsets of features (int64, examples + 1), feature ids (int32, ascending within
/// an example), feature values (f32), offsets of labels, label ids.
struct XmcBinaryHeader {
  std::array<char, 8> magic = {'Y', 'O', 'K', 'E', '-', 'X', 'M', 'C'};
  uint32_t version = 1;
  uint32_t reserved = 0;
  int64_t examples = 0;
  int64_t features = 0;  ///< Ids are less than this.
  int64_t labels = 0;
  int64_t feature_entries = 0;
  int64_t label_entries = 0;
  uint64_t checksum = 0;  ///< Checksum of the whole file with this field zero.
};
static_assert(sizeof(XmcBinaryHeader) == 64);

inline constexpr int64_t kXmcAlignment = 64;

/// Offsets of the sections in bytes from the start of the file, and the end of the last one.
struct XmcBinaryPlaces {
  int64_t feature_offsets, feature_ids, feature_values, label_offsets, label_ids, end;
};
XmcBinaryPlaces PlacesOf(const XmcBinaryHeader& header);

/// A checksum at memory speed: in each of eight lanes, the sum of the 64-bit words and the sum of
/// these sums (Fletcher's checksum, which depends on the order), mixed at the end.
class LaneChecksum {
 public:
  LaneChecksum();
  /// Adds bytes; a last block of fewer than 64 is padded with zeros.
  void Add(std::string_view bytes);
  uint64_t Value() const;

 private:
  void AddBlocks(const char* bytes, size_t blocks);

  std::array<uint64_t, 8> sums_{};
  std::array<uint64_t, 8> sums_of_sums_{};
};

/// The checksum for the header of `file` (at least 64 bytes).
uint64_t XmcBinaryChecksum(std::string_view file);

/// Writes the sparse multi-label examples described by `info`. The file appears when it is
/// complete. Throws like WriteXmc (data/writers.h).
int64_t WriteXmcBinary(const DataInfo& info, const MemoryData& data, const std::string& path);

}  // namespace yoke
