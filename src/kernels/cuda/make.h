// Make: the maker of each operation's kernels for devices cuda:N; without CUDA (cuda_none.cc) all of
// them decline.
#pragma once

#include <memory>

#include "kernels/kernel.h"

namespace yoke::cuda {

/// By call and shape (operations.def). Null: declined.
template <typename Call, typename Shape>
std::unique_ptr<Kernel<Call>> Make(const Shape& shape, const Target& target);

}  // namespace yoke::cuda
