// The kernels of sparse linear, best first.
#include "kernels/sparse_linear/sparse_linear.h"

#include "kernels/makers.h"

namespace yoke {
namespace cpu {
std::unique_ptr<SparseLinearKernel> SparseLinear(const SparseLinearShape& shape);
}
namespace reference {
std::unique_ptr<SparseLinearKernel> SparseLinear(const SparseLinearShape& shape);
}

std::unique_ptr<SparseLinearKernel> MakeSparseLinear(const SparseLinearShape& shape,
                                                     const Target& target) {
  return MakeFirst<SparseLinearCall, SparseLinearShape>(
      {cpu::SparseLinear, reference::SparseLinear}, shape, target);
}

void CheckIds(const SparseRows& rows, int64_t features) {
  if (rows.rows == 0) return;
  bool inside = true;
  for (int64_t k = rows.offsets[0]; k < rows.offsets[rows.rows]; ++k)
    inside &= static_cast<uint32_t>(rows.ids[k]) < static_cast<uint64_t>(features);
  Check(inside, "a feature of the batch is not among the model's inputs");
}

}  // namespace yoke
