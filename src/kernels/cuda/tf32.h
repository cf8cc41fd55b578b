// Tf32: whether products of f32 may be rounded to TF32 first.
#pragma once

#include <optional>

namespace yoke::cuda {

/// YOKE_TF32=1 in the environment, unless a Tf32Scope of this thread says otherwise: 10 bits of
/// each factor's fraction count, at many times the rate.
bool UsesTf32();

/// What UsesTf32 returns in this thread while it lives: for kernels that are made meanwhile.
class Tf32Scope {
 public:
  explicit Tf32Scope(bool rounds);
  ~Tf32Scope();
  Tf32Scope(const Tf32Scope&) = delete;
  Tf32Scope& operator=(const Tf32Scope&) = delete;

 private:
  std::optional<bool> outer_;
};

}  // namespace yoke::cuda
