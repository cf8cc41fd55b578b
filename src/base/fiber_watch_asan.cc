// FiberWatch for the address sanitizer, which must know which stack is in use.
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

#include "base/fiber.h"

namespace yoke {

void FiberWatch::BeforeResume(std::span<std::byte> stack) {
  __sanitizer_start_switch_fiber(&resumer_, stack.data(), stack.size());
}

void FiberWatch::AfterResume() { __sanitizer_finish_switch_fiber(resumer_, nullptr, nullptr); }

void FiberWatch::BeforeSuspend(bool ends) {
  __sanitizer_start_switch_fiber(ends ? nullptr : &own_, resumer_stack_, resumer_bytes_);
}

void FiberWatch::AfterSuspend() {
  __sanitizer_finish_switch_fiber(own_, &resumer_stack_, &resumer_bytes_);
}

void FiberWatch::Ended(std::span<std::byte> stack) {
  __asan_unpoison_memory_region(stack.data(), stack.size());
}

}  // namespace yoke
