// ParamLayout: packs slices by kind, 64-byte aligned.
#include "params/layout.h"

#include "base/check.h"

namespace yoke {

int ParamLayout::Add(Slice slice) {
  for (const Slice& other : slices_)
    Require(other.name != slice.name, "two parameters are named '{}'", slice.name);
  slices_.push_back(std::move(slice));
  return static_cast<int>(slices_.size()) - 1;
}

void ParamLayout::Pack() {
  size_ = 0;
  for (SliceKind kind : {SliceKind::kDense, SliceKind::kRowSparse, SliceKind::kBuffer}) {
    if (kind == SliceKind::kBuffer) statistics_begin_ = size_;
    for (Slice& slice : slices_) {
      if (slice.kind != kind) continue;
      slice.offset = size_;
      size_ += (slice.Count() + 15) / 16 * 16;
    }
    if (kind == SliceKind::kDense) dense_size_ = size_;
  }
}

int64_t ParamLayout::Parameters() const {
  int64_t count = 0;
  for (const Slice& slice : slices_)
    if (slice.kind != SliceKind::kBuffer) count += slice.Count();
  return count;
}

}  // namespace yoke
