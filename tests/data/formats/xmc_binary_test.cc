// xmc-binary as a format: what it makes of files, one or several, and every way one can be bad.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "data/support/archives.h"
#include "data/support/memory_files.h"
#include "data/support/xmc_files.h"

namespace yoke::testing_support::xmc_binary_test {

using ::testing::HasSubstr;
using ::testing::StartsWith;

void ExpectTheImage(const MemoryData& data, int64_t first) {
  EXPECT_EQ(RowText(data.sparse, first), "1:0.5 4:1");
  EXPECT_EQ(RowText(data.sparse, first + 1), "0:-2");
  EXPECT_EQ(RowText(data.labels, first), "2:1");
  EXPECT_EQ(RowText(data.labels, first + 1), "0:1 1:1");
}

TEST(XmcBinaryFormat, ReadsMappedAndStreamedFiles) {
  const TestFolder folder;
  const std::string path = folder.Write("a", BytesOf(XmcImage()));
  for (const LoadedData& data :
       {LoadDisk("xmc-binary", {path}), LoadMemory(TrainCase("xmc-binary", BytesOf(XmcImage())))}) {
    EXPECT_EQ(data.info.input, (Shape{5}));
    EXPECT_EQ(data.info.outputs, 3);
    ASSERT_EQ(data.train.size, 2);
    ExpectTheImage(data.train, 0);
  }
}

TEST(XmcBinaryFormat, SeveralFilesAreOneSet) {
  const TestFolder folder;
  XmcImage wide;
  wide.header.features = 9;
  const std::string a = folder.Write("a", BytesOf(XmcImage()));
  const std::string b = folder.Write("b", BytesOf(wide));
  const LoadedData data = LoadDisk("xmc-binary", {a, b, a});
  EXPECT_EQ(data.info.input, (Shape{9}));
  ASSERT_EQ(data.train.size, 6);
  for (int64_t first : {0, 2, 4}) ExpectTheImage(data.train, first);
}

TEST(XmcBinaryFormat, RowsMayBeEmpty) {
  XmcImage image;
  image.header.examples = 5;
  image.feature_offsets = {0, 0, 2, 2, 3, 3};
  image.label_offsets = {0, 0, 0, 0, 0, 3};
  image.label_ids = {0, 1, 2};
  const LoadedData data = LoadMemory(TrainCase("xmc-binary", BytesOf(image)));
  EXPECT_EQ(RowText(data.train.sparse, 0), "");
  EXPECT_EQ(RowText(data.train.sparse, 3), "0:-2");
  EXPECT_EQ(RowText(data.train.labels, 4), "0:1 1:1 2:1");
}

TEST(XmcBinaryFormat, KeepsToTheWidthsOfAModel) {
  DataInfo like{.input = {5}, .sparse = true, .multi_label = true, .outputs = 3};
  LoadCase load{.format = "xmc-binary",
                .content = {{"test", BytesOf(XmcImage())}},
                .files = {.test = {"test"}, .like = &like}};
  EXPECT_EQ(LoadMemory(load).test.size, 2);
  like.outputs = 2;
  EXPECT_THAT(LoadError(load), StartsWith("test: example 0: label 2 is outside; expected 0 to 1"));
  like.input = {4};
  EXPECT_THAT(LoadError(load), StartsWith("test: example 0: feature 4 is outside"));
}

// How an image is spoilt, and how the message must go on behind the file's name.
struct Spoilt {
  const char* says;
  std::function<void(XmcImage&)> change;
};

void PrintTo(const Spoilt& spoilt, std::ostream* out) { *out << spoilt.says; }

class BadXmcBinary : public ::testing::TestWithParam<Spoilt> {};

TEST_P(BadXmcBinary, IsAnsweredWithOneLine) {
  XmcImage image;
  GetParam().change(image);
  for (const size_t piece : {size_t{7}, size_t{1} << 20}) {
    LoadCase load = TrainCase("xmc-binary", BytesOf(image));
    load.piece = piece;
    const std::string error = LoadError(load);
    EXPECT_THAT(error, StartsWith(std::string("train: ") + GetParam().says));
    EXPECT_EQ(error.find('\n'), error.npos);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BadXmcBinary,
    ::testing::Values(
        Spoilt{"wrong magic number", [](XmcImage& image) { image.header.magic[7] = 'D'; }},
        Spoilt{"version 2 of the format; expected version 1",
               [](XmcImage& image) { image.header.version = 2; }},
        Spoilt{"its header says 0 examples", [](XmcImage& image) { image.header.examples = 0; }},
        Spoilt{"its header says 2 examples, -5",
               [](XmcImage& image) { image.header.features = -5; }},
        Spoilt{"its header says 2 examples, 5 features and 2147483648",
               [](XmcImage& image) { image.header.labels = int64_t{1} << 31; }},
        Spoilt{"its header says -1 entries",
               [](XmcImage& image) { image.header.label_entries = -1; }},
        Spoilt{"its header says 9223372036854775807 entries",
               [](XmcImage& image) { image.header.feature_entries = INT64_MAX; }},
        Spoilt{"the file ends at byte 384; its header declares",
               [](XmcImage& image) { image.header.label_entries = int64_t{1} << 40; }},
        Spoilt{"the file ends at byte 384; its header declares",
               [](XmcImage& image) { image.header.examples = INT32_MAX; }},
        Spoilt{"more bytes follow at byte 384",
               [](XmcImage& image) { image.label_ids.resize(17); }},
        Spoilt{"the offsets of its features go from 1 to 3",
               [](XmcImage& image) { image.feature_offsets[0] = 1; }},
        Spoilt{"the offsets of its labels go from 0 to 4; expected 0 to 3",
               [](XmcImage& image) { image.label_offsets[2] = 4; }},
        Spoilt{"the offsets of its features fall from 9 to 3 at example 1",
               [](XmcImage& image) { image.feature_offsets[1] = 9; }},
        Spoilt{"the offsets of its labels fall from 0 to -1 at example 0",
               [](XmcImage& image) { image.label_offsets[1] = -1; }},
        Spoilt{"example 1: feature 5 is outside; expected 0 to 4",
               [](XmcImage& image) { image.feature_ids[2] = 5; }},
        Spoilt{"example 0: label -2 is outside; expected 0 to 2",
               [](XmcImage& image) { image.label_ids[0] = -2; }},
        Spoilt{"example 0: feature 4 follows 4", [](XmcImage& image) { image.feature_ids[0] = 4; }},
        Spoilt{"example 1: label 0 follows 1",
               [](XmcImage& image) { std::swap(image.label_ids[1], image.label_ids[2]); }},
        Spoilt{"example 1: feature 0 has no finite value",
               [](XmcImage& image) { image.values[2] = NAN; }},
        Spoilt{"example 0: feature 4 has no finite value",
               [](XmcImage& image) { image.values[1] = -INFINITY; }}));

TEST(XmcBinaryFormat, KnowsACutFileByItsLength) {
  const std::string whole = BytesOf(XmcImage());
  ASSERT_EQ(whole.size(), 384U);
  for (size_t size = 0; size < whole.size(); ++size) {
    const std::string error = LoadError(TrainCase("xmc-binary", whole.substr(0, size)));
    const char* expected = size == 0   ? "the file is empty"
                           : size < 8  ? "wrong magic"
                           : size < 64 ? "the file ends in its header"
                                       : "the file ends at byte";
    EXPECT_THAT(error, HasSubstr(expected)) << size;
  }
}

TEST(XmcBinaryFormat, NoBitMayChange) {
  const std::string whole = BytesOf(XmcImage());
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_NE(LoadError(TrainCase("xmc-binary", changed)), "") << bit;
  }
  std::string value = whole;
  value[192] = 1;  // the lowest byte of the first value's mantissa
  EXPECT_THAT(LoadError(TrainCase("xmc-binary", value)), StartsWith("train: the checksum is not"));
}

}  // namespace yoke::testing_support::xmc_binary_test
