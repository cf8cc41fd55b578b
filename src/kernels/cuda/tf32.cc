// Tf32: by the environment.
#include "kernels/cuda/tf32.h"

#include <cstdlib>
#include <string_view>

namespace yoke::cuda {

bool UsesTf32() {
  const char* const set = std::getenv("YOKE_TF32");
  return set && std::string_view(set) == "1";
}

}  // namespace yoke::cuda
