// Buckets: cut from the end of the packed gradient.
#include "strategy/buckets.h"

#include <algorithm>

#include "comm/virtual_time.h"

namespace yoke {

Buckets::Buckets(const ParamLayout& layout, int64_t elements, int slices_end) {
  const std::vector<Slice>& slices = layout.slices();
  bucket_of_.assign(slices.size(), -1);
  int64_t end = layout.dense_size();
  if (slices_end < std::ssize(slices)) end = slices[slices_end].offset;
  for (int i = std::min<int>(slices_end, static_cast<int>(slices.size())) - 1; i >= 0; --i) {
    if (slices[i].kind != SliceKind::kDense) continue;
    if (all_.empty() || all_.back().end - all_.back().begin >= elements) {
      if (!all_.empty()) end = all_.back().begin;
      all_.push_back({.begin = end, .end = end});
      slices_.push_back(0);
    }
    all_.back().begin = slices[i].offset;
    ++slices_.back();
    bucket_of_[i] = static_cast<int>(all_.size()) - 1;
  }
  Begin();
}

OptionSpec BucketOption(double fallback) {
  return {.name = "bucket_mb",
          .type = OptionType::kFloat,
          .fallback = fallback,
          .help = "Minimum megabytes of gradients that are sent together.",
          .minimum = 0,
          .maximum = 1 << 20};
}

int64_t BucketElements(double megabytes, const Communicator& world) {
  const double elements = megabytes * (1 << 20) / SizeOf(DType::kF32);
  return static_cast<int64_t>(elements / VirtualTime(world).scale());
}

int64_t EstimateBuckets(double megabytes, const ExchangeSize& size) {
  const auto bucket = static_cast<int64_t>(megabytes * (1 << 20));
  return std::clamp<int64_t>(size.bytes / std::max<int64_t>(bucket, 1), 1,
                             std::max<int64_t>(size.slices, 1));
}

}  // namespace yoke
