// Safetensors: what is written is read; whatever is cut, altered or promised wrongly is refused.
#include "train/checkpoint/safetensors.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/check.h"
#include "base/support/growth.h"
#include "train/files.h"

namespace yoke::safetensors_test {

std::string Example() {
  static const std::vector<float> weight = {1, 2, 3, 4, 5, 6};
  static const std::vector<int32_t> clock = {7, 8, 9};
  const std::vector<StoredTensor> tensors = {{"fc.weight", DType::kF32, Shape{2, 3}, weight.data()},
                                             {"fc.clock", DType::kI32, Shape{3}, clock.data()},
                                             {"fc.none", DType::kF32, Shape{0}, nullptr}};
  return EncodeSafetensors(tensors);
}

bool Refused(std::string bytes) {
  try {
    const Safetensors file(std::move(bytes), "model.safetensors");
    return false;
  } catch (const UserError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("model.safetensors")) << error.what();
    return true;
  }
}

TEST(SafetensorsTest, ReadsWhatWasWritten) {
  const Safetensors file(Example(), "model.safetensors");
  ASSERT_EQ(file.tensors().size(), 3U);
  const StoredTensor& weight = file.Find("fc.weight", DType::kF32, Shape{2, 3});
  EXPECT_EQ(static_cast<const float*>(weight.data)[5], 6);
  const StoredTensor& clock = file.Find("fc.clock", DType::kI32, Shape{3});
  EXPECT_EQ(static_cast<const int32_t*>(clock.data)[0], 7);
  EXPECT_THROW(file.Find("fc.bias", DType::kF32, Shape{3}), UserError);
  EXPECT_THROW(file.Find("fc.weight", DType::kF32, Shape{3, 2}), UserError);
}

TEST(SafetensorsTest, ConvertsBetweenFloats) {
  const std::vector<float> wide = {1, -2.5F, 1 + 0x1p-9F};
  const std::vector<Bf16> narrow = {Bf16(3.0F), Bf16(-0.5F)};
  const Safetensors file(EncodeSafetensors({{{"wide", DType::kF32, Shape{3}, wide.data()},
                                             {"narrow", DType::kBf16, Shape{2}, narrow.data()}}}),
                         "model.safetensors");
  std::array<Bf16, 3> rounded;
  std::array<float, 2> exact = {};
  file.CopyTo({"wide", DType::kBf16, Shape{3}, rounded.data()});
  file.CopyTo({"narrow", DType::kF32, Shape{2}, exact.data()});
  EXPECT_EQ(static_cast<float>(rounded[1]), -2.5F);
  EXPECT_EQ(static_cast<float>(rounded[2]), 1);  // to the nearest
  EXPECT_EQ(exact, (std::array<float, 2>{3, -0.5F}));
  EXPECT_TRUE(file.Has({"wide", DType::kBf16, Shape{3}}));
  EXPECT_FALSE(file.Has({"wide", DType::kI32, Shape{3}}));
  EXPECT_THROW(file.CopyTo({"wide", DType::kBf16, Shape{2}, rounded.data()}), UserError);
}

TEST(SafetensorsTest, SameTensorsGiveSameBytes) { EXPECT_EQ(Example(), Example()); }

TEST(SafetensorsTest, WritesToAFileWhatItEncodes) {
  const std::string path = testing::TempDir() + "/written.safetensors";
  const std::vector<uint8_t> odd = {1, 2, 3, 4, 5};  // the next one begins within a word
  const std::vector<float> numbers = {1, 2, 3};
  const std::vector<StoredTensor> tensors = {{"odd", DType::kU8, Shape{5}, odd.data()},
                                             {"numbers", DType::kF32, Shape{3}, numbers.data()}};
  std::filesystem::remove(path);
  const std::string checksum = WriteSafetensors(path, tensors);
  EXPECT_EQ(ReadWhole(path), EncodeSafetensors(tensors));
  const Safetensors file = Safetensors::Open(path);
  EXPECT_EQ(file.checksum(), checksum);
  std::array<float, 3> read = {};
  std::memcpy(read.data(), file.Find("numbers", DType::kF32, Shape{3}).data, sizeof read);
  EXPECT_EQ(read[2], 3);
}

TEST(SafetensorsTest, FilesOfManyPiecesAreReadAndChecked) {
  const std::string path = testing::TempDir() + "/large.safetensors";
  std::vector<float> large(5'000'000);
  for (size_t i = 0; i < large.size(); ++i) large[i] = static_cast<float>(i);
  const std::vector<uint8_t> odd = {1, 2, 3};
  const auto size = static_cast<int64_t>(large.size());
  const std::vector<StoredTensor> tensors = {{"odd", DType::kU8, Shape{3}, odd.data()},
                                             {"large", DType::kF32, Shape{size}, large.data()}};
  std::filesystem::remove(path);
  WriteSafetensors(path, tensors);
  {
    const Safetensors file = Safetensors::Open(path);
    std::vector<float> copy(large.size());
    file.CopyTo({"large", DType::kF32, Shape{size}, copy.data()});
    EXPECT_TRUE(copy == large);
    const void* at = file.Find("large", DType::kF32, Shape{size}).data;  // pages come again
    EXPECT_EQ(std::memcmp(at, large.data(), large.size() * sizeof(float)), 0);
    EXPECT_THROW(file.CopyTo({"large", DType::kI32, Shape{size}, copy.data()}), UserError);
  }
  std::string bytes = ReadWhole(path);
  bytes[bytes.size() - 9'000'000] ^= 1;
  ReplaceFile(path, bytes);
  EXPECT_THROW(Safetensors::Open(path), DamagedError);
  ReplaceFile(path, "");
  EXPECT_THROW(Safetensors::Open(path), DamagedError);
  std::filesystem::remove(path);
  EXPECT_THROW(Safetensors::Open(path), DamagedError);
  EXPECT_THROW(Safetensors::Open(testing::TempDir()), DamagedError);
}

TEST(SafetensorsTest, EmptyFileOfTensorsIsFine) {
  EXPECT_TRUE(Safetensors(EncodeSafetensors({}), "x").tensors().empty());
}

/// As the Python library writes it: without metadata, or with others of its own.
TEST(SafetensorsTest, AnotherProgramsFileIsNamedAsSuch) {
  for (const std::string metadata : {"", R"("__metadata__":{"format":"pt"},)"}) {
    std::string header =
        "{" + metadata + R"("fc.weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    const uint64_t length = header.size();
    const std::string bytes = std::string(reinterpret_cast<const char*>(&length), sizeof length) +
                              header + std::string(8, '\0');
    try {
      const Safetensors file(bytes, "model.safetensors");
      FAIL() << "read";
    } catch (const DamagedError& error) {
      EXPECT_EQ(std::string(error.what()),
                "model.safetensors was not written by yoke: its header lacks the checksum in "
                "__metadata__ that yoke puts first, so its bytes cannot be checked");
    }
  }
}

TEST(SafetensorsTest, EveryAlteredByteIsNoticed) {
  const std::string good = Example();
  for (size_t i = 0; i < good.size(); ++i) {
    for (int change : {1, 0x80, 0xFF}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ change);
      EXPECT_TRUE(Refused(bad)) << "byte " << i;
    }
  }
}

TEST(SafetensorsTest, EveryCutIsNoticed) {
  const std::string good = Example();
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_TRUE(Refused(good.substr(0, length))) << length;
  EXPECT_TRUE(Refused(good + "x"));
}

TEST(SafetensorsTest, HugeHeaderIsNotBelieved) {
  EXPECT_TRUE(Refused("\xff\xff\xff\xff\xff\xff\xff\xff" + Example().substr(8)));
}

struct Header {
  const char* text;
  int64_t bytes;
  const char* says;  ///< Part of the sentence; "": it is fine.
};
void PrintTo(const Header& header, std::ostream* out) { *out << header.text; }

class SafetensorsHeaderTest : public testing::TestWithParam<Header> {};

TEST_P(SafetensorsHeaderTest, IsChecked) {
  const Header& header = GetParam();
  std::string sentence;
  try {
    ParseSafetensorsHeader(header.text, header.bytes, "file");
  } catch (const UserError& error) {
    sentence = error.what();
  }
  if (*header.says) {
    EXPECT_NE(sentence.find(header.says), std::string::npos) << sentence;
  } else {
    EXPECT_EQ(sentence, "");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Headers, SafetensorsHeaderTest,
    testing::Values(
        Header{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8, ""},
        Header{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 9, "declares 8"},
        Header{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12, "begin"},
        Header{
            R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
            8, "begin"},
        Header{R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8, "does not fit"},
        Header{R"({"a":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}})", 8, "type"},
        Header{R"({"a":{"dtype":7,"shape":[2],"data_offsets":[0,8]}})", 8, "type"},
        Header{R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})", 8, "no offsets"},
        Header{R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8, "whole number"},
        Header{R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,8]}})", 8, "whole number"},
        Header{R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}})", 8,
               "too large"},
        Header{R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}})", 8,
               "too large"},
        Header{R"({"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})", 4,
               "too many axes"},
        Header{R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8, "no offsets"},
        Header{R"({"a":[]})", 0, "describe"}, Header{"[]", 0, "not JSON"},
        Header{"{\"a\"", 0, "not JSON"}, Header{"", 0, "not JSON"}));

std::vector<StoredTensor> ManyTensors(int count) {
  std::vector<StoredTensor> all;
  all.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i)
    all.push_back({fmt::format("t{}.weight", i), DType::kF32, Shape{0}, nullptr});
  return all;
}

TEST(SafetensorsTest, ManyTensorsTakeNearlyLinearTime) {
  ExpectNearlyLinear(5000, 10, [](int count) {
    return ProcessorSeconds([count] {
      const std::vector<StoredTensor> all = ManyTensors(count);
      const Safetensors file(EncodeSafetensors(all), "many");
      EXPECT_EQ(file.tensors().size(), all.size());
    });
  });
}

TEST(SafetensorsTest, FindingEachOfManyTensorsTakesNearlyLinearTime) {
  ExpectNearlyLinear(10'000, 1, [](int count) {
    const std::vector<StoredTensor> all = ManyTensors(count);
    const Safetensors file(EncodeSafetensors(all), "many");
    return ProcessorSeconds([&] {
      for (const StoredTensor& tensor : all) {
        EXPECT_TRUE(file.Has(tensor));
        EXPECT_EQ(file.Find(tensor.name, tensor.type, tensor.shape).name, tensor.name);
      }
    });
  });
}

}  // namespace yoke::safetensors_test
