#include "base/reason.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace yoke::reason_test {

TEST(Reason, SaysWhatToDo) {
  EXPECT_EQ(ReasonOf(ENOSPC), "No space left on device");
  EXPECT_NE(ReasonOf(EFBIG).find("ulimit -f unlimited"), std::string::npos);
  EXPECT_EQ(ReasonOf(0), "is the disk full?");
}

}  // namespace yoke::reason_test
