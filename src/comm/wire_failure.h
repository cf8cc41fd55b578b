// Why a rank has failed: how ranks tell each other, and whose reason counts.
#pragma once

#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "comm/transport.h"

namespace yoke {

/// A wait that timed out.
class TimedOut : public Error {
 public:
  TimedOut(const std::string& sentence, int source) : Error(sentence), source_(source) {}
  int source() const { return source_; }  ///< The silent rank.

 private:
  int source_;
};

struct Failure {
  int rank = 0;
  int status = 1;
  std::string sentence;
  int blames = kAnySource;  ///< The rank held responsible, if known.
};

/// The failure of a rank that has thrown this. The sentence names the rank, unless it is rank 0.
Failure DescribeFailure(int rank, const std::exception_ptr& what);

std::vector<std::byte> PackFailure(const Failure& failure);
Failure UnpackFailure(int rank, std::span<const std::byte> bytes);

/// The failure of the lowest rank among those that blame a silent one (which has not `ended`);
/// otherwise among those that blame nobody, because a rank that others waited for knows the reason
/// better. `failures` is not empty.
const Failure& FirstFailure(const std::vector<Failure>& failures, const std::vector<bool>& ended);

}  // namespace yoke
