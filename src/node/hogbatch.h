// Hogbatch: a coordinator deals a round's examples to CPU threads, which update the shared weights
// without locks unless merge = "locked", and to devices, whose gradients are merged into them (Ma
// and Rusu, arXiv 2004.08771, 2020). Hogwild is Hogbatch without devices.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "node/adaptive_batch_sizes.h"
#include "node/device_usage.h"
#include "node/estimate.h"
#include "node/hogbatch_worker.h"

namespace yoke {

struct HogbatchSettings {
  BatchSizes::Settings sizes = {};  ///< Examples of an update.
  /// Examples for which the learning rate is meant: an update of fewer takes that fraction of it.
  int64_t rate_examples = 0;
  bool scale_rate = true;  ///< False: each update takes the whole rate.
  /// A device overwrites the shared values by its own replica instead of adding its update, so
  /// updates of others in the meantime are lost (as in the paper's program; for comparison).
  bool overwrite = false;
  bool locked = false;         ///< Updates take locks, so that none is lost.
  bool paper_form = false;     ///< As published: see docs/executors/hogbatch.md.
  bool measure_least = false;  ///< Find the devices' least batches with their first examples.
};

/// CPU thread i:      W <- W - rate g_i(W),     of a few examples, written while others write
/// device d:          W <- W - rate g_d(W_d),   W_d a copy of W, of many examples
/// with the job's rule in place of plain descent. optim/racing.h explains why the races are
/// harmless. The caller is the coordinator; workers are threads, or tasks in virtual time, and all
/// speak by messages. A round ends when all of its examples are done, each exactly once.
class Hogbatch : public Executor {
 public:
  Hogbatch(const HogbatchSettings& settings, const ExecutorContext& context);
  ~Hogbatch() override;

  bool in_place() const override { return true; }
  /// A round of one batch.
  StepResult Step(const Batch& batch, const ParamView& params, const ExecutorStep& step) override;
  StepResult RunRound(WorkSource& source, const ParamView& params) override;
  int64_t SmallestBatch(int64_t step, int64_t rest) const override;
  std::string FirstNonFinite() const override;
  std::vector<DeviceWork> Work() const override { return usage_.Work(); }
  Value State() const override;
  void Restore(const Value& state) override;

 private:
  using Examples = std::vector<int64_t>;
  struct Member;

  void Start(size_t device, const ThreadPlan& plan);
  void End();
  ScheduleWork Report() const;
  void Answer(const ScheduleWork& report);
  void Assign(Member& member, bool beside);
  void AssignToAll();
  void Deal(const Member& member, int64_t most, Examples& examples);
  int64_t SizeFor(const Member& member, int64_t batch) const;
  int64_t RateExamples(const Member& member, int64_t batch) const;
  void Send(const Member& member, const ExecuteWork& work, const Examples& examples) const;
  void Count(Member& member, const ScheduleWork& report);
  void Fail(Member& member);
  void Return(Examples examples);
  int CpuThreadsAtWork() const;
  bool AnyAtWork() const;

  ExecutorContext context_;
  HogbatchSettings settings_;
  int cpu_threads_;
  RacingUpdates racing_;
  HogbatchShared shared_;
  Communicator channel_;
  std::vector<std::unique_ptr<Member>> members_;
  BatchSizes sizes_;
  DeviceUsage usage_;
  std::vector<bool> measured_;  ///< By device: its least batch is known.
  int bad_ = -1;                ///< The worker whose loss was not finite in the last round.

  // Of a round.

  WorkSource* source_ = nullptr;
  std::vector<Examples> returned_;  ///< By devices that have failed, and after measuring.
  bool drained_ = false;            ///< The source has no more.
  bool broken_off_ = false;         ///< No more work is given.
  double loss_ = 0;                 ///< Sum over the examples done.
  WorkRate rate_ = {};              ///< Of the examples taken last.
  int64_t dealt_ = 0, done_ = 0;    ///< Examples.
  std::exception_ptr failure_;
};

/// The estimate of hogwild and hogbatch: fixed batches. Workers never wait, so their rates add up:
///   examples a second = threads b / t(b) + sum over devices of B / T(B)
///   t(b) = pass(b) + update, by one of `threads` CPU threads, which share the bandwidth
///   T(B) = copies + pass(B) on the device, + by a CPU thread its update, merged, and the copies
///          in the host's memory
/// (Ma and Rusu 2020, CPU+GPU Hogbatch.)
ExecutorEstimate EstimateHogbatch(const BatchSizes::Settings& sizes,
                                  const EstimateRequest& request);

/// That of adaptive_hogbatch: batches that move (Ma and Rusu 2020, Adaptive Hogbatch). Where a
/// threshold binds on both sides the rates are those of fixed batches. Elsewhere the sizes swing
/// around equal numbers of updates, and how far depends on what is in hand when they are asked for,
/// so the rule itself is followed through the examples of an epoch, or 10^5 pieces of work, with
/// the times above.
ExecutorEstimate EstimateAdaptiveHogbatch(const BatchSizes::Settings& sizes, bool measure_least,
                                          bool paper_form, const EstimateRequest& request);

}  // namespace yoke
