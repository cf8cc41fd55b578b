// Hogbatch: a coordinator deals ranges of a round's examples to CPU threads, which update the
// shared weights without locks, and to devices, whose gradients are merged into them (Ma and Rusu,
// arXiv 2004.08771, 2020). Hogwild is Hogbatch without devices.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "node/batch_sizes.h"
#include "node/crew.h"
#include "node/device_replica.h"
#include "node/device_times.h"
#include "node/team_states.h"
#include "optim/racing.h"

namespace yoke {

struct HogbatchSettings {
  BatchSizes::Settings sizes = {};  ///< Examples of an update.
  /// Examples for which the learning rate is meant: an update of fewer takes that fraction of it.
  /// 0: those of the step.
  int64_t rate_examples = 0;
  bool scale_rate = true;  ///< False: each update takes the whole rate.
  /// A device overwrites the shared values by its own replica instead of adding its update, so
  /// updates of others in the meantime are lost (as in the paper's program; for comparison).
  bool overwrite = false;
  bool measure_least = false;  ///< Find the devices' least batches in the first step (FindLeast).
};

/// CPU thread i:      W <- W - rate g_i(W),     of a few examples, written while others write
/// device d:          W <- W - rate g_d(W_d),   W_d a copy of W, of many examples
/// with the job's rule in place of plain descent. optim/racing.h explains why the races are
/// harmless. A step is a round: it ends when all of its examples are done, each exactly once.
class Hogbatch : public Executor {
 public:
  Hogbatch(const HogbatchSettings& settings, const ExecutorContext& context);
  ~Hogbatch() override;

  bool in_place() const override { return true; }
  StepResult Step(const Batch& batch, const ParamView& params, const ExecutorStep& step) override;
  std::string FirstNonFinite() const override;
  std::vector<DeviceWork> Work() const override { return times_.Work(); }
  Value State() const override;
  void Restore(const Value& state) override;

 private:
  struct Worker;
  struct Round;

  void Serve(int i, Round& round);
  void DealFirst(Round& round);
  bool Take(Worker& worker, Round& round, std::pair<int64_t, int64_t>& range);
  bool Drop(Worker& worker, Round& round, std::pair<int64_t, int64_t> range, const char* why);
  bool Update(int i, Round& round);
  double Gradient(int i, Round& round, const UpdateStep& step);
  void FindLeast(int i, const Round& round);

  ExecutorContext context_;
  HogbatchSettings settings_;
  bool immediate_;  ///< Plain descent: kernels apply gradients directly.
  int cpu_threads_;
  std::unique_ptr<Crew> crew_;
  TeamStates states_;
  std::vector<std::unique_ptr<Worker>> workers_;
  RacingUpdates updates_;
  std::mutex mutex_;  ///< Of the coordinator: what follows, and a round's next example.
  BatchSizes sizes_;
  DeviceTimes times_;
  bool measured_ = false;
};

}  // namespace yoke
