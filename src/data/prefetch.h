// Prefetch: batches of a list of requests, read ahead on background threads, handed out in order.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "data/reader.h"

namespace yoke {

/// Reads the batches `share(0)`, `share(1)`, ... of one epoch ahead of use. Batches are recycled;
/// results do not depend on `threads`. Small batches travel between threads several at a time.
class Prefetch {
 public:
  /// The examples of a step; called by several threads at once, what it returns must stay valid.
  using Share = std::function<std::span<const int64_t>(int64_t step)>;
  struct Settings {
    int64_t steps = 0;
    uint64_t seed = 0;
    int64_t epoch = 0;
    int threads = 1;  ///< 0: read in the caller.
    int ahead = 4;    ///< Batches (or groups of small batches) that may wait.
  };
  /// `reader` and what `share` looks at must outlive the prefetch.
  Prefetch(const Reader& reader, Share share, const Settings& settings);
  ~Prefetch();
  /// The next batch, valid until the next call; null after the last. Throws what reading threw.
  const Batch* Next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace yoke
