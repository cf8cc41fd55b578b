#include "base/reason.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace yoke::reason_test {

TEST(Reason, SaysWhatToDo) {
  EXPECT_EQ(ReasonOf(ENOSPC), "No space left on device (make room)");
  EXPECT_EQ(ReasonOf(EACCES), "Permission denied");
  EXPECT_NE(ReasonOf(EMFILE).find("ulimit -n"), std::string::npos);
  EXPECT_NE(ReasonOf(EFBIG).find("ulimit -f unlimited"), std::string::npos);
  EXPECT_EQ(ReasonOf(0), "is the disk full?");
}

}  // namespace yoke::reason_test
