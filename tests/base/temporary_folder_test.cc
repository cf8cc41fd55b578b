// Temporary folders: gone with their owner, and with the next one if that was killed.
#include "base/temporary_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>

#include "base/check.h"

namespace yoke::temporary_folder_test {

namespace fs = std::filesystem;

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

}  // namespace yoke::temporary_folder_test
