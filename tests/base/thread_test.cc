// Threads: they run, and there are as many as were asked for. What the program says where the
// system refuses some is in tests/cli/limits_test.py.
#include "base/thread.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace yoke::thread_test {

TEST(Thread, RunsItsWork) {
  int done = 0;
  StartThread([&done] { done = 1; }).join();
  EXPECT_EQ(done, 1);
}

TEST(Thread, SeveralCanRunAtOnce) {
  RequireThreads(0);
  RequireThreads(20);
}

TEST(Thread, ARefusalSaysHowManyAndWhatToDo) {
  try {
    RefuseThreads(3, 7);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find("3 of 7 additional threads"), said.npos) << said;
    EXPECT_NE(said.find("ulimit -u"), said.npos) << said;
    EXPECT_EQ(error.exit_status(), 1);
  }
}

}  // namespace yoke::thread_test
