// TotalMomentum: measures the momentum that a rule and late gradients give a model together.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "optim/rule.h"

namespace yoke {

/// Updates with late gradients g move the values as if there were more momentum. In expectation
///   w(t+1) - w(t) = total (w(t) - w(t-1)) - rate g(w(t)),
/// so a gradient that was computed at w(u) and arrives later measures it: the median over elements
/// of (w(u+1) - w(u) + rate g) / (w(u) - w(u-1)). Zhang, Mitliagkas, "YellowFin and the Art of
/// Momentum Tuning" (2017, arXiv 1706.03471), section 4. It keeps the values of up to 1,024
/// elements, evenly apart, over the last updates: 4 KiB an update. Not thread-safe.
class TotalMomentum {
 public:
  /// Of dense elements [0, dense); `updates`: how late a gradient may come to count.
  TotalMomentum(int64_t dense, int64_t updates);

  /// Before the update number `version` (from 0) of `values` by a gradient that is `staleness`
  /// updates old, its contents times `scale`. Nothing if it is not late (then explicit momentum is
  /// all there is), or too late, or no element has moved.
  std::optional<double> Measure(int64_t version, int64_t staleness, const float* values,
                                const float* gradient, double scale);
  /// The rate of the update that Measure announced.
  void Made(double rate) { Of(version_).rate = rate; }

 private:
  struct Update {
    int64_t version = -1;
    std::vector<float> values = {};  ///< Before it.
    double rate = 0;
  };
  Update& Of(int64_t version) { return history_[version % history_.size()]; }
  bool Has(int64_t version) { return version >= 0 && Of(version).version == version; }

  int64_t stride_;
  int64_t count_;
  int64_t version_ = 0;
  std::vector<Update> history_;  ///< A ring.
  std::vector<double> ratios_;
};

}  // namespace yoke
