// BatchArrays: a batch's input and labels where they are computed with.
#pragma once

#include <algorithm>
#include <type_traits>

#include "tensor/batch.h"
#include "tensor/growing_buffer.h"

namespace yoke {

/// On the host the batch's own arrays; on another device copies, in memory that only grows.
class BatchArrays {
 public:
  explicit BatchArrays(const Target& target)
      : target_(target),
        dense_copy_(target),
        scales_copy_(target),
        crops_copy_(target),
        sparse_copy_(target),
        classes_copy_(target),
        sets_copy_(target),
        targets_copy_(target),
        weights_copy_(target),
        examples_copy_(target) {}

  /// Follows `batch`: its input, labels and example ids. On another device, starts their copies
  /// from staging memory, so the batch may change; the use of earlier copies must have ended.
  void Take(const Batch& batch) {
    dense_ = batch.dense;
    dense_.data = dense_copy_.Of(dense_.As<char>(), dense_.Bytes());
    if (dense_.type == DType::kU8) TakeScales(batch);
    sparse_ = sparse_copy_.Of(batch.sparse);
    TakeLabels(batch);
    TakeExamples(batch);
  }
  /// Take on another device; what `stream` runs from Join on finds the copies there.
  void Send(const Batch& batch) {
    Take(batch);
    target_.stream->Record(there_);
  }
  void Join(Stream& stream) const { stream.Await(there_); }

  const Tensor& dense() const { return dense_; }
  /// Of dense bytes.
  const ChannelScales& scales() const { return scales_; }
  const ImageCrop* crops() const { return crops_; }  ///< Null: whole images.
  const SparseRows& sparse() const { return sparse_; }
  const Labels& labels() const { return labels_; }
  const int64_t* examples() const { return examples_; }  ///< Null: not known.
  const int64_t* epoch() const { return epoch_; }        ///< Of Batch::epoch.

 private:
  void TakeLabels(const Batch& batch) {
    labels_ = {};
    if (!batch.weights.empty()) labels_.weights = weights_copy_.Of(batch.weights);
    if (!batch.classes.empty())
      labels_.classes = classes_copy_.Of(batch.classes);
    else if (!batch.targets.empty())
      labels_.targets = targets_copy_.Of(batch.targets);
    else
      labels_.sets = sets_copy_.Of(batch.labels);
  }

  /// Ids and the epoch in one copy.
  void TakeExamples(const Batch& batch) {
    const auto count = static_cast<int64_t>(batch.examples.size());
    if (target_.device->IsHost()) {
      examples_ = count > 0 ? batch.examples.data() : nullptr;
      epoch_ = &batch.epoch;
      return;
    }
    ids_and_epoch_.assign(batch.examples.begin(), batch.examples.end());
    ids_and_epoch_.push_back(batch.epoch);
    const int64_t* const there = examples_copy_.Of(ids_and_epoch_);
    examples_ = count > 0 ? there : nullptr;
    epoch_ = there + count;
  }

  struct ArrayCopy {
    explicit ArrayCopy(const Target& target)
        : on_host(target.device->IsHost()),
          here({.device = &target.device->staging()}),
          there(target) {}
    template <typename T>
    T* Of(T* from, int64_t count) {
      if (on_host || !from) return from;
      auto* const staged = here.Reserve<std::remove_const_t<T>>(count);
      std::copy_n(from, count, staged);
      return there.Of(staged, count);
    }
    template <typename T>
    const T* Of(const std::vector<T>& from) {
      return Of(from.data(), static_cast<int64_t>(from.size()));
    }
    bool on_host;
    GrowingBuffer here, there;
  };
  struct SparseCopy {
    explicit SparseCopy(const Target& target) : offsets(target), ids(target), values(target) {}
    SparseRows Of(const SparseStorage& from) {
      SparseRows rows = from.View();
      rows.offsets = offsets.Of(from.offsets);
      rows.ids = ids.Of(from.ids);
      if (rows.values) rows.values = values.Of(from.values);
      return rows;
    }
    ArrayCopy offsets, ids, values;
  };

  /// Scales are those of the data: they stay.
  void TakeScales(const Batch& batch) {
    if (given_scales_ != batch.scales) {
      given_scales_ = batch.scales;
      scales_ = {.channels = std::ssize(given_scales_) / 3,
                 .values = scales_copy_.Of(given_scales_)};
    }
    crops_ = batch.crops.empty() ? nullptr : crops_copy_.Of(batch.crops);
  }

  Target target_;
  std::shared_ptr<Event> there_;  // after Send
  Tensor dense_;
  std::vector<float> given_scales_;
  ChannelScales scales_;
  const ImageCrop* crops_ = nullptr;
  SparseRows sparse_;
  Labels labels_;
  std::vector<int64_t> ids_and_epoch_;  // of examples, on another device
  const int64_t* examples_ = nullptr;
  const int64_t* epoch_ = nullptr;
  ArrayCopy dense_copy_, scales_copy_, crops_copy_;
  SparseCopy sparse_copy_;
  ArrayCopy classes_copy_;
  SparseCopy sets_copy_;
  ArrayCopy targets_copy_, weights_copy_;
  ArrayCopy examples_copy_;
};

}  // namespace yoke
