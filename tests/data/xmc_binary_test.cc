// The file of xmc-binary as it is written: places, checksum, and that it reads back bit for bit.
#include "data/xmc_binary.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/check.h"
#include "data/support/archives.h"
#include "data/support/xmc_files.h"
#include "data/writers.h"
#include "data/xmc.h"

namespace yoke::testing_support::xmc_binary_test {

LoadedData Generated() {
  LoadedData data;
  data.info = {.input = {300}, .sparse = true, .multi_label = true, .outputs = 40};
  GenerateXmc({.features = 300, .labels = 40}, false, 700, data.train);
  data.train.labels.EndRow(), data.train.sparse.EndRow();  // neither label nor feature
  ++data.train.size;
  const float far[] = {-0.0F, 1e-45F, std::numeric_limits<float>::max(), 7.038531e-26F};
  for (int32_t id = 0; id < 4; ++id) {
    data.train.sparse.ids.push_back(id);
    data.train.sparse.values.push_back(far[id]);
  }
  data.train.labels.EndRow(), data.train.sparse.EndRow();
  ++data.train.size;
  return data;
}

TEST(XmcBinary, SectionsBeginAtMultiplesOf64) {
  const XmcBinaryPlaces places =
      PlacesOf({.examples = 8, .feature_entries = 17, .label_entries = 1});
  EXPECT_EQ(places.feature_offsets, 64);
  EXPECT_EQ(places.feature_ids, 64 + 128);
  EXPECT_EQ(places.feature_values, 192 + 128);
  EXPECT_EQ(places.label_offsets, 320 + 128);
  EXPECT_EQ(places.label_ids, 448 + 128);
  EXPECT_EQ(places.end, 576 + 64);
}

TEST(LaneChecksum, SeesEveryByteAndItsPlace) {
  std::string bytes(320, 'x');
  auto checksum = [&] {
    LaneChecksum sum;
    sum.Add(bytes);
    return sum.Value();
  };
  const uint64_t whole = checksum();
  for (char& byte : bytes) {
    byte = 'y';
    EXPECT_NE(checksum(), whole);
    byte = 'x';
  }
  bytes[0] = 'y';
  const uint64_t first = checksum();
  bytes[0] = 'x', bytes[64] = 'y';
  EXPECT_NE(checksum(), first);
  bytes = std::string(64, '\0');
  const uint64_t one = checksum();
  bytes = std::string(128, '\0');
  EXPECT_NE(checksum(), one);
}

TEST(XmcBinary, ReadsBackBitForBitAndMapped) {
  const TestFolder folder;
  const std::string path = folder.path() + "/a.xmcb";
  const LoadedData data = Generated();
  WriteXmcBinary(data.info, data.train, path);
  const LoadedData back = LoadDisk("xmc-binary", {path});
  EXPECT_EQ(back.info.input, data.info.input);
  EXPECT_EQ(back.info.outputs, data.info.outputs);
  EXPECT_TRUE(back.info.sparse && back.info.multi_label);
  ExpectSameSet(back.train, data.train);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(back.train.sparse.values.data()) % 64, 0U);
  const std::string packed = folder.Write("a.gz", Compressed("gzip", FileBytes(path)));
  ExpectSameSet(LoadDisk("xmc-binary", {packed}).train, data.train);
}

TEST(XmcBinary, TextToBinaryToTextIsTheSameText) {
  const TestFolder folder;
  const std::string text = folder.path() + "/a.txt", again = folder.path() + "/b.txt";
  LoadedData data = Generated();
  WriteXmc(MemoryReader(data.info, std::move(data.train)), text);
  const LoadedData read = LoadDisk("xmc", {text});
  ExpectSameSet(read.train, Generated().train);
  const std::string binary = folder.path() + "/a.xmcb";
  WriteXmcBinary(read.info, read.train, binary);
  LoadedData back = LoadDisk("xmc-binary", {binary});
  WriteXmc(MemoryReader(back.info, std::move(back.train)), again);
  EXPECT_EQ(FileBytes(again), FileBytes(text));
}

TEST(XmcBinary, RefusesDataOfAnotherKind) {
  const TestFolder folder;
  EXPECT_THROW(WriteXmcBinary({.input = {3}}, MemoryData(), folder.path() + "/a"), UserError);
}

}  // namespace yoke::testing_support::xmc_binary_test
