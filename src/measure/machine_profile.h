// MachineProfile: what computing costs on this machine for one model, measured with real steps.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/reader.h"
#include "node/executor.h"
#include "node/speed_curve.h"

namespace yoke {

/// What to measure. All that is referred to must outlive the call.
struct ProfileRequest {
  const Graph& graph;
  const UpdateRule& rule;
  const ExecutorEntry& executor;
  const Options& node;  ///< With the executor's keys.
  /// The job's. The CPU is measured in any case, and the executor on the CPU alone.
  std::vector<Device*> devices = {&Cpu()};
  const Reader& data;  ///< Training examples, at least one.
  int64_t batch = 0;   ///< train.batch.
  DType arithmetic = DType::kF32;
  bool reference_kernels = false;
  ThreadPlan threads = {};    ///< The caller has set its own: SetKernelThreads.
  bool reads_in_step = true;  ///< The computing threads read the batch: none reads ahead.
  double learning_rate = 0;   ///< Of `batch`; smaller batches take a part of it.
  double clip_norm = 0;       ///< As train.clip_norm.
  int64_t examples = 0;       ///< Of the job's training: then the copy starts again. 0: no limit.
  uint64_t seed = 1;
  double seconds = 10;  ///< About the time to spend; each batch is measured for 3 steps or more.
  /// Not null: when it becomes nonzero, the rest is measured with as few steps as possible.
  const std::atomic<int>* stop = nullptr;
};

/// A training step: reading the batch (unless others read ahead), gradient, update.
struct StepTime {
  int64_t batch = 0;   ///< Examples.
  double seconds = 0;  ///< Median over runs of about 30 ms of their mean.
  double sigma = 0;    ///< Standard deviation of the logarithm of single steps.
  int64_t steps = 0;   ///< That were timed.
};

struct MachineProfile {
  /// By increasing batch: a quarter, half, once, twice and four times `batch`, as far as the data
  /// go; beside other devices also a sixteenth and eight times. The whole batch by all threads
  /// together (executor single).
  std::vector<StepTime> steps;
  StepTime step;  ///< Of the executor, with the examples of its steps: what training takes.
  double update_seconds = 0;    ///< Of these, the update of the dense values; 0: none.
  double bytes_per_second = 0;  ///< Of arithmetic on values by all threads.
  int threads = 1;              ///< That computed.
  SpeedCurve curve = {};        ///< Fitted: gives `step`; without title.
  /// Of the request's other devices, by name, fitted likewise: a pass with copies of all values
  /// there and of the gradient back.
  std::map<std::string, SpeedCurve> devices = {};
};

/// Trains a copy of the model on the CPU as the job does, and measures it: steps are slower where
/// training has brought values close to 0. If it explodes, it starts again at a tenth of the
/// learning rate. Then likewise on each other device. Of several devices each is measured while the
/// others train copies of their own, because executors keep all at work, and devices share cores
/// and memory. Throws UserError if the executor does not take the job or a device a layer, and
/// Error if the system refuses memory.
MachineProfile MeasureMachine(const ProfileRequest& request);

}  // namespace yoke
