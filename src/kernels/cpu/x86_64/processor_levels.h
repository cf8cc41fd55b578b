// The levels of instructions of x86-64, least first. CMake chooses this folder there.
#pragma once

#include <array>
#include <dnnl.hpp>

namespace yoke {

/// What our loops and the library's tell apart.
struct Level {
  const char* name;
  dnnl::cpu_isa isa;
};

inline constexpr std::array<Level, 4> kLevels = {{{"avx2", dnnl::cpu_isa::avx2},
                                                  {"avx512", dnnl::cpu_isa::avx512_core},
                                                  {"avx512_bf16", dnnl::cpu_isa::avx512_core_bf16},
                                                  {"amx", dnnl::cpu_isa::avx512_core_amx}}};

}  // namespace yoke
