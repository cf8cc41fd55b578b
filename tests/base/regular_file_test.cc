// OpenRegular makes and opens files, and refuses everything else at once.
#include "base/regular_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/check.h"

namespace yoke::regular_file_test {

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

}  // namespace yoke::regular_file_test
