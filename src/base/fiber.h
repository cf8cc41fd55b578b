// Fibers: functions that take turns on one thread, each with a stack of its own. A switch takes
// nanoseconds, and a hundred thousand of them are no burden, unlike threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace yoke {

/// What a sanitizer must be told of one fiber. CMake chooses what it does:
/// base/fiber_watch_asan.cc, base/fiber_watch_tsan.cc, or base/fiber_watch_none.cc without one.
/// Each call stands immediately before or after a switch of stacks.
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

/// The stacks of many fibers. The system gives a page of one when it is first touched.
class FiberStacks {
 public:
  /// For about so many at once. Up to kRoomy, each has 1 MiB and a guard page, on which an overflow
  /// ends the program. Of more each has 256 KiB without: guards count against vm.max_map_count.
  explicit FiberStacks(size_t fibers);
  ~FiberStacks();
  FiberStacks(const FiberStacks&) = delete;
  FiberStacks& operator=(const FiberStacks&) = delete;

  /// Throws Error if the system has no memory for one.
  std::span<std::byte> Take();
  void Return(std::span<std::byte> stack);

  static constexpr size_t kRoomy = 10000;

 private:
  void Grow();

  const size_t page_;   // a guard's bytes
  const size_t bytes_;  // of a stack, its guard included
  size_t guards_ = 0;
  std::vector<void*> arenas_;
  std::vector<std::byte*> free_;
};

/// All calls come from one thread. Each fiber has its own exceptions in flight and its own
/// floating-point modes, which start as those of its creator. What lies on the stack of a fiber
/// that is destroyed before it has ended is not destroyed.
class Fiber {
 public:
  /// `body` must not throw. It takes a stack when it begins and returns it when it has ended.
  Fiber(FiberStacks& stacks, std::function<void()> body);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Runs the body until it calls Suspend or ends. Throws Error if there is no memory for a stack.
  void Resume();
  /// Called in the body: returns to the caller of Resume, until that calls it again.
  void Suspend();
  bool ended() const { return ended_; }

 private:
  /// What libstdc++ keeps of a thread's exceptions (the ABI's __cxa_eh_globals).
  struct Exceptions {
    void* caught = nullptr;
    unsigned int uncaught = 0;
  };

  static void Enter(void* fiber);
  void Begin();

  FiberStacks& stacks_;
  std::function<void()> body_;
  std::span<std::byte> stack_;
  void* own_ = nullptr;      // its stack pointer while it is suspended
  void* resumer_ = nullptr;  // its resumer's, while it runs
  Exceptions exceptions_;
  uint64_t modes_;  // floating-point modes to begin with
  bool ended_ = false;
  FiberWatch watch_;
};

}  // namespace yoke
