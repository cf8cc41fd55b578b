// Strategy: determines what replicas exchange, and when.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/cost.h"
#include "base/options.h"
#include "comm/communicator.h"
#include "optim/rule.h"
#include "params/head.h"
#include "params/store.h"

namespace yoke {

/// The environment of a strategy, lent by the Trainer; everything outlives the strategy. The
/// strategy is the only writer of `params` unless the executor updates in place.
struct StrategyContext {
  Communicator world;  ///< The strategy's own context, separate from all other messages.
  ParamStore& params;
  Gradients& gradients;
  const UpdateRule& rule;
  RuleState& state;
  double clip_norm = 0;
  bool updated_in_place = false;    ///< The executor has already updated the values when Step is
                                    ///< called, so Step only exchanges.
  uint64_t seed = 1;                ///< Seed of all draws.
  int64_t steps_per_epoch = 0;      ///< Steps of one replica; 0: unknown. Limits default periods.
  const HeadOffer* head = nullptr;  ///< The head it may serve; null: the model has none.
};

/// Settings of one step.
struct StrategyStep {
  int64_t step = 0;  ///< Steps done before this one: by this replica, or by all teams together if
                     ///< work is dealt on demand.
  double learning_rate = 0;
  double highest_rate = 0;    ///< The highest learning rate of the run so far.
  int64_t examples = 0;       ///< Examples in this replica's gradient; if 0, the gradient is 0.
  int64_t team_examples = 0;  ///< Examples in the gradients of its whole team.
  bool last = false;          ///< Of its epoch: nothing may be held back.
};

/// Counters of one rank since its start.
struct ExchangeCounts {
  Traffic traffic = {};  ///< Traffic of all its communicators.
  /// Time that the training thread waited for messages, in virtual time also for copies between
  /// host and device.
  double seconds_waiting = 0;
  int64_t updates = 0;   ///< Updates of the model; each is counted on one rank.
  int64_t examples = 0;  ///< Examples in those updates.
  /// [s]: number of updates with a gradient that was computed s updates earlier; counted where the
  /// update is made.
  std::vector<int64_t> staleness = {};
};

/// All ranks make the same calls in the same order. The exception is View, GradientReady and Step
/// if teams are smaller than the world: then one rank may take more steps than another between two
/// calls of Quiesce. Ranks that only serve take none.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Called once, after every rank has the initial values (or those of a checkpoint) in `params`
  /// and `state`. They are the same on all ranks unless the entry's replicas_differ is set.
  virtual void Prepare() {}
  /// Called before each step: the values at which to compute the gradient.
  virtual ParamView View(const StrategyStep& step) = 0;
  /// Called when a slice's gradient is complete; may only enqueue.
  virtual void GradientReady(int /*slice*/) {}
  /// What GradientReady starts in this step, asked after View.
  enum class SliceExchange : uint8_t {
    kNone,
    kEnqueued,  ///< It only enqueues on the device, and the same in each such step.
    kBeside,    ///< Else: it goes on beside the rest of the pass.
  };
  virtual SliceExchange ExchangeOfSlices() const { return SliceExchange::kNone; }
  /// What GradientReady enqueued in a step before has been launched again in its place.
  virtual void Launched() {}
  /// Whether Step first updates `params` by the gradient that the pass and GradientReady leave, if
  /// this rank has examples, and nothing reads the values between View and that.
  virtual bool UpdatesFirst() const { return false; }
  /// If it serves the head: the head that computes between View and Step instead of the executor.
  /// The head's values in the view are then outdated, and its gradients are not used.
  virtual Head* RemoteHead() { return nullptr; }
  /// Called after the gradient is complete: exchanges and updates.
  virtual void Step(const StrategyStep& step) = 0;
  /// Whether View or Step of a step exchanges values, if the executor updates in place: it goes on
  /// from a step to the next one where neither does. Called on the training thread, in order.
  virtual bool ExchangesBefore(const StrategyStep& /*step*/) const { return true; }
  virtual bool ExchangesAfter(const StrategyStep& /*step*/) const { return true; }
  /// No more steps from this rank before Quiesce; others must not wait for it. (A rank that only
  /// serves calls it before the others' first step.)
  virtual void Idle() {}
  /// Completes all messages in flight (before a checkpoint or an evaluation). Exchange resumes with
  /// the next View.
  virtual void Quiesce() {}
  /// The packed values that are "the model". Called by all ranks after Quiesce; valid on rank 0
  /// until the next View. Does not change the replicas.
  virtual Array<const float> Model() = 0;
  /// Counters of updates, messages and waits.
  virtual ExchangeCounts Counts() const { return {}; }
  /// Exact parts of a checkpoint, besides the values and the rule's state: a table, rank 0's, which
  /// all ranks get back; and each rank's own tensors (a checkpoint is read into them before
  /// Prepare).
  virtual Value State() const { return Value(Table{}); }
  virtual void Restore(const Value& /*state*/) {}
  struct SavedTensor {
    std::string name;
    Array<float> values = {};
  };
  virtual std::vector<SavedTensor> Tensors() { return {}; }
  /// Ends background threads. Only Counts may be called afterwards.
  virtual void Finish() {}

  /// The part of the model that is available here after another rank is lost.
  struct Rescued {
    /// Packed values, valid as long as the strategy; empty: the values of `params`.
    Array<const float> values = {};
    /// If not 0, `values` are a copy of the model, and a higher version is newer. If 0 and replicas
    /// differ, they are one replica of several.
    int64_t version = 0;
  };
  /// Called after another rank is lost, when every wait ends with RankLost. Ends background
  /// threads; nothing is called afterwards. The survivors restart in a smaller world from the
  /// newest model or, if none has one (the centre is lost), from the mean of the replicas.
  virtual Rescued Recover() { return {}; }
};

/// The sizes that determine the cost of an exchange.
struct ExchangeSize {
  int64_t bytes = 0;             ///< Bytes of the packed values.
  int world = 1;                 ///< Number of ranks, including those that only serve.
  int64_t slices = 1;            ///< Number of slices.
  int64_t head_bytes = 0;        ///< Part of `bytes` in a head that can be served,
  int64_t activation_bytes = 0;  ///< bytes of its input in one rank's step,
  int64_t label_bytes = 0;       ///< and of that step's labels and ids.
};

inline int WholeWorld(const Options& /*options*/, int world) { return world; }
inline int EachAlone(const Options& /*options*/, int /*world*/) { return 1; }
inline bool WholeForEach(const Options& /*options*/) { return false; }
inline std::string AnyWorld(int /*world*/) { return ""; }
inline int NoServers(const Options& /*options*/, int /*world*/) { return 0; }
inline int64_t EveryStep(const Options& /*options*/, int64_t /*steps_per_epoch*/) { return 1; }
inline int64_t EveryPeriod(const Options& options, int64_t /*steps_per_epoch*/) {
  return options.Int("period");
}
/// The option that EveryPeriod reads.
inline OptionSpec PeriodOption(const char* help) {
  return {.name = "period",
          .type = OptionType::kInt,
          .fallback = 1,
          .help = help,
          .minimum = 1,
          .maximum = kMostCount,
          .tries = {4, 16}};
}
inline bool SumsGradients(const Options& /*options*/) { return false; }
inline double MixesAll(const Options& /*options*/, int /*world*/, double /*learning_rate*/) {
  return 1;
}
inline double MixesHalf(const Options& /*options*/, int /*world*/, double /*learning_rate*/) {
  return 0.5;
}

struct StrategyEntry {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;  ///< Keys of [cluster] that belong to this strategy.
  bool deterministic = false;       ///< Bit-identical for the same seed and world.
  /// Number of ranks, the first ones, that only serve; data is dealt only to the others, the
  /// workers. It is less than `world`. Throws UserError.
  int (*servers)(const Options& options, int world) = NoServers;
  /// Number of workers in a team: neighbours by rank that each get an equal share of the same step.
  /// If it is all workers, they run in step. Otherwise each team takes the next step when it is
  /// ready, so a slow team does not delay others. Divides `workers`. Throws UserError.
  int (*team)(const Options& options, int workers) = WholeWorld;
  /// Whether a step of train.batch examples is a team's, of which each of its workers computes an
  /// equal part. Otherwise it is each worker's.
  bool (*divides_batch)(const Options& options) = WholeForEach;
  bool forces_momentum = false;  ///< Changes rule sgd to momentum; keeps other rules.
  /// Whether train.velocity is "steps" where the job does not say, as in the method's paper.
  bool (*sums_steps)(const Options& options) = SumsGradients;
  bool in_place = false;  ///< Supports executors that update in place.
  /// Values, gradients and the rule's state may lie on a device: it reaches them as arrays.
  /// Otherwise they are on the host, and the executor copies.
  bool values_on_device = false;
  bool replicas_differ = false;  ///< Each rank has its own values (and rule state).
  bool rule_alone = true;        ///< With one rank, the values are the rule's bit for bit.
  /// An update changes whole parameters, on the host: it works with rules that look at whole layers
  /// (LayerwiseRule).
  bool whole_layers = false;
  /// Ranks in step that have different data meet at the optimum of their mean loss.
  bool weighs_equally = true;
  /// Steps of a replica from one exchange to the next, where an epoch has so many of each (0:
  /// many).
  int64_t (*period)(const Options& options, int64_t steps_per_epoch) = EveryStep;
  /// The part of a replica's distance to the mean of all that an exchange takes away: a half where
  /// two replicas take their mean.
  double (*mixing)(const Options& options, int world, double learning_rate) = MixesAll;
  /// Empty if it supports this number of replicas, otherwise a sentence with the reason.
  std::string (*supports)(int world) = AnyWorld;
  /// Messages and bytes sent by all ranks together in one step of each.
  Cost (*estimate)(const Options& options, const ExchangeSize& size);
  std::unique_ptr<Strategy> (*make)(const Options& options, const StrategyContext& context);
};
const std::vector<StrategyEntry>& strategies();

/// The roles of a world's ranks: the first ones are servers, the others workers in teams.
struct Roles {
  int servers = 0;
  int workers = 1;
  int team = 1;  ///< Workers per team.
};
inline Roles RolesIn(const StrategyEntry& entry, const Options& options, int world) {
  const int servers = entry.servers(options, world), workers = world - servers;
  return {.servers = servers, .workers = workers, .team = entry.team(options, workers)};
}

}  // namespace yoke
