// RunRequest: how to run a job: where, for how long, who listens, on which machines.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/stop.h"
#include "comm/simulated.h"

namespace yoke {

struct Job;
class Observer;  // train/events.h
struct EndEvent;
class MpiJob;       // comm/launcher.h
class Planner;      // train/planner.h
struct DataSets;    // data/reader.h
struct RunContext;  // train/rank.h
struct RunRequest;
struct ThreadRanks;  // comm/threads.h

/// A cluster on which replicas run in virtual time.
struct SimulatedCluster {
  SimulatedRanks machines = {};  ///< The job says how many ranks.
  /// Trains the ranks of a job on the request's cluster: Simulate (simulate/simulate.h).
  EndEvent (*simulate)(const Job& job, const RunRequest& request, RunContext& context,
                       const ThreadRanks& ranks) = nullptr;
  std::string title = {};
  double price_per_hour = 0;  ///< Of the whole cluster; 0: unknown.
  /// Of writing and reading checkpoints; 0: they take no time.
  double checkpoint_bytes_per_second = 0;
  /// Nothing is computed; steps and messages only take their time (simulate/times_only.h).
  bool times_only = false;

  double CostOf(double seconds) const { return price_per_hour / 3600 * seconds; }
};

/// How to run a job.
struct RunRequest {
  std::string run;      ///< Run directory; "" : runs/<job>-<time>.
  bool resume = false;  ///< Continue the run in `run`.
  /// Set to a signal's number to request an orderly stop.
  const std::atomic<int>* stop_signal = nullptr;
  /// Set when the launcher is gone: the ranks then stop in order by themselves. Null if nobody
  /// watches the launcher.
  const std::atomic<bool>* guard_lost = nullptr;
  std::vector<Observer*> observers;
  int64_t steps = 0;            ///< Not 0: stop in order after this many steps.
  bool tell_each_step = false;  ///< Send a StepEvent after each of rank 0's steps.
  /// Not 0: pause after this many epochs, with the reason "replan", unless ranks were lost.
  int64_t pause_epochs = 0;
  double pause_seconds = 0;  ///< The same after so many seconds of training.
  double time_used = 0;      ///< Seconds of train.time_limit that are over; virtual ones, too.
  const SimulatedCluster* cluster = nullptr;  ///< Not null: the replicas run in virtual time.

  /// The processes of the launcher, if it has started several and they are already connected.
  MpiJob* launched = nullptr;
  /// This process trains alone, its ranks as threads, even if a launcher has started several; its
  /// place on the machine stays that of its rank.
  bool apart = false;

  Planner* planner = nullptr;      ///< For jobs that leave keys open.
  const DataSets* data = nullptr;  ///< Not null: the data, already read.

  /// Whether it trains together with the other processes of the launcher, if one started this one.
  bool MayBeLaunched() const { return !cluster && !apart; }
  bool StopIsAsked() const { return yoke::StopIsAsked(stop_signal); }
  bool TimesOnly() const { return cluster && cluster->times_only; }
  bool NodesFail() const { return cluster && cluster->machines.failures.death; }
};

}  // namespace yoke
