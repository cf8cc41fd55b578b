// Makers: the ordered list of an operation's kernels, best first; each may decline, the reference
// last.
#pragma once

#include <initializer_list>
#include <memory>

#include "base/check.h"

namespace yoke {

/// A kernel made for `Shape`, or null when this maker declines (a type, shape or CPU it does not
/// serve).
template <typename Kernel, typename Shape>
using Maker = std::unique_ptr<Kernel> (*)(const Shape& shape);

/// The first kernel of the list that does not decline; with `reference` only the last maker, which
/// never declines.
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
