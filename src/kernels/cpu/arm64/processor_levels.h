// The one level of instructions of arm64. CMake chooses this folder there.
#pragma once

#include <array>
#include <dnnl.hpp>

namespace yoke {

/// What our loops and the library's tell apart.
struct Level {
  const char* name;
  dnnl::cpu_isa isa;
};

inline constexpr std::array<Level, 1> kLevels = {{{"portable", dnnl::cpu_isa::isa_default}}};

}  // namespace yoke
