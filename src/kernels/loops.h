// Loops: kernels of plain functions over memory, which suit every type, shape and CPU.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "kernels/makers.h"

namespace yoke {

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
