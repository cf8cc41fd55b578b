// OpenRegular refuses whatever is no file, Exists what cannot be told; new files' names are not
// alike and are recognised; temporary folders go with their owner, or with the next one if that was
// killed.
#include "base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>

#include "base/check.h"

namespace yoke::files_test {

namespace fs = std::filesystem;

std::string Place(const std::string& name) {
  std::string path = testing::TempDir() + "/yoke_regular_file_" + name;
  std::filesystem::remove(path);
  return path;
}

std::string Refusal(const std::string& path) {
  try {
    close(OpenRegular(path));
    return "none";
  } catch (const UserError& error) {
    return error.what();
  }
}

TEST(OpenRegular, MakesAFileAndOpensIt) {
  const std::string path = Place("new");
  EXPECT_EQ(Refusal(path), "none");
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
  EXPECT_EQ(Refusal(path), "none");
}

TEST(OpenRegular, RefusesWhatIsNoFile) {
  const std::string pipe = Place("pipe"), link = Place("link"), folder = testing::TempDir();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::filesystem::create_symlink("elsewhere", link);
  EXPECT_EQ(Refusal(pipe), pipe + " is a pipe or a device; expected a file");
  EXPECT_EQ(Refusal("/dev/null"), "/dev/null is a pipe or a device; expected a file");
  EXPECT_EQ(Refusal(link), link + " is a link; expected a file");
  EXPECT_EQ(Refusal(folder), "cannot write " + folder + ": Is a directory");
}

TEST(Exists, FollowsLinks) {
  std::string folder = fs::temp_directory_path() / "yoke-exists-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  EXPECT_TRUE(Exists(folder));
  EXPECT_FALSE(Exists(folder + "/none"));
  EXPECT_FALSE(Exists(folder + "/none/none"));
  fs::create_symlink("none", folder + "/lost");
  EXPECT_FALSE(Exists(folder + "/lost"));
  fs::create_symlink("loop", folder + "/loop");
  EXPECT_THROW(Exists(folder + "/loop"), UserError);
  fs::remove_all(folder);
}

TEST(Exists, RefusesWhatIsNoPath) { EXPECT_THROW(Exists(std::string(5000, 'x')), UserError); }

TEST(NewFile, HasANameThatNobodyCanGuess) {
  const std::string one = NameBeside("run/job.toml"), other = NameBeside("run/job.toml");
  EXPECT_NE(one, other);
  EXPECT_EQ(OriginOf(one), "run/job.toml");
}

TEST(NewFile, IsRecognised) {
  EXPECT_EQ(OriginOf("job.toml.0123456789abcdef.new"), "job.toml");
  for (const char* name : {"job.toml", "job.toml.new", "job.toml.0123456789abcdeg.new",
                           ".0123456789abcdef.new", "job.toml-0123456789abcdef.new"})
    EXPECT_EQ(OriginOf(name), "") << name;
}

/// Each test looks for temporary folders in a place of its own.
class TemporaryFolderTest : public testing::Test {
 protected:
  TemporaryFolderTest() { setenv("TMPDIR", place_.path().c_str(), 1); }
  ~TemporaryFolderTest() override { unsetenv("TMPDIR"); }
  int64_t Folders() const { return std::distance(fs::directory_iterator(place_.path()), {}); }

  const TemporaryFolder place_{"yoke-place"};
};

TEST_F(TemporaryFolderTest, GoesWithItsOwner) {
  {
    const TemporaryFolder one("yoke-a"), other("yoke-a");
    EXPECT_NE(one.path(), other.path());
    EXPECT_EQ(Folders(), 2);
  }
  EXPECT_EQ(Folders(), 0);
}

TEST_F(TemporaryFolderTest, WhatAKilledProcessLeftGoesWithTheNext) {
  const pid_t child = fork();
  if (child == 0) {
    const TemporaryFolder folder("yoke-a");
    fs::create_directories(folder.path() + "/checkpoints");
    kill(getpid(), SIGKILL);
  }
  waitpid(child, nullptr, 0);
  ASSERT_EQ(Folders(), 1);
  fs::create_directories(place_.path() + "/yoke-a-test-123456");  // of another name
  const TemporaryFolder living("yoke-a");
  EXPECT_EQ(Folders(), 2);
  const TemporaryFolder next("yoke-a");
  EXPECT_EQ(Folders(), 3);
  EXPECT_TRUE(fs::exists(living.path()));
}

TEST_F(TemporaryFolderTest, SaysWhereNoneCanBeMade) {
  setenv("TMPDIR", "/proc", 1);
  try {
    const TemporaryFolder folder("yoke-a");
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("cannot make a folder in /proc: "), 0U);
  }
}

}  // namespace yoke::files_test
