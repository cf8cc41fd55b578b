// Leader: the part of rank 0, which leads a run: it decides when to stop, evaluates, saves and
// reports.
#pragma once

#include <memory>
#include <string>

#include "train/events.h"
#include "train/member.h"

namespace yoke {

class Leader : public Member {
 public:
  using Member::Member;
  /// Whether nothing is left to train. Call it after Begin.
  virtual bool IsOver() const = 0;
  /// Leads the run to its end. Call it after Begin.
  virtual EndEvent Lead() = 0;
};

std::unique_ptr<Leader> MakeLeader(const Job& job, const RunRequest& request, RunContext& context,
                                   const Communicator& world, const LocalRank& inside);

}  // namespace yoke
