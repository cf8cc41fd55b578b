// Errors carry their sentence, their place and the exit status of a command; reasons say what to
// do.
#include "base/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

namespace yoke::check_test {

TEST(Check, NamesThePlaceAndExitsWithOne) {
  Check(true, "fine");
  try {
    Check(false, "a promise was broken");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("a promise was broken ("));
    EXPECT_THAT(error.what(), testing::HasSubstr("check_test.cc:"));
    EXPECT_EQ(error.exit_status(), 1);
  }
}

TEST(Require, IsTheCallersMistake) {
  try {
    Require(false, "{}: expected {}", "a.txt:3", "a number");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "a.txt:3: expected a number");
    EXPECT_EQ(error.exit_status(), 2);
  }
}

TEST(Reason, SaysWhatToDo) {
  EXPECT_EQ(ReasonOf(ENOSPC), "No space left on device (make room)");
  EXPECT_EQ(ReasonOf(EACCES), "Permission denied");
  EXPECT_NE(ReasonOf(EMFILE).find("ulimit -n"), std::string::npos);
  EXPECT_NE(ReasonOf(EFBIG).find("ulimit -f unlimited"), std::string::npos);
  EXPECT_EQ(ReasonOf(0), "is the disk full?");
}

}  // namespace yoke::check_test
