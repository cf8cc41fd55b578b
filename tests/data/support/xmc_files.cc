// Puts files together from vectors.
#include "data/support/xmc_files.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "base/registry.h"

namespace yoke::testing_support {
namespace {

template <typename T>
void AppendSection(const std::vector<T>& items, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T));
  bytes.resize((bytes.size() + 63) / 64 * 64);
}

template <typename T>
void ExpectSameBits(const GrowingArray<T>& a, const GrowingArray<T>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.span().size_bytes()), 0);
}

}  // namespace

std::string BytesOf(const XmcImage& image) {
  std::string bytes(reinterpret_cast<const char*>(&image.header), sizeof(image.header));
  AppendSection(image.feature_offsets, bytes);
  AppendSection(image.feature_ids, bytes);
  AppendSection(image.values, bytes);
  AppendSection(image.label_offsets, bytes);
  AppendSection(image.label_ids, bytes);
  const uint64_t checksum = XmcBinaryChecksum(bytes);
  std::memcpy(bytes.data() + offsetof(XmcBinaryHeader, checksum), &checksum, sizeof(checksum));
  return bytes;
}

LoadedData LoadDisk(const std::string& format_name, const std::vector<std::string>& paths) {
  const FormatEntry& format = FindEntry(formats(), "format", format_name);
  const Options options("data", Table{{"format", format_name}}, common_data_options());
  return format.load(options, {.train = paths});
}

std::string FileBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void ExpectSameSet(const MemoryData& a, const MemoryData& b) {
  EXPECT_EQ(a.size, b.size);
  ExpectSameBits(a.sparse.offsets, b.sparse.offsets);
  ExpectSameBits(a.sparse.ids, b.sparse.ids);
  ExpectSameBits(a.sparse.values, b.sparse.values);
  ExpectSameBits(a.labels.offsets, b.labels.offsets);
  ExpectSameBits(a.labels.ids, b.labels.ids);
}

}  // namespace yoke::testing_support
