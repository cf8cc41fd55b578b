// Instructions: which of the CPU's our loops may use.
#pragma once

#include <processor_target.h>  // YOKE_AVX512

namespace yoke::cpu {

/// Throws UserError where YOKE_ISA asks for what there is not. Whether this CPU, as the kernel
/// library is allowed to see it (YOKE_ISA, ONEDNN_MAX_CPU_ISA), runs functions with YOKE_AVX512.
bool HasAvx512();
/// The same for AVX512-BF16.
bool HasAvx512Bf16();
/// The same for AMX with bf16; the system has let this process use its tiles.
bool HasAmx();

}  // namespace yoke::cpu
