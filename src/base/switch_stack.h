// SwitchStack: continues on another stack, of which fibers are made. For x86-64 and arm64.
#pragma once

#include <cstddef>
#include <cstdint>

namespace yoke {

/// How this thread rounds and whether it flushes denormals, as a switch keeps it.
uint64_t FloatingPointModes();

/// Prepares the stack that ends at `top`, a multiple of 16. The first switch to the stack pointer
/// that this returns calls `enter` with the switch's argument; `enter` never returns.
void* BeginStack(std::byte* top, uint64_t modes, void (*enter)(void*));

/// Leaves the stack pointer in *from and continues on stack `to`: where an earlier call left it, or
/// as BeginStack says.
extern "C" void YokeSwitchStack(void** from, void* to, void* argument);

}  // namespace yoke
