// Buckets: neighbouring slices of the packed gradient that are sent together, in the order in which
// the backward pass completes them.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/communicator.h"
#include "optim/rule.h"
#include "params/layout.h"
#include "strategy/strategy.h"

namespace yoke {

/// Elements [begin, end) of the packed gradient.
struct Bucket {
  int64_t begin = 0;
  int64_t end = 0;
};

/// The dense slices before `slices_end`, cut into buckets, and how far a step has come.
class Buckets {
 public:
  /// A bucket has so many elements or more, except the last one. 0: a slice each.
  Buckets(const ParamLayout& layout, int64_t elements, int slices_end = SliceRange::kEnd);

  /// From the last slice to the first. They stay where they are.
  const std::vector<Bucket>& all() const { return all_; }
  /// A step begins: no slice is complete.
  void Begin() {
    missing_ = slices_;
    next_ = 0;
  }
  /// Calls send(bucket) for those that this slice completes, in the order of all().
  template <typename Send>
  void Complete(int slice, const Send& send) {
    if (bucket_of_[slice] < 0) return;
    --missing_[bucket_of_[slice]];
    while (next_ < all_.size() && missing_[next_] == 0) send(all_[next_++]);
  }
  /// All slices are complete, and their buckets sent by others.
  void Skip() { next_ = all_.size(); }
  /// Calls it for those left.
  template <typename Send>
  void Rest(const Send& send) {
    while (next_ < all_.size()) send(all_[next_++]);
  }

 private:
  std::vector<Bucket> all_;
  std::vector<int> slices_, missing_;  // of each bucket; not complete
  std::vector<int> bucket_of_;         // by slice; -1: of none
  size_t next_ = 0;
};

/// The option bucket_mb.
OptionSpec BucketOption(double fallback);
/// Elements of a bucket of so many megabytes in a world that may bill a shrunken model.
int64_t BucketElements(double megabytes, const Communicator& world);
/// Number of buckets of a model, for an estimate.
int64_t EstimateBuckets(double megabytes, const ExchangeSize& size);

}  // namespace yoke
