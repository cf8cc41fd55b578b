// Prefetch: reads batches ahead on background threads and returns them in order.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "data/reader.h"

namespace yoke {

/// Reads the batches `examples_of(0)`, `examples_of(1)`, ... of one epoch ahead of use. Batches are
/// reused, and results do not depend on `threads`. Small batches are passed between threads in
/// groups.
class Prefetch {
 public:
  /// The examples of a step. It is called by several threads at once, and its results must stay
  /// valid.
  using StepExamples = std::function<std::span<const int64_t>(int64_t step)>;
  struct Settings {
    int64_t steps = 0;
    uint64_t seed = 0;
    int64_t epoch = 0;
    bool as_stored = false;  ///< As in ReadRequest.
    int threads = 1;         ///< At first; 0: read in the calling thread.
    int most = 1;            ///< Threads are added up to so many while the caller has to wait.
    int ahead = 4;           ///< Maximum number of waiting batches (or groups of small batches).
  };
  /// `reader` and everything that `examples_of` uses must outlive the prefetch.
  Prefetch(const Reader& reader, StepExamples examples_of, const Settings& settings);
  ~Prefetch();
  /// The next batch, valid until the next call; null after the last. Rethrows exceptions of
  /// reading.
  const Batch* Next();
  /// That read now.
  int threads() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace yoke
