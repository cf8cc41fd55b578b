// The kernels of cross-entropy, best first, and what they demand of labels.
#include "kernels/cross_entropy/cross_entropy.h"

#include "kernels/makers.h"

namespace yoke {
namespace cpu {
std::unique_ptr<CrossEntropyKernel> CrossEntropies(const CrossEntropyShape& shape);
}
namespace reference {
std::unique_ptr<CrossEntropyKernel> CrossEntropies(const CrossEntropyShape& shape);
}

std::unique_ptr<CrossEntropyKernel> MakeCrossEntropy(const CrossEntropyShape& shape,
                                                     const Target& target) {
  return MakeFirst<CrossEntropyCall, CrossEntropyShape>(
      {cpu::CrossEntropies, reference::CrossEntropies}, shape, target);
}

void CheckLabels(const Batch& batch, const CrossEntropyShape& shape) {
  const auto size = static_cast<size_t>(batch.size);
  const bool classes = !batch.classes.empty();
  Check(classes ? batch.classes.size() == size : batch.labels.offsets.size() == size + 1,
        "a loss needs a class or a label set for each example");
  const bool binary = classes && shape.outputs == 1 && shape.function == CrossEntropy::kSigmoid;
  const int64_t limit = binary ? 2 : shape.outputs;
  for (const int32_t id : classes ? batch.classes : batch.labels.ids)
    Check(id >= 0 && id < limit, "a label is not among the model's outputs");
}

}  // namespace yoke
