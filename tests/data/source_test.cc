// Files come out whole whatever compresses them, and broken ones are named.
#include "data/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "base/check.h"
#include "data/support/archives.h"

namespace yoke::source_test {

using ::testing::HasSubstr;
using testing_support::ArchiveOf;
using testing_support::Compressed;
using testing_support::Noise;
using testing_support::TestFolder;

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
      EXPECT_THAT(error, HasSubstr("truncated"));
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

TEST(Source, ZipHoldsOneFile) {
  const TestFolder folder;
  const std::string text = Noise(300000);
  EXPECT_EQ(ReadAll(*OpenSource(folder.Write(
                "one.zip", ArchiveOf("zip", {{"__MACOSX/._a.csv", "x"}, {"a.csv", text}})))),
            text);
  const std::string two = ArchiveOf("zip", {{"a.csv", text}, {"b.csv", text}});
  EXPECT_THAT(ErrorOf(folder.Write("two.zip", two)),
              HasSubstr("two.zip: the zip archive holds 2 files; expected one"));
}

// Root may read everything, so another user has to ask. Returns what is said.
std::string ErrorAsNobody(const std::string& path) {
  constexpr uid_t kNobody = 65534;
  std::array<int, 2> ends;
  if (pipe(ends.data()) != 0) return "no pipe";
  if (const pid_t child = fork(); child == 0) {
    const std::string said = setuid(kNobody) == 0 || getuid() != 0 ? ErrorOf(path) : "no setuid";
    _exit(write(ends[1], said.data(), said.size()) < 0);
  } else {
    waitpid(child, nullptr, 0);
  }
  std::array<char, 1000> said;
  const ssize_t size = read(ends[0], said.data(), said.size());
  for (const int end : ends) close(end);
  return {said.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))};
}

TEST(Source, TellsMissingFromForbidden) {
  const TestFolder folder;
  namespace fs = std::filesystem;
  fs::permissions(folder.path(), fs::perms::owner_all | fs::perms::others_exec);
  fs::create_directory(folder.path() + "/closed");
  for (const std::string name : {"file", "closed/file"}) {
    const std::string path = folder.Write(name, "1,2\n");
    fs::permissions(name == "file" ? path : folder.path() + "/closed", fs::perms::none);
    EXPECT_EQ(ErrorAsNobody(path), path + ": cannot be read: Permission denied");
  }
  fs::permissions(folder.path() + "/closed", fs::perms::owner_all);
}

TEST(Source, ADeviceThatNeverEndsIsRefused) {
  const auto source = OpenStored("/dev/zero");
  std::string error;
  try {
    while (!source->Next().empty()) {
    }
  } catch (const UserError& refused) {
    error = refused.what();
  }
  EXPECT_EQ(error, "/dev/zero: more than 1 GB, and no end of it; expected a file");
}

}  // namespace yoke::source_test
