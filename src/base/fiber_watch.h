// What the address and the thread sanitizer must be told of fibers. Nothing without them.
#pragma once

#include <cstddef>
#include <span>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1  // as GCC says it
#endif
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1
#endif
#endif

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace yoke {

/// One fiber. Each call stands immediately before or after a switch of stacks.
#if defined(__SANITIZE_ADDRESS__)
class FiberWatch {
 public:
  void BeforeResume(std::span<std::byte> stack) {
    __sanitizer_start_switch_fiber(&resumer_frames_, stack.data(), stack.size());
  }
  void AfterResume() { __sanitizer_finish_switch_fiber(resumer_frames_, nullptr, nullptr); }
  void BeforeSuspend(bool ends) {
    __sanitizer_start_switch_fiber(ends ? nullptr : &frames_, resumer_stack_, resumer_bytes_);
  }
  void AfterSuspend() {  // or the beginning
    __sanitizer_finish_switch_fiber(frames_, &resumer_stack_, &resumer_bytes_);
  }
  /// Its frames have not all returned.
  static void Ended(std::span<std::byte> stack) {
    __asan_unpoison_memory_region(stack.data(), stack.size());
  }

 private:
  void *frames_ = nullptr, *resumer_frames_ = nullptr;
  const void* resumer_stack_ = nullptr;
  size_t resumer_bytes_ = 0;
};
#elif defined(__SANITIZE_THREAD__)
class FiberWatch {
 public:
  void BeforeResume(std::span<std::byte> /*stack*/) {
    if (!fiber_) fiber_ = __tsan_create_fiber(0);
    resumer_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber_, 0);
  }
  void AfterResume() {}
  void BeforeSuspend(bool /*ends*/) { __tsan_switch_to_fiber(resumer_, 0); }
  void AfterSuspend() {}
  void Ended(std::span<std::byte> /*stack*/) { __tsan_destroy_fiber(fiber_); }

 private:
  void *fiber_ = nullptr, *resumer_ = nullptr;
};
#else
class FiberWatch {
 public:
  void BeforeResume(std::span<std::byte> /*stack*/) {}
  void AfterResume() {}
  void BeforeSuspend(bool /*ends*/) {}
  void AfterSuspend() {}
  void Ended(std::span<std::byte> /*stack*/) {}
};
#endif

}  // namespace yoke
