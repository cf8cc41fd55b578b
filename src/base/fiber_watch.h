// FiberWatch: what a sanitizer must be told of a fiber. CMake chooses what it does:
// base/fiber_watch_asan.cc, base/fiber_watch_tsan.cc, or base/fiber_watch_none.cc without one.
#pragma once

#include <cstddef>
#include <span>

namespace yoke {

/// Of one fiber. Each call stands immediately before or after a switch of stacks.
class FiberWatch {
 public:
  void BeforeResume(std::span<std::byte> stack);
  void AfterResume();
  void BeforeSuspend(bool ends);
  void AfterSuspend();  ///< Or at the beginning.
  /// After its last switch; its frames have not all returned.
  void Ended(std::span<std::byte> stack);

 private:
  void *own_ = nullptr, *resumer_ = nullptr;  // as the sanitizer names their states
  const void* resumer_stack_ = nullptr;
  size_t resumer_bytes_ = 0;
};

}  // namespace yoke
