// HogbatchWorker: a CPU thread or a device that takes work from Hogbatch's coordinator.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/virtual_time.h"
#include "node/device_replica.h"
#include "node/hogbatch_messages.h"
#include "node/work_source.h"
#include "optim/racing.h"

namespace yoke {

/// What the workers of a round share; the coordinator writes it while they wait.
struct HogbatchRound {
  const WorkSource* source = nullptr;
  ParamView params = {};
  int64_t first_step = 0;  ///< Updates before the round.
};

/// What they share in all rounds.
struct HogbatchShared {
  const ExecutorContext& context;
  bool scale_rate = true;  ///< As in HogbatchSettings, likewise the next one.
  bool overwrite = false;
  bool immediate = false;  ///< Kernels apply gradients directly: plain descent in real time.
  RacingUpdates& racing;
  HogbatchRound round = {};
  std::atomic<int64_t> updates = 0;  ///< Of the round so far.
};

class HogbatchWorker {
 public:
  /// The tag of messages to the coordinator; worker i receives with tag 1 + i.
  static constexpr int kToCoordinator = 0;

  /// Of `device` in the context's devices; its batches usually have `usual` examples. Throws
  /// UserError for a layer that the device does not take.
  HogbatchWorker(HogbatchShared& shared, int index, size_t device, int64_t usual);

  /// Takes work until the coordinator ends it.
  void Serve(const Communicator& channel);
  /// What ended its last piece of work, or null.
  std::exception_ptr failure() const { return failure_; }
  /// The layer where its last loss became non-finite, or "".
  std::string FirstNonFinite() const;

 private:
  /// Work in hand.
  struct Piece {
    ExecuteWork work;
    std::vector<int64_t> examples;
    Batch batch;        ///< Of a device, once it has been read.
    bool sent = false;  ///< To the device.
  };

  void Await(Piece& piece) const;
  ScheduleWork Execute(Piece& piece);
  void Train(Piece& piece, ScheduleWork& report);
  int64_t FindLeast(const Piece& piece);
  void Send(Piece& piece);
  void LookAhead();
  void Update(const Batch& batch, const ExecuteWork& work, ScheduleWork& report);
  double OnThread(const Batch& batch, const ParamView& view, UpdateStep& step);
  double OnDevice(const Batch& batch, const ParamView& view, UpdateStep& step);
  int64_t CountUpdate();
  void Apply(float* target, UpdateStep& step);
  void Charge(int64_t examples, bool on_device) const;
  void ChargeDevice(int64_t examples) const;  ///< Its pass alone, with copies.
  bool InVirtualTime() const { return yoke::InVirtualTime(*channel_); }

  HogbatchShared& shared_;
  const int index_;
  const size_t device_;
  int cpu_threads_ = 1;  ///< At work now.
  Gradients gradients_;
  std::unique_ptr<Plans> plans_;            ///< Of a CPU thread.
  std::unique_ptr<DeviceReplica> replica_;  ///< Null: a CPU thread, or a device that has failed.
  std::optional<Communicator> channel_;
  Piece now_, next_;
  bool has_next_ = false;
  Batch batch_;
  double parts_ = 1;    ///< So many updates like that at work have the whole rate together.
  int64_t seen_ = 0;    ///< Updates by all when it read the values.
  int64_t missed_ = 0;  ///< By others since, when it wrote them.
  std::exception_ptr failure_;
};

}  // namespace yoke
