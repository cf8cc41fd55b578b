// Makers: the list of an operation's kernels, best first. Each may decline; the reference is last.
#pragma once

#include <initializer_list>
#include <memory>
#include <utility>

#include "kernels/queued.h"

namespace yoke {

/// Makes a CPU kernel for `Shape`, or returns null for a type, shape or CPU that it does not
/// support.
template <typename Call, typename Shape>
using Maker = std::unique_ptr<Kernel<Call>> (*)(const Shape& shape);

/// `kernel` where the target is the host; for an emulated device, on its queue. Throws Error for an
/// operation that other devices do not take (its Call has no Addresses).
template <typename Call>
std::unique_ptr<Kernel<Call>> OnTarget(std::unique_ptr<Kernel<Call>> kernel, const Target& target) {
  if (target.device->IsHost()) return kernel;
  if constexpr (requires(Call call) { call.Addresses([](auto*&...) {}); }) {
    if (target.stream->work_queue())
      return std::make_unique<Queued<Call>>(std::move(kernel), *target.stream);
  }
  throw Error(
      fmt::format("{} runs on the CPU only, not on {}", kernel->name(), target.device->name()));
}

/// The first kernel in the list that does not decline. With `target.reference`, the last one, which
/// never declines.
template <typename Call, typename Shape>
std::unique_ptr<Kernel<Call>> MakeFirst(std::initializer_list<Maker<Call, Shape>> makers,
                                        const Shape& shape, const Target& target) {
  if (target.reference) return OnTarget((*(makers.end() - 1))(shape), target);
  for (Maker<Call, Shape> make : makers)
    if (auto kernel = make(shape)) return OnTarget(std::move(kernel), target);
  Check(false, "the reference kernel never declines");
  return nullptr;
}

}  // namespace yoke
