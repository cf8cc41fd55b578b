// Server: the model in one place, a thread of rank 0, beside rank 0's training. Workers push
// gradients; the server updates in the order of arrival and answers each with the new values.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "optim/racing.h"
#include "optim/total_momentum.h"
#include "strategy/packing.h"
#include "strategy/side_thread.h"
#include "strategy/statistics.h"
#include "strategy/update.h"

namespace yoke {

struct ServerSettings {
  int servers = 0;        ///< 1: rank 0 of the communicator only serves; 0: it is also a worker.
  int workers = 1;        ///< Number of ranks from `servers` on.
  double rate_scale = 1;  ///< Factor on every learning rate.
  double head_rate_scale = 1;  ///< The same for a served head.
  int64_t slow_start = 0;  ///< Both are reached linearly over this many first updates of the model.
  bool scale_by_staleness = false;  ///< Divide each gradient by 1 + its staleness.
  /// Withhold the answer while this worker is more than this many pushes ahead of the slowest
  /// active one. Pushes are counted since all workers were last done; 0: no bound.
  int64_t staleness_bound = 0;
  /// One thread per worker, all updating without a lock: optim/racing.h explains why lost updates
  /// are harmless. There is then no staleness bound.
  bool racing = false;
  /// First slice of a head that is served elsewhere; its elements are not used here.
  int head_slice = SliceRange::kEnd;
  /// Where the values are cut into messages (Exchanged).
  std::vector<int64_t> cuts = {};
  /// Compression of pushed gradients.
  CompressionSettings compression = {};

  /// Spread the rule's averages over the workers, and answer with predicted values
  /// (docs/strategies/async_sgd.md).
  bool predict_weights = false;
  /// Learning rates up to this one are not scaled, and none is scaled to less; 0: all are scaled.
  double unscaled_rate = 0;
  double Scaled(double learning_rate, double scale) const {
    return std::max(scale * learning_rate, std::min(learning_rate, unscaled_rate));
  }
  /// Fraction of its scale that the rate has reached in the model's update after `updates` updates.
  double Risen(int64_t updates) const {
    return updates >= slow_start
               ? 1
               : static_cast<double>(updates + 1) / static_cast<double>(slow_start);
  }
};

// Tags of a worker's requests and the server's answers.
inline constexpr int kToServer = 0, kToWorker = 1;
enum class Request : int64_t {
  kFetch,  ///< No payload. Answer: AnswerHeader and the exchanged packed values, in their parts.
  kPush,   ///< With a gradient (AppendGradient). Answer: as to kFetch.
  kAhead,  ///< With the last dense elements of the next push that have not been sent. No answer.
  kDone,   ///< No more values are needed; this and a push before it get empty answers.
  kStop,   ///< The same, permanently.
  kIdle,   ///< No push will come before kDone, so others do not wait for this worker. No answer.
};
struct RequestHeader {
  Request what = Request::kFetch;
  int64_t version = 0;  ///< In a push: version of the values at which the gradient was computed.
  int64_t examples = 0;
  double learning_rate = 0;
};
using AnswerHeader = int64_t;  ///< The version, before the packed values.

/// The values and whoever may write them.
class ServedModel {
 public:
  /// Copies the values; uses the lender's rule state.
  ServedModel(const StrategyContext& context, const ServerSettings& settings);

  const ParamLayout& layout() const { return values_.layout(); }
  const Exchanged& exchanged() const { return exchanged_; }
  Array<float> values() const { return values_.values(); }
  int64_t version() const { return version_; }
  /// Makes one update with a worker's gradient and statistics. Returns the staleness: the number of
  /// updates since the values at which the gradient was computed. Statistics move by 1 / workers
  /// towards the worker's.
  int64_t Update(const RequestHeader& push, const Gradients& gradients,
                 const std::vector<float>& statistics);
  /// The values for a worker that trains at this rate.
  void Read(float* exchanged, double learning_rate) const;
  Cost PriceOfUpdate() const;

 private:
  /// Moves dense values to where the rule's averages alone will have taken them.
  void Predict(float* dense, double learning_rate) const;
  void PredictRun(float* dense, int64_t begin, int64_t count, const UpdateStep& step,
                  int ahead) const;
  /// The rate of the update that follows so many.
  double RateAfter(int64_t updates, double learning_rate) const {
    return settings_.Scaled(learning_rate, settings_.rate_scale) * settings_.Risen(updates);
  }
  /// What this gradient is multiplied by: for its staleness and by clip_norm.
  double GradientScale(const Gradients& gradients, int64_t staleness) const;
  void UpdateAlone(const Gradients& gradients, UpdateStep step, int64_t staleness);
  void UpdateRacing(const Gradients& gradients, UpdateStep step);

  StrategyContext context_;
  ServerSettings settings_;
  ParamStore values_;
  Exchanged exchanged_;
  RunningStatistics statistics_;
  std::unique_ptr<UpdateRule> spread_;  // null: the context's rule as it is
  const UpdateRule& rule_;              // of dense slices
  RacingUpdates racing_;
  std::optional<TotalMomentum> momentum_;  // for a rule that tunes its own, unless threads race
  std::atomic<int64_t> version_ = 0;
};

/// The service of one worker or of all of them.
class Service {
 public:
  /// `worker` is one worker, or kAnySource.
  Service(ServedModel& model, const ServerSettings& settings, int worker);
  /// Handles a worker's request; false once its workers have stopped.
  bool Handle(const Communicator& world, Message message);
  /// Its counters except traffic; may be read while all workers are done.
  const ExchangeCounts& counts() const { return counts_; }

 private:
  struct Worker {
    double learning_rate = 0;         // of its last request
    int64_t pushes = 0;               // since all were done
    bool awaits = false;              // waits for an answer with values
    bool idle = false;                // will not push before it is done
    bool done = false;                // done, until all are
    bool stopped = false;             // permanently
    std::vector<Message> ahead = {};  // of its next push
  };
  void Push(const Communicator& world, int source, const RequestHeader& header, Unpacker& rest);
  int64_t TakeAhead(const std::vector<Message>& ahead);
  void Leave(const Communicator& world, int source, bool for_good);
  void AnswerThoseInTime(const Communicator& world);
  void Answer(const Communicator& world, int source);

  ServedModel& model_;
  int64_t bound_;
  Compressor compressor_;        // decodes
  std::vector<Worker> workers_;  // by rank
  int serving_;
  Gradients gradients_;
  std::vector<float> statistics_;
  std::vector<std::byte> answer_;
  ExchangeCounts counts_;
};

/// Rank 0's part: the model and the serving threads.
class Server {
 public:
  /// Called by all ranks of context.world; only rank 0 gets a model.
  Server(const StrategyContext& context, const ServerSettings& settings);

  const ServedModel& model() const { return *model_; }
  /// The sum of the services' counters.
  ExchangeCounts Counts() const;
  Traffic traffic() const;
  /// Waits until all workers have stopped.
  void Join() {
    for (const auto& thread : threads_) thread->Join();
  }

 private:
  std::unique_ptr<ServedModel> model_;
  std::vector<std::unique_ptr<Service>> services_;
  std::vector<std::unique_ptr<ServingThread>>
      threads_;  // last: they end before the other members are destroyed
};

}  // namespace yoke
