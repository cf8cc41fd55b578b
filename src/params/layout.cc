// ParamLayout: packs slices by kind, 64-byte aligned.
#include "params/layout.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_set>

#include "base/check.h"
#include "tensor/sizes.h"

namespace yoke {

int64_t Slice::Places() const {
  constexpr int64_t kPlace = sizeof(float);
  return RoundUp(Count() * SizeOf(type), kPlace) / kPlace;
}

int ParamLayout::Add(Slice slice) {
  slices_.push_back(std::move(slice));
  return static_cast<int>(slices_.size()) - 1;
}

void ParamLayout::Pack(int64_t alignment) {
  std::unordered_set<std::string_view> names;
  for (const Slice& slice : slices_)
    Require(names.insert(slice.name).second, "two parameters are named '{}'", slice.name);
  alignment_ = alignment;
  size_ = 0;
  for (SliceKind kind : {SliceKind::kDense, SliceKind::kRowSparse, SliceKind::kBuffer}) {
    if (kind == SliceKind::kBuffer) statistics_begin_ = size_;
    for (Slice& slice : slices_) {
      if (slice.kind != kind) continue;
      slice.offset = size_;
      size_ += Extent(slice);
      Require(size_ <= kMostElements, "{} parameters are too many: expected at most {}", size_,
              kMostElements);
    }
    if (kind == SliceKind::kDense) dense_size_ = size_;
  }
}

void ParamLayout::StoreRowsAs(DType type) {
  for (Slice& slice : slices_)
    if (slice.kind == SliceKind::kRowSparse && slice.shape.rank() > 1) slice.type = type;
}

ParamLayout ParamLayout::First(int slices) const {
  ParamLayout first;
  first.slices_.assign(slices_.begin(), slices_.begin() + slices);
  first.Pack(alignment_);
  return first;
}

ParamLayout ParamLayout::Shrunken(int64_t elements) const {
  const double fraction = std::min(1.0, static_cast<double>(elements) / static_cast<double>(size_));
  ParamLayout small;
  for (Slice slice : slices_) {
    const auto count = std::llround(fraction * static_cast<double>(slice.Count()));
    slice.shape = Shape{std::max<int64_t>(1, count)};
    small.Add(std::move(slice));
  }
  small.Pack(1);
  return small;
}

int64_t ParamLayout::Parameters() const {
  int64_t count = 0;
  for (const Slice& slice : slices_)
    if (slice.kind != SliceKind::kBuffer) count += slice.Count();
  return count;
}

}  // namespace yoke
