// Files come out whole whatever compresses them, and broken ones are named.
#include "data/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "base/random.h"
#include "data/support/archives.h"

namespace yoke {
namespace {

using testing::Compressed;
using ::testing::HasSubstr;
using testing::TestFolder;

std::string Noise(int64_t size) {
  Random random({7});
  std::string text;
  for (int64_t i = 0; i < size; ++i) text += static_cast<char>('a' + random.Below(16));
  return text;
}

std::string ErrorOf(const std::string& path) {
  try {
    ReadAll(*OpenSource(path));
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

class Compression : public ::testing::TestWithParam<const char*> {};

TEST_P(Compression, IsToldByContent) {
  const TestFolder folder;
  const std::string text = Noise(300000);
  const std::string path = folder.Write("data.txt", Compressed(GetParam(), text));
  EXPECT_EQ(ReadAll(*OpenSource(path)), text);
}

TEST_P(Compression, ReportsEveryCut) {
  const TestFolder folder;
  for (const int64_t size : {30000, 800000}) {  // noticed when opened; noticed on the way
    const std::string whole = Compressed(GetParam(), Noise(size));
    for (const size_t length : {size_t{40}, whole.size() / 2, whole.size() - 9, whole.size() - 1}) {
      const std::string error = ErrorOf(folder.Write("cut.txt", whole.substr(0, length)));
      EXPECT_THAT(error, HasSubstr("cut.txt")) << length << " of " << whole.size();
      EXPECT_THAT(error, HasSubstr("breaks off"));
      EXPECT_EQ(error.find('\n'), error.npos);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Compression, ::testing::Values("gzip", "bzip2", "xz", "zstd"));

TEST(Source, ReadsPlainAndEmptyFiles) {
  const TestFolder folder;
  EXPECT_EQ(ReadAll(*OpenSource(folder.Write("plain", "a\nb"))), "a\nb");
  EXPECT_EQ(ReadAll(*OpenSource(folder.Write("empty", ""))), "");
}

TEST(Source, NamesWhatIsNoFile) {
  const TestFolder folder;
  EXPECT_THAT(ErrorOf(folder.path() + "/none.gz"), HasSubstr("none.gz: there is no such file"));
  EXPECT_THAT(ErrorOf(folder.path()), HasSubstr("this is a directory"));
}

TEST(Source, BinaryInputReadsAcrossPieces) {
  const auto source = MemorySource("abcdefghij", "memory", 3);
  BinaryInput input(*source);
  char bytes[8] = {};
  EXPECT_EQ(input.Read(bytes, 7), 7U);
  EXPECT_EQ(std::string(bytes), "abcdefg");
  EXPECT_EQ(input.Position(), 7);
  EXPECT_EQ(input.Read(bytes, 7), 3U);
  EXPECT_EQ(input.Position(), 10);
}

std::vector<std::string> EntriesOf(const std::string& path) {
  std::vector<std::string> entries;
  ForEachEntry(path, [&](const std::string& name, std::string_view bytes) {
    entries.push_back(name + "=" + std::string(bytes));
  });
  return entries;
}

TEST(Archive, VisitsFilesInOrder) {
  const TestFolder folder;
  const std::string tar = testing::Tar({{"b/1.txt", "one"}, {"a/2.txt", ""}, {"a/3.txt", "three"}});
  for (const std::string& bytes : {tar, Compressed("xz", tar)})
    EXPECT_THAT(EntriesOf(folder.Write("x.tar", bytes)),
                ::testing::ElementsAre("b/1.txt=one", "a/2.txt=", "a/3.txt=three"));
}

TEST(Archive, ReportsWhatBreaksOff) {
  const TestFolder folder;
  const std::string tar = testing::Tar({{"1", Noise(5000)}, {"2", Noise(5000)}});
  for (const size_t length : {size_t{300}, size_t{3000}, size_t{8000}})
    EXPECT_THROW(EntriesOf(folder.Write("cut.tar", tar.substr(0, length))), UserError) << length;
  EXPECT_EQ(tar.substr(5632, 2), std::string("2\0", 2));  // where the second file begins
  EXPECT_THROW(EntriesOf(folder.Write("cut.tar", tar.substr(0, 5632))), UserError);
  EXPECT_THROW(EntriesOf(folder.Write("noise.tar", Noise(5000))), UserError);
  EXPECT_THROW(EntriesOf(folder.Write("empty.tar", "")), UserError);
}

}  // namespace
}  // namespace yoke
