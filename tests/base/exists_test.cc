// What is there, what is not, and what cannot be told.
#include "base/exists.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/check.h"

namespace yoke::exists_test {

TEST(Exists, FollowsLinks) {
  namespace fs = std::filesystem;
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

}  // namespace yoke::exists_test
