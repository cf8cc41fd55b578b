// Makers: the list of an operation's kernels, best first. Each may decline; the reference is last.
// For operations of one kernel: plain functions over memory, which suit every type, shape and CPU.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <utility>

#include "kernels/queued.h"

namespace yoke {

/// A call that lists its addresses can run on an emulated device.
template <typename Call>
concept ListsAddresses = requires(Call call) {
  call.Addresses([](auto*&...) {});
};

/// Whether a target runs the CPU's kernels for such calls.
template <typename Call>
bool TakesCpuKernels(const Target& target) {
  return target.device->IsHost() || (ListsAddresses<Call> && target.stream->work_queue());
}

/// A CPU kernel where the target is the host; for an emulated device, on its queue. Throws Error
/// for a device that does not take it.
template <typename Call>
std::unique_ptr<Kernel<Call>> OnTarget(std::unique_ptr<Kernel<Call>> kernel, const Target& target) {
  if (target.device->IsHost()) return kernel;
  if constexpr (ListsAddresses<Call>) {
    if (TakesCpuKernels<Call>(target))
      return std::make_unique<Queued<Call>>(std::move(kernel), *target.stream);
  }
  throw Error(
      fmt::format("{} runs on the CPU only, not on {}", kernel->name(), target.device->name()));
}

/// An entry of an operation's list: a function that makes a kernel of the CPU for a shape, or one
/// that makes a kernel for a target. It returns null for what it does not support.
template <typename Call, typename Shape>
class Maker {
 public:
  using Made = std::unique_ptr<Kernel<Call>>;
  Maker(Made (*of_cpu)(const Shape&))  // NOLINT(google-explicit-constructor)
      : of_cpu_(of_cpu) {}
  Maker(Made (*of_target)(const Shape&, const Target&))  // NOLINT(google-explicit-constructor)
      : of_target_(of_target) {}

  Made Make(const Shape& shape, const Target& target) const {
    if (of_target_) return of_target_(shape, target);
    if (!TakesCpuKernels<Call>(target)) return nullptr;
    Made kernel = of_cpu_(shape);
    return kernel ? OnTarget(std::move(kernel), target) : nullptr;
  }
  Made OnCpu(const Shape& shape) const { return of_cpu_(shape); }

 private:
  Made (*of_cpu_)(const Shape&) = nullptr;
  Made (*of_target_)(const Shape&, const Target&) = nullptr;
};

/// The first kernel in the list that does not decline. With `target.reference`, the last one, which
/// is the CPU's and never declines. Throws Error for a device that no entry takes.
template <typename Call, typename Shape>
std::unique_ptr<Kernel<Call>> MakeFirst(std::initializer_list<Maker<Call, Shape>> makers,
                                        const Shape& shape, const Target& target) {
  if (!target.reference)
    for (const Maker<Call, Shape>& maker : makers)
      if (auto kernel = maker.Make(shape, target)) return kernel;
  return OnTarget((makers.end() - 1)->OnCpu(shape), target);
}

/// A kernel of plain functions.
template <typename Call>
class Loops : public Kernel<Call> {
 public:
  using Pass = std::function<void(const Call&)>;
  Loops(Pass forward, Pass backward)
      : forward_(std::move(forward)), backward_(std::move(backward)) {}
  void Forward(const Call& call) override { forward_(call); }
  void Backward(const Call& call) override {
    backward_ ? backward_(call) : Kernel<Call>::Backward(call);
  }
  std::string name() const override { return "loops"; }

 private:
  Pass forward_, backward_;
};

/// Without `backward` for operations that have no gradient.
template <typename Call>
std::unique_ptr<Kernel<Call>> MakeLoops(const Target& target, typename Loops<Call>::Pass forward,
                                        typename Loops<Call>::Pass backward = {}) {
  return OnTarget<Call>(std::make_unique<Loops<Call>>(std::move(forward), std::move(backward)),
                        target);
}

}  // namespace yoke
