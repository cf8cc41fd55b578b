// ParamStore: the packed parameters of one replica.
#include "params/store.h"

namespace yoke {

Gradients::Gradients(const ParamLayout& layout, Device& device)
    : dense_(device, layout.dense_size() * SizeOf(DType::kF32)), rows_(layout.slices().size()) {}

int64_t Gradients::bytes() const {
  int64_t bytes = dense_.bytes();
  for (const RowGradient& rows : rows_)
    bytes += static_cast<int64_t>(rows.ids.capacity() * sizeof(int32_t) +
                                  rows.values.capacity() * sizeof(float));
  return bytes;
}

ParamStore::ParamStore(ParamLayout layout, Device& device)
    : layout_(std::move(layout)), values_(device, layout_.size() * SizeOf(DType::kF32)) {}

}  // namespace yoke
