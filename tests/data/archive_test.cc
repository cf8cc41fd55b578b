// Files come out of tar and zip archives in order, links with what they lead to; nothing is held
// that nobody reads.
#include "data/archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "data/support/archives.h"

namespace yoke::archive_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_support::ArchiveOf;
using testing_support::Compressed;
using testing_support::Noise;
using testing_support::Tar;
using testing_support::TestFolder;

struct Found {
  std::vector<std::string> files;  // "name=content", "name+name=content"
  FileCount lost;
};

Found Visit(const std::string& path) {
  Found found;
  found.lost = ForEachEntry(path, [&](const ArchiveFile& file) {
    std::string names;
    for (const std::string& name : file.names) names += (names.empty() ? "" : "+") + name;
    found.files.push_back(names + "=" + ReadAll(file.content));
  });
  return found;
}

std::string ErrorOf(const std::string& path) {
  try {
    Visit(path);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

// Zip compresses by itself.
std::vector<std::string> Stored(const std::string& format, const std::string& bytes) {
  if (format == "zip") return {bytes};
  return {bytes, Compressed("gzip", bytes), Compressed("bzip2", bytes)};
}

class ArchiveFormat : public ::testing::TestWithParam<const char*> {};

TEST_P(ArchiveFormat, FilesComeInOrder) {
  const TestFolder folder;
  const std::string long_text = Noise(300000);
  const std::string bytes =
      ArchiveOf(GetParam(), {{"b/1.txt", "one"}, {"a/2.txt", ""}, {"a/\xC3\xA4.txt", long_text}});
  for (const std::string& stored : Stored(GetParam(), bytes))
    EXPECT_THAT(Visit(folder.Write("x", stored)).files,
                ElementsAre("b/1.txt=one", "a/2.txt=", "a/\xC3\xA4.txt=" + long_text));
}

TEST_P(ArchiveFormat, WhatIsNotReadIsPassedOver) {
  const TestFolder folder;
  const std::string bytes =
      ArchiveOf(GetParam(), {{"1", Noise(300000)}, {"2", "two"}, {"3", Noise(300000)}, {"4", ""}});
  for (const std::string& stored : Stored(GetParam(), bytes)) {
    std::vector<std::string> names;
    ForEachEntry(folder.Write("x", stored), [&](const ArchiveFile& file) {
      names.push_back(file.names.at(0));
      if (names.size() == 3) file.content.Next();
    });
    EXPECT_THAT(names, ElementsAre("1", "2", "3", "4"));
  }
}

TEST_P(ArchiveFormat, SymbolicLinksAreFollowed) {
  const TestFolder folder;
  const std::string bytes = ArchiveOf(GetParam(), {{"cat/1", {}, {}, "../all/7"},
                                                   {"all/7", "seven"},
                                                   {"dog/2", {}, {}, "../cat/1"},
                                                   {"dog/3", {}, {}, "gone"},
                                                   {"dog/.4", {}, {}, "gone"},
                                                   {"dog/5", {}, {}, "5"},
                                                   {"dog/6", {}, {}, "/all/7"}});
  for (const std::string& stored : Stored(GetParam(), bytes)) {
    const Found found = Visit(folder.Write("x", stored));
    EXPECT_THAT(found.files, ElementsAre("all/7=seven", "cat/1+dog/2=seven"));
    EXPECT_EQ(found.lost.count, 3);
    EXPECT_EQ(found.lost.first, "dog/3");
  }
}

INSTANTIATE_TEST_SUITE_P(All, ArchiveFormat, ::testing::Values("pax", "gnutar", "zip"));

TEST(Archive, HardLinksAreFollowed) {
  const TestFolder folder;
  for (const char* format : {"pax", "gnutar"}) {
    const Found found = Visit(folder.Write("x.tar", ArchiveOf(format, {{"./all/7", "seven"},
                                                                       {"cat/1", {}, "./all/7"},
                                                                       {"cat/2", {}, "gone"}})));
    EXPECT_THAT(found.files, ElementsAre("./all/7=seven", "cat/1=seven"));
    EXPECT_EQ(found.lost.count, 1);
    EXPECT_EQ(found.lost.first, "cat/2");
  }
}

TEST(Archive, ReportsWhatBreaksOff) {
  const TestFolder folder;
  const std::string tar = Tar({{"1", Noise(5000)}, {"2", Noise(5000)}});
  for (const size_t length : {size_t{300}, size_t{3000}, size_t{8000}})
    EXPECT_NE(ErrorOf(folder.Write("cut.tar", tar.substr(0, length))), "") << length;
  EXPECT_EQ(tar.substr(5632, 2), std::string("2\0", 2));  // where the second file begins
  EXPECT_THAT(ErrorOf(folder.Write("cut.tar", tar.substr(0, 5632))), HasSubstr("truncated"));
  EXPECT_THAT(ErrorOf(folder.Write("noise.tar", Noise(5000))),
              HasSubstr("this is no archive; expected a tar or zip file"));
  EXPECT_NE(ErrorOf(folder.Write("empty.tar", "")), "");
  const std::string zip = ArchiveOf("zip", {{"1", Noise(5000)}, {"2", Noise(5000)}});
  for (size_t length = 0; length < zip.size(); length += 50)
    EXPECT_THAT(ErrorOf(folder.Write("cut.zip", zip.substr(0, length))), HasSubstr("cut.zip"))
        << length;
  EXPECT_EQ(ErrorOf(folder.Write("cut.zip", zip)), "");
}

TEST(Archive, RefusesZipWhoseTwoDescriptionsDiffer) {
  const TestFolder folder;
  const std::string zip = ArchiveOf("zip", {{"cat/1", "one"}, {"dog/2", "two"}});
  EXPECT_EQ(ErrorOf(folder.Write("x.zip", zip)), "");
  const size_t directory = zip.find("PK\1\2");
  for (const size_t at : {zip.find("dog/2"), zip.rfind("dog/2")}) {  // before its bytes; listed
    std::string changed = zip;
    changed[at] = 'f';
    EXPECT_THAT(ErrorOf(folder.Write("x.zip", changed)), HasSubstr("has another name")) << at;
  }
  std::string changed = zip;
  changed[directory + 16] ^= 1;
  EXPECT_THAT(ErrorOf(folder.Write("x.zip", changed)), HasSubstr("x.zip: "));
  std::string one = ArchiveOf("zip", {{"a.csv", "1,2"}});
  one[one.rfind("a.csv")] = 'b';
  EXPECT_THROW(OpenSource(folder.Write("one.zip", one)), UserError);
}

TEST(Archive, ReportsChangedBitsOfCompressedContent) {
  const TestFolder folder;
  const std::string tar = Tar({{"1", Noise(300)}});
  const std::string gz = Compressed("gzip", tar);
  const std::vector<std::string> expected = Visit(folder.Write("x.tar.gz", gz)).files;
  for (size_t bit = 0; bit < gz.size() * 8; bit += 7) {
    std::string changed = gz;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    const std::string path = folder.Write("x.tar.gz", changed);
    if (const std::string error = ErrorOf(path); error.empty())
      EXPECT_EQ(Visit(path).files, expected) << bit;
    else
      EXPECT_THAT(error, StartsWith(path + ": "));
  }
}

}  // namespace yoke::archive_test
