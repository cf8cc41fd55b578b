// Threads: kernel threads of a test, for a scope.
#pragma once

#include "kernels/threads.h"

namespace yoke {

/// Sets kernel threads and, when it goes, those that were before.
class Threads {
 public:
  explicit Threads(int threads) : before_(KernelThreads()) {
    SetKernelThreads(threads);
    team_ = KernelThreads();
  }
  ~Threads() { SetKernelThreads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// How many there are: fewer where this process may not have so many (under the thread sanitizer
  /// teams are of one).
  int team() const { return team_; }

 private:
  int before_, team_ = 0;
};

}  // namespace yoke
