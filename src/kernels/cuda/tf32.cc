// Tf32: by the environment or a scope.
#include "kernels/cuda/tf32.h"

#include <cstdlib>
#include <string_view>
#include <utility>

namespace yoke::cuda {
namespace {

thread_local std::optional<bool> tf32_scope;

}  // namespace

bool UsesTf32() {
  if (tf32_scope) return *tf32_scope;
  const char* const set = std::getenv("YOKE_TF32");
  return set && std::string_view(set) == "1";
}

Tf32Scope::Tf32Scope(bool rounds) : outer_(std::exchange(tf32_scope, rounds)) {}
Tf32Scope::~Tf32Scope() { tf32_scope = outer_; }

}  // namespace yoke::cuda
