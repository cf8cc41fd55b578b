// Server: the model in one place, a thread of rank 0, which may train beside it. Workers push
// gradients to it; it updates, first come, first served, and answers each with the new values.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "optim/racing.h"
#include "strategy/packing.h"
#include "strategy/strategy.h"
#include "strategy/traffic_mirror.h"

namespace yoke {

struct ServerSettings {
  int servers = 0;        ///< 1: rank 0 of the communicator only serves; 0: it is a worker too.
  int workers = 1;        ///< The ranks from servers on.
  double rate_scale = 1;  ///< Every learning rate is multiplied by it,
  double head_rate_scale = 1;  ///< or, for a served head, by this,
  int64_t slow_start = 0;  ///< which is reached, evenly, over the model's first so many updates.
  bool scale_by_staleness = false;  ///< Each gradient is divided by 1 + its staleness.
  /// A worker waits for its answer while it has pushed so many times more than the worker that has
  /// pushed least since all were done, those that are idle or done again not counted; 0: nobody
  /// waits.
  int64_t staleness_bound = 0;
  /// A thread for each worker, all of them updating without a lock: optim/racing.h says why lost
  /// updates are harmless. There is no staleness bound then.
  bool racing = false;
  /// The first slice of a head that others serve: its numbers are not touched here.
  int head_slice = SliceRange::kEnd;
  /// Of gradients on their way up.
  CompressionSettings compression = {};

  /// Late gradients that are much longer than the model's first ones are shortened (GradientLimit).
  bool limit_gradients = false;
  /// How much of its scale the rate has reached in the model's next update after so many.
  double Risen(int64_t updates) const {
    return updates >= slow_start
               ? 1
               : static_cast<double>(updates + 1) / static_cast<double>(slow_start);
  }
};

// What a worker sends, and what comes back: one answer for each request, under one tag each.
inline constexpr int kToServer = 0, kToWorker = 1;
enum class Request : int64_t {
  kFetch,  ///< Alone. Answer: AnswerHead and the packed values that are exchanged.
  kPush,   ///< With a gradient (AppendGradient). Answer: as to kFetch.
  kDone,   ///< Nothing is to be answered any more; empty answers to this and to a push before it.
  kStop,   ///< The same, for good.
  kIdle,   ///< No push will come before kDone: nobody waits for this worker. No answer.
};
struct RequestHead {
  Request what = Request::kFetch;
  int64_t version = 0;  ///< A push: of the values at which the gradient was taken.
  int64_t examples = 0;
  double learning_rate = 0;
};
using AnswerHead = int64_t;  ///< The version, before the packed values.

/// How far a gradient of length 1 moves the values in all, at a rate of 1: 1 / (1 - mu) for a
/// velocity.
double ReachOf(const UpdateRule& rule);

/// The longest gradient that a server takes as it is:
///   n0 max(1, 1 / (P c rate reach))
/// n0: mean length of the first gradient of each of P workers; c rate: what the server multiplies
/// by; reach: ReachOf the rule. While a gradient is under way the model moves by about P gradients:
/// where the loss is curved too much for such a move, gradients grow without end. The smaller the
/// moves, the longer a gradient may be, and none is shortened below n0. Threads may share it.
class GradientLimit {
 public:
  GradientLimit(int workers, double reach) : workers_(workers), reach_(reach) {}
  /// 1, or what shortens a gradient of this length; `rate`: c rate. The first P are never
  /// shortened.
  double Scale(double norm, double rate);

 private:
  int workers_;
  double reach_;
  std::mutex mutex_;
  double sum_ = 0;  // of the first lengths
  int count_ = 0;
};

/// The values and whoever may write them.
class ServedModel {
 public:
  /// Takes a copy of the values; the rule's state stays the lender's.
  ServedModel(const StrategyContext& context, const ServerSettings& settings);

  const ParamLayout& layout() const { return values_.layout(); }
  const Exchanged& exchanged() const { return exchanged_; }
  float* values() const { return values_.values(); }
  int64_t version() const { return version_; }
  /// One update, by a gradient and statistics that a worker's passes left; returns the staleness:
  /// how many updates there were since the values at which the gradient was taken. Statistics move
  /// by 1 / workers towards the worker's.
  int64_t Update(const RequestHead& push, const Gradients& gradients,
                 const std::vector<float>& statistics);
  void Read(float* exchanged) const;
  Cost CostOfUpdate() const;

 private:
  /// What this gradient is multiplied by: for its staleness, by clip_norm, by the limit.
  double GradientScale(const Gradients& gradients, int64_t staleness, double rate);
  void UpdateRacing(const Gradients& gradients, const UpdateStep& step);
  void MoveStatistics(const std::vector<float>& theirs);

  StrategyContext context_;
  ServerSettings settings_;
  ParamStore values_;
  Exchanged exchanged_;
  RacingUpdates racing_;
  GradientLimit limit_;
  std::atomic<int64_t> version_ = 0;
};

/// One thread's service to one worker or to all of them.
class Service {
 public:
  /// `worker`: one of them, or kAnySource.
  Service(ServedModel& model, const ServerSettings& settings, int worker);
  /// Until its workers have stopped.
  void Run(const Communicator& world);
  /// What it has counted, but for its traffic; may be read while all workers are done.
  const ExchangeCounts& counts() const { return counts_; }
  /// May be read at any time.
  Traffic traffic() const { return traffic_.Read(); }

 private:
  struct Worker {
    int64_t pushes = 0;    // since all were done
    bool awaits = false;   // an answer with values
    bool idle = false;     // pushes no more before it is done
    bool done = false;     // until all are
    bool stopped = false;  // for good
  };
  void Handle(const Communicator& world, const Message& message);
  void Push(const Communicator& world, const RequestHead& head, Unpacker& rest);
  void Leave(const Communicator& world, int source, bool for_good);
  void AnswerThoseInTime(const Communicator& world);

  ServedModel& model_;
  int source_;
  int64_t bound_;
  Compressor compressor_;        // decodes
  std::vector<Worker> workers_;  // by rank
  int serving_;
  Gradients gradients_;
  std::vector<float> statistics_;
  std::vector<std::byte> answer_;
  ExchangeCounts counts_;
  TrafficMirror traffic_;
};

/// Rank 0's part: the model and the threads that serve it.
class Server {
 public:
  /// To be called by all ranks of context.world; only rank 0 gets a model.
  Server(const StrategyContext& context, const ServerSettings& settings);

  const ServedModel& model() const { return *model_; }
  /// As Service's, of all of them.
  ExchangeCounts Counts() const;
  Traffic traffic() const;
  /// Waits until all workers have stopped.
  void Join() { threads_.clear(); }

 private:
  std::unique_ptr<ServedModel> model_;
  std::vector<std::unique_ptr<Service>> services_;
  std::vector<std::shared_ptr<void>> threads_;  // last: they end before the rest goes
};

}  // namespace yoke
