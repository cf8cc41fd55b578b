// arm64: the registers that a function must keep lie on the stacks. An end for unwinders lies under
// the first function of each.
#include "base/processor.h"

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
  sub sp, sp, #176
  stp x19, x20, [sp]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mrs x9, fpcr
  str x9, [sp, #160]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldr x9, [sp, #160]
  msr fpcr, x9
  ldp x19, x20, [sp]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #176
  mov x0, x2
  ret
  .cfi_endproc
  .size YokeSwitchStack, . - YokeSwitchStack

  .hidden YokeEnterStack
  .globl YokeEnterStack
  .type YokeEnterStack, @function
YokeEnterStack:
  mov x30, #0
  br x19
  .size YokeEnterStack, . - YokeEnterStack
)");
extern "C" void YokeEnterStack();

namespace yoke {

const uint32_t kFlushingModes = uint32_t{1} << 24;

uint64_t FloatingPointModes() {
  uint64_t modes = 0;
  asm volatile("mrs %0, fpcr" : "=r"(modes));
  return modes;
}

void SetArithmeticModes(uint32_t modes) { asm volatile("msr fpcr, %0" : : "r"(uint64_t{modes})); }

void SpinOnce() { asm volatile("" : : : "memory"); }

void* BeginStack(std::byte* top, uint64_t modes, void (*enter)(void*)) {
  // From the stack pointer on: x19 to x30, d8 to d15, modes. x30 is where a switch returns to.
  std::array<uint64_t, 22> frame = {};
  frame[0] = reinterpret_cast<uint64_t>(enter);
  frame[11] = reinterpret_cast<uint64_t>(&YokeEnterStack);
  frame[20] = modes;
  return std::memcpy(top - sizeof frame, frame.data(), sizeof frame);
}

}  // namespace yoke
