// A fiber is switched to by exchanging stack pointers; the registers that a function must keep lie
// on the stacks. For x86-64, as the kernels.
#include "base/fiber.h"

#include <cxxabi.h>
#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/check.h"

// void YokeSwitchStack(void** from, void* to, void* argument): leaves the stack pointer in *from
// and continues on stack `to`, where an earlier call left it, or where Begin says to call a
// function with `argument`.
asm(R"(
  .text
  .p2align 4
  .globl YokeSwitchStack
  .hidden YokeSwitchStack
  .type YokeSwitchStack, @function
YokeSwitchStack:
  .cfi_startproc
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  subq $8, %rsp
  stmxcsr (%rsp)
  fnstcw 4(%rsp)
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  ldmxcsr (%rsp)
  fldcw 4(%rsp)
  addq $8, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  movq %rdx, %rdi
  ret
  .cfi_endproc
  .size YokeSwitchStack, . - YokeSwitchStack
)");
extern "C" void YokeSwitchStack(void** from, void* to, void* argument);

namespace yoke {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kRoomyStack = size_t{1} << 20, kStack = size_t{1} << 18;
constexpr size_t kArena = size_t{1} << 26;  // one mapping for many stacks

}  // namespace

FiberStacks::FiberStacks(size_t fibers) : bytes_(fibers <= kRoomy ? kRoomyStack : kStack) {}

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
    if (bytes_ == kRoomyStack && guards_ < kRoomy && mprotect(stack, kPage, PROT_NONE) == 0)
      ++guards_;
  }
}

std::span<std::byte> FiberStacks::Take() {
  if (free_.empty()) Grow();
  std::byte* stack = free_.back();
  free_.pop_back();
  return {stack + kPage, bytes_ - kPage};
}

void FiberStacks::Return(std::span<std::byte> stack) { free_.push_back(stack.data() - kPage); }

Fiber::Fiber(FiberStacks& stacks, std::function<void()> body)
    : stacks_(stacks), body_(std::move(body)) {
  asm volatile("stmxcsr %0" : "=m"(sse_modes_));
  asm volatile("fnstcw %0" : "=m"(x87_modes_));
}

/// Prepares a stack on which YokeSwitchStack calls Enter.
void Fiber::Begin() {
  stack_ = stacks_.Take();
  // From the stack pointer on: modes, six registers, where to return to, and an end for unwinders.
  std::array<uint64_t, 9> frame = {};
  frame[0] = sse_modes_ | uint64_t{x87_modes_} << 32;
  frame[7] = reinterpret_cast<uint64_t>(&Fiber::Enter);
  std::byte* top = stack_.data() + stack_.size();
  own_ = std::memcpy(top - sizeof frame, frame.data(), sizeof frame);
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
