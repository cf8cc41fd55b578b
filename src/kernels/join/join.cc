// Join: sums and concatenations by loops.
#include "kernels/join/join.h"

#include "kernels/loops.h"

namespace yoke {
namespace cpu {
void Sum(const SumCall& call, bool relu);
void Concatenate(const ConcatenateCall& call);
void TakeApart(const ConcatenateCall& call);
}  // namespace cpu

std::unique_ptr<SumKernel> MakeSum(bool relu, const Target& target) {
  return MakeLoops<SumCall>(target, [relu](const SumCall& call) { cpu::Sum(call, relu); });
}

std::unique_ptr<ConcatenateKernel> MakeConcatenate(const Target& target) {
  return MakeLoops<ConcatenateCall>(target, cpu::Concatenate, cpu::TakeApart);
}

}  // namespace yoke
