// Writes xmc-binary: the arrays as in memory, one after the other.
#include "data/xmc_binary.h"

#include <cstring>

#include "base/algorithms.h"
#include "base/check.h"
#include "data/writers.h"

namespace yoke {
namespace {

constexpr size_t kChecksumBlock = kXmcAlignment;

int64_t Aligned(int64_t bytes) { return RoundUp(bytes, kXmcAlignment); }

template <typename T>
std::string_view AsBytes(const GrowingArray<T>& array) {
  return {reinterpret_cast<const char*>(array.data()), array.span().size_bytes()};
}

std::string_view AsBytes(const XmcBinaryHeader& header) {
  return {reinterpret_cast<const char*>(&header), sizeof(header)};
}

std::array<std::string_view, 5> SectionsOf(const MemoryData& data) {
  return {AsBytes(data.sparse.offsets), AsBytes(data.sparse.ids), AsBytes(data.sparse.values),
          AsBytes(data.labels.offsets), AsBytes(data.labels.ids)};
}

uint64_t Mixed(uint64_t state, uint64_t word) {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
  state = (state + word) * kOdd;
  return state ^ (state >> 32);
}

}  // namespace

XmcBinaryPlaces PlacesOf(const XmcBinaryHeader& header) {
  const int64_t offsets = Aligned((header.examples + 1) * 8);
  const int64_t features = Aligned(header.feature_entries * 4);
  XmcBinaryPlaces places{};
  places.feature_offsets = sizeof(XmcBinaryHeader);
  places.feature_ids = places.feature_offsets + offsets;
  places.feature_values = places.feature_ids + features;
  places.label_offsets = places.feature_values + features;
  places.label_ids = places.label_offsets + offsets;
  places.end = places.label_ids + Aligned(header.label_entries * 4);
  return places;
}

LaneChecksum::LaneChecksum() { sums_.fill(1); }  // so that leading zeros count

void LaneChecksum::AddBlocks(const char* bytes, size_t blocks) {
  std::array<uint64_t, 8> sums = sums_, sums_of_sums = sums_of_sums_, words{};
  for (size_t b = 0; b < blocks; ++b) {
    std::memcpy(words.data(), bytes + b * kChecksumBlock, kChecksumBlock);
    for (size_t lane = 0; lane < words.size(); ++lane) {
      sums[lane] += words[lane];
      sums_of_sums[lane] += sums[lane];
    }
  }
  sums_ = sums;
  sums_of_sums_ = sums_of_sums;
}

void LaneChecksum::Add(std::string_view bytes) {
  const size_t rest = bytes.size() % kChecksumBlock;
  AddBlocks(bytes.data(), bytes.size() / kChecksumBlock);
  if (rest == 0) return;
  std::array<char, kChecksumBlock> last{};
  std::memcpy(last.data(), bytes.data() + bytes.size() - rest, rest);
  AddBlocks(last.data(), 1);
}

uint64_t LaneChecksum::Value() const {
  uint64_t state = 0;
  for (size_t lane = 0; lane < sums_.size(); ++lane)
    state = Mixed(Mixed(state, sums_[lane]), sums_of_sums_[lane]);
  return state;
}

uint64_t XmcBinaryChecksum(std::string_view file) {
  XmcBinaryHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  header.checksum = 0;
  LaneChecksum checksum;
  checksum.Add(AsBytes(header));
  checksum.Add(file.substr(sizeof(header)));
  return checksum.Value();
}

int64_t WriteXmcBinary(const DataInfo& info, const MemoryData& data, const std::string& path) {
  Require(info.sparse && info.multi_label,
          "{}: xmc-binary holds sparse examples with several labels; this data is of another kind",
          path);
  Check(data.sparse.values.size() == data.sparse.ids.size(), "xmc-binary needs values");
  XmcBinaryHeader header{.examples = data.size,
                         .features = info.input[0],
                         .labels = info.outputs,
                         .feature_entries = data.sparse.ids.size(),
                         .label_entries = data.labels.ids.size()};
  LaneChecksum checksum;
  checksum.Add(AsBytes(header));
  for (const std::string_view section : SectionsOf(data)) checksum.Add(section);
  header.checksum = checksum.Value();
  const std::string zeros(kChecksumBlock, '\0');
  OutputFile file(path);
  file.Write(AsBytes(header));
  for (const std::string_view section : SectionsOf(data)) {
    file.Write(section);
    file.Write(std::string_view(zeros).substr(
        0, (kChecksumBlock - section.size() % kChecksumBlock) % kChecksumBlock));
  }
  file.Commit();
  return file.bytes();
}

}  // namespace yoke
