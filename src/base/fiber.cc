// A fiber is switched to by exchanging stack pointers (base/processor.h).
#include "base/fiber.h"

#include <cxxabi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "base/check.h"
#include "base/processor.h"

namespace yoke {
namespace {

constexpr size_t kRoomyStack = size_t{1} << 20, kStack = size_t{1} << 18;
constexpr size_t kArena = size_t{1} << 26;  // one mapping for many stacks

}  // namespace

FiberStacks::FiberStacks(size_t fibers)
    : page_(sysconf(_SC_PAGESIZE)), bytes_(fibers <= kRoomy ? kRoomyStack : kStack) {}

FiberStacks::~FiberStacks() {
  for (void* arena : arenas_) munmap(arena, kArena);
}

void FiberStacks::Grow() {
  arenas_.reserve(arenas_.size() + 1);
  void* arena = mmap(nullptr, kArena, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (arena == MAP_FAILED)
    throw Error(
        fmt::format("the system has no memory for the stacks of {} simulated ranks and threads",
                    arenas_.size() * (kArena / bytes_) + 1));
  arenas_.push_back(arena);
  madvise(arena, kArena, MADV_NOHUGEPAGE);  // most stacks use a page or two
  for (size_t at = kArena; at > 0; at -= bytes_) {
    std::byte* stack = static_cast<std::byte*>(arena) + at - bytes_;
    free_.push_back(stack);
    // Where no guard can be had, there is none.
    if (bytes_ == kRoomyStack && guards_ < kRoomy && mprotect(stack, page_, PROT_NONE) == 0)
      ++guards_;
  }
}

std::span<std::byte> FiberStacks::Take() {
  if (free_.empty()) Grow();
  std::byte* stack = free_.back();
  free_.pop_back();
  return {stack + page_, bytes_ - page_};
}

void FiberStacks::Return(std::span<std::byte> stack) { free_.push_back(stack.data() - page_); }

Fiber::Fiber(FiberStacks& stacks, std::function<void()> body)
    : stacks_(stacks), body_(std::move(body)), modes_(FloatingPointModes()) {}

void Fiber::Begin() {
  stack_ = stacks_.Take();
  own_ = BeginStack(stack_.data() + stack_.size(), modes_, &Fiber::Enter);
}

void Fiber::Enter(void* fiber) {
  auto& self = *static_cast<Fiber*>(fiber);
  self.watch_.AfterSuspend();
  self.body_();
  self.body_ = nullptr;
  self.ended_ = true;
  self.watch_.BeforeSuspend(true);
  YokeSwitchStack(&self.own_, self.resumer_, nullptr);
}

void Fiber::Resume() {
  if (stack_.empty()) Begin();
  auto* current = reinterpret_cast<Exceptions*>(abi::__cxa_get_globals());
  std::swap(*current, exceptions_);
  watch_.BeforeResume(stack_);
  YokeSwitchStack(&resumer_, own_, this);
  watch_.AfterResume();
  std::swap(*current, exceptions_);
  if (!ended_) return;
  watch_.Ended(stack_);
  stacks_.Return(std::exchange(stack_, {}));
}

void Fiber::Suspend() {
  watch_.BeforeSuspend(false);
  YokeSwitchStack(&own_, resumer_, nullptr);
  watch_.AfterSuspend();
}

}  // namespace yoke
