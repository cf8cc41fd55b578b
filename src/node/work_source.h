// WorkSource: the examples of a round, from which the devices of a node take what they want.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "node/sub_batch.h"

namespace yoke {

/// The learning rate of some examples, and for how many it is meant at most: those of their step.
struct WorkRate {
  double learning_rate = 0;
  int64_t examples = 0;
};

/// A round lasts until the replica exchanges or is evaluated, or the epoch ends; no device waits
/// before. Take, Left and Done have one caller; Read is thread-safe.
class WorkSource {
 public:
  virtual ~WorkSource() = default;
  /// Adds the next examples of the round to `examples`, `most` or fewer, and returns the rate of
  /// the first. Adds none when the round is over.
  virtual WorkRate Take(int64_t most, std::vector<int64_t>& examples) = 0;
  /// Reads examples that one call of Take has added, or a contiguous part of them.
  virtual void Read(std::span<const int64_t> examples, Batch& batch) const = 0;
  /// Examples of the round that are not taken yet; -1: not known.
  virtual int64_t Left() const { return -1; }
  /// So many are done, with this sum of losses. Same caller as Take.
  virtual void Done(double /*loss*/, int64_t /*examples*/) {}
};

/// A round of one batch.
class BatchSource : public WorkSource {
 public:
  /// `batch` must outlive the source and what it reads.
  BatchSource(const Batch& batch, double learning_rate)
      : batch_(batch), learning_rate_(learning_rate) {}

  WorkRate Take(int64_t most, std::vector<int64_t>& examples) override {
    const int64_t end = next_ + std::min(most, Left());
    while (next_ < end) examples.push_back(next_++);
    return {.learning_rate = learning_rate_, .examples = batch_.size};
  }
  void Read(std::span<const int64_t> examples, Batch& batch) const override {
    TakeSubBatch(batch_, examples.front(), examples.back() + 1, batch);
  }
  int64_t Left() const override { return batch_.size - next_; }

 private:
  const Batch& batch_;
  double learning_rate_;
  int64_t next_ = 0;
};

}  // namespace yoke
