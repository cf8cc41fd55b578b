// Makers: the list of an operation's kernels, best first. Each may decline; the reference is last.
#pragma once

#include <initializer_list>
#include <memory>

#include "base/check.h"

namespace yoke {

/// Makes a kernel for `Shape`, or returns null for a type, shape or CPU that it does not support.
template <typename Kernel, typename Shape>
using Maker = std::unique_ptr<Kernel> (*)(const Shape& shape);

/// The first kernel in the list that does not decline. With `reference`, the last one, which never
/// declines.
template <typename Kernel, typename Shape>
std::unique_ptr<Kernel> MakeFirst(std::initializer_list<Maker<Kernel, Shape>> makers,
                                  const Shape& shape, bool reference) {
  if (reference) return (*(makers.end() - 1))(shape);
  for (Maker<Kernel, Shape> make : makers)
    if (auto kernel = make(shape)) return kernel;
  Check(false, "the reference kernel never declines");
  return nullptr;
}

}  // namespace yoke
