// BatchArrays: a batch's input and labels where they are computed with.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "tensor/batch.h"
#include "tensor/target.h"

namespace yoke {

/// On the host the batch's own arrays; on another device copies, in memory that only grows.
class BatchArrays {
 public:
  explicit BatchArrays(const Target& target) : target_(target) {}

  /// Follows `batch`: its dense input, labels and example ids. On another device, copies them; the
  /// batch must stay as it is until the stream has waited. Sparse input stays on the host.
  void Take(const Batch& batch) {
    dense_ = batch.dense;
    labels_ = batch.Targets();
    examples_ = batch.examples.empty() ? nullptr : batch.examples.data();
    if (target_.device->IsHost()) return;
    if (dense_.data) dense_.data = Copy(dense_copy_, dense_.As<char>(), dense_.Bytes());
    labels_.classes = Copied(classes_copy_, labels_.classes, batch.classes.size());
    SparseRows& sets = labels_.sets;
    sets.ids = Copied(ids_copy_, sets.ids, batch.labels.ids.size());
    sets.offsets = Copied(offsets_copy_, sets.offsets, batch.labels.offsets.size());
    examples_ = Copied(examples_copy_, examples_, batch.examples.size());
  }

  const Tensor& dense() const { return dense_; }
  const Labels& labels() const { return labels_; }
  const int64_t* examples() const { return examples_; }  ///< Null: not known.

 private:
  void* Copy(Buffer& to, const void* from, int64_t bytes) {
    if (to.bytes() < bytes) {
      const int64_t more = std::max(bytes, to.bytes() + to.bytes() / 2);
      outgrown_.push_back(std::move(to));  // work under way may use it
      to = Buffer(*target_.device, more);
    }
    target_.stream->Copy(to.data(), from, bytes);
    return to.data();
  }
  template <typename T>
  const T* Copied(Buffer& to, const T* from, size_t count) {
    if (!from || count == 0) return nullptr;
    return static_cast<const T*>(Copy(to, from, static_cast<int64_t>(count * sizeof(T))));
  }

  Target target_;
  Tensor dense_;
  Labels labels_;
  const int64_t* examples_ = nullptr;
  Buffer dense_copy_, classes_copy_, ids_copy_, offsets_copy_, examples_copy_;
  std::vector<Buffer> outgrown_;
};

}  // namespace yoke
