// Signals: handlers run on a stack of their own, because kernels use the stack register for other
// data.
#include "cli/signals.h"

#include <gtest/gtest.h>

#include <csignal>

namespace yoke::signals_test {

TEST(Signals, HaveAStackOfTheirOwn) {
  CatchStopSignals();
  struct sigaction action {};
  stack_t stack{};
  ASSERT_EQ(sigaction(SIGTERM, nullptr, &action), 0);
  ASSERT_EQ(sigaltstack(nullptr, &stack), 0);
  EXPECT_NE(action.sa_flags & SA_ONSTACK, 0);
  EXPECT_EQ(stack.ss_flags & SS_DISABLE, 0);
}

}  // namespace yoke::signals_test
