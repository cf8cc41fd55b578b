// x86-64: the registers that a function must keep lie on the stacks. An end for unwinders lies
// under the first function of each.
#include "base/processor.h"

#include <pmmintrin.h>

#include <array>
#include <cstring>

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

namespace yoke {

const uint32_t kFlushingModes = _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON;

uint64_t FloatingPointModes() {
  uint16_t x87 = 0;
  asm volatile("fnstcw %0" : "=m"(x87));
  return _mm_getcsr() | uint64_t{x87} << 32;
}

void SetArithmeticModes(uint32_t modes) { _mm_setcsr(modes); }

void SpinOnce() { _mm_pause(); }

void* BeginStack(std::byte* top, uint64_t modes, void (*enter)(void*)) {
  // From the stack pointer on: modes, six registers, where to return to, and the end.
  std::array<uint64_t, 9> frame = {};
  frame[0] = modes;
  frame[7] = reinterpret_cast<uint64_t>(enter);
  return std::memcpy(top - sizeof frame, frame.data(), sizeof frame);
}

}  // namespace yoke
