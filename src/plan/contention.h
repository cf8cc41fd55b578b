// Contention: what replicas take from each other on the cores of a machine: by turns, by waits that
// poll, and how much longer a trial's updates take than their price.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "comm/communicator.h"
#include "measure/cluster_file.h"
#include "plan/candidates.h"
#include "plan/trials.h"

namespace yoke {

/// A rank sends a message of so many bytes to the next one, again and again after a pause.
struct MessageStream {
  int64_t bytes = 0;
  double pause = 0;  ///< In seconds: no shorter than the message takes, so that none pile up.
};

/// The part of a core that a rank's waiting thread takes from the computing one, because it polls,
/// and copies what arrives. `steps` measures the seconds of a training step, while another thread
/// waits for messages; `alone` is a step without them. 0 where a core is free. All ranks call it,
/// at least two.
double MeasurePolling(const Communicator& world, const MessageStream& stream, double alone,
                      const std::function<double()>& steps);

/// How many times as long the steps of a machine's replicas take where all share its cores and meet
/// after each step, as they would if turns and meetings cost nothing: at least 1. `steps` measures
/// the mean seconds of a number of steps, the same on all ranks, and calls its argument after each.
/// It runs twice on the first `at_once` ranks: alone, and beside all. All ranks of the machine call
/// this.
double MeasureCrowding(const Communicator& machine, int at_once,
                       const std::function<double(const std::function<void()>&)>& steps);

/// Where replicas share a machine's cores, messages wait for a core, and what waits takes turns
/// with what computes: updates take longer than their price. Slows the machines by as much as that
/// of the job as it is takes longer in a trial, and returns this factor: 1 for machines that do not
/// share cores, without a price, and where the trial fails. `example_seconds`: what an example
/// takes in training, if that is known; otherwise the trial trains for it.
double Calibrate(const Job& job, const TrialRequest& trial, double example_seconds,
                 std::map<std::string, ClusterFile>& machines);

}  // namespace yoke
