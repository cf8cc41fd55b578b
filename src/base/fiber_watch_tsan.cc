// FiberWatch for the thread sanitizer, which keeps a stack of calls for each fiber. The functions
// that switch are not instrumented: they would begin on one of these stacks and end on another.
#include <sanitizer/tsan_interface.h>

#include "base/fiber.h"

namespace yoke {

[[gnu::no_sanitize("thread")]] void FiberWatch::BeforeResume(std::span<std::byte> /*stack*/) {
  if (!own_) own_ = __tsan_create_fiber(0);
  resumer_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(own_, 0);
}

void FiberWatch::AfterResume() {}

[[gnu::no_sanitize("thread")]] void FiberWatch::BeforeSuspend(bool /*ends*/) {
  __tsan_switch_to_fiber(resumer_, 0);
}

void FiberWatch::AfterSuspend() {}

void FiberWatch::Ended(std::span<std::byte> /*stack*/) { __tsan_destroy_fiber(own_); }

}  // namespace yoke
