// Library: version and instruction set of the oneDNN in use.
#pragma once

#include <string>

namespace yoke {

std::string OneDnnVersion();       ///< Version of the loaded library: "3.2.0".
std::string OneDnnInstructions();  ///< The instruction set it uses, limited by ONEDNN_MAX_CPU_ISA:
                                   ///< "avx512_core_bf16".

}  // namespace yoke
