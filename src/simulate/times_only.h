// TimesOnly: a run of a job's strategy on a simulated cluster, without gradients, for very many
// nodes.
#pragma once

#include <memory>
#include <vector>

#include "simulate/timed_run.h"

namespace yoke {

/// Tells of the run's steps as Train does.
class TimesOnly : public TimedRun {
 public:
  /// `context` has the run and the data.
  TimesOnly(const Job& job, const RunRequest& request, RunContext& context);

 private:
  void Begun() override;
  void Ended(const SimulatedPlace& place) override;
  void TellMessages();

  std::unique_ptr<Observer> record_;
  std::vector<Observer*> observers_;
};

}  // namespace yoke
