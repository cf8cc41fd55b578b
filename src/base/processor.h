// What each kind of processor does its own way: floating-point modes, and a switch of stacks, of
// which fibers are made. CMake chooses base/processor_x86_64.cc or base/processor_arm64.cc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace yoke {

/// How this thread rounds and whether it flushes denormals, as a switch of stacks keeps it. The low
/// half is that of vector arithmetic.
uint64_t FloatingPointModes();
/// Sets the low half.
void SetArithmeticModes(uint32_t modes);
/// The bits of the low half by which denormals are read and written as 0.
extern const uint32_t kFlushingModes;

/// What libgomp's threads do once a spin while they wait.
void SpinOnce();

/// Prepares the stack that ends at `top`, a multiple of 16. The first switch to the stack pointer
/// that this returns calls `enter` with the switch's argument; `enter` never returns.
void* BeginStack(std::byte* top, uint64_t modes, void (*enter)(void*));

/// Leaves the stack pointer in *from and continues on stack `to`: where an earlier call left it, or
/// as BeginStack says.
extern "C" void YokeSwitchStack(void** from, void* to, void* argument);

}  // namespace yoke
