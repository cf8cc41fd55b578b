// Strategy: what replicas exchange, and when.
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

/// What the Trainer lends a strategy; everything outlives it. The strategy is the one writer of
/// `params` unless the executor updates in place.
struct StrategyContext {
  Communicator world;  ///< The strategy's own context: nobody else's messages meet its.
  ParamStore& params;
  Gradients& gradients;
  const UpdateRule& rule;
  RuleState& state;
  double clip_norm = 0;
  bool updated_in_place = false;    ///< The executor has updated the values when Step is called: it
                                    ///< only exchanges.
  uint64_t seed = 1;                ///< Of every draw.
  int64_t steps_per_epoch = 0;      ///< Of one replica; 0: not known. Bounds default periods.
  Device* device = nullptr;         ///< In whose memory the values lie; null: the CPU's.
  const HeadOffer* head = nullptr;  ///< What it may serve; null: the model has no such head.
};

/// What holds for one step.
struct StrategyStep {
  int64_t step = 0;  ///< Steps done before this one: of this replica, or, when work is dealt on
                     ///< demand, of all teams together.
  double learning_rate = 0;
  int64_t examples = 0;  ///< Behind the gradient of this replica; may be 0, then the gradient is 0.
  int64_t team_examples = 0;  ///< Behind those of its whole team.
};

/// What one rank has counted since it began.
struct ExchangeCounts {
  Traffic traffic = {};        ///< Of all its communicators.
  double seconds_waiting = 0;  ///< Of the training thread, for messages.
  int64_t updates = 0;         ///< Of the model; each is counted on one rank.
  int64_t examples = 0;        ///< Behind those updates.
  /// [s]: updates by a gradient that was taken s updates earlier; counted where they are made.
  std::vector<int64_t> staleness = {};
};

/// All ranks make the same calls in the same order, but for View, GradientReady and Step where
/// teams are smaller than the world: there one may take more steps than another between two
/// Quiesce. Those that only serve take none.
class Strategy {
 public:
  virtual ~Strategy() = default;
  /// Once, after the first values (or those of a checkpoint) are in `params` and `state` of every
  /// rank, the same everywhere unless the entry says that replicas differ.
  virtual void Prepare() {}
  /// Before each step: where the gradient is taken.
  virtual ParamView View(const StrategyStep& step) = 0;
  /// A slice's gradient is complete: only enqueues.
  virtual void GradientReady(int /*slice*/) {}
  /// Where it serves the head: what computes it between View and Step, in the executor's place. The
  /// view's values of the head are then old and its gradients nobody's.
  virtual Head* RemoteHead() { return nullptr; }
  /// After the gradient is complete: exchanges and updates.
  virtual void Step(const StrategyStep& step) = 0;
  /// This rank has no more steps until all meet in Quiesce (one that only serves: none at all, said
  /// before the others' first): whoever waits for it need not.
  virtual void Idle() {}
  /// Messages in flight land (before a checkpoint or an evaluation). The next View starts anew.
  virtual void Quiesce() {}
  /// The packed values that are "the model": called by all ranks after Quiesce; valid on rank 0
  /// until the next View. Replicas stay as they are.
  virtual const float* Model() = 0;
  /// Gradients that this rank has taken part in, messages, waits.
  virtual ExchangeCounts Counts() const { return {}; }
  /// The exact part of a checkpoint, of this rank, beside its values and the rule's state: a table,
  /// and tensors that the strategy owns (a checkpoint is read into them before Prepare).
  virtual Value State() const { return Value(Table{}); }
  virtual void Restore(const Value& /*state*/) {}
  struct KeptTensor {
    std::string name;
    float* values = nullptr;
    int64_t count = 0;
  };
  virtual std::vector<KeptTensor> Tensors() { return {}; }
  /// Ends background threads. Nothing but Counts is called afterwards.
  virtual void Finish() {}

  /// What of the model is left here when another rank is lost.
  struct Rescued {
    /// Packed, readable by the CPU, as long as the strategy lives; null: the values of `params`.
    const float* values = nullptr;
    /// `values` are a copy of the model, the newer the higher this is; without it, and where
    /// replicas differ, what is left is one replica of several.
    int64_t version = 0;
  };
  /// Another rank is lost: every wait ends with RankLost. Ends background threads; nothing is
  /// called afterwards. Those left begin anew in a smaller world, from the newest model, or, where
  /// nobody has one (the centre is lost), from the mean of the replicas.
  virtual Rescued Recover() { return {}; }
};

/// What an exchange is priced by.
struct ExchangeSize {
  int64_t bytes = 0;             ///< Of the packed values.
  int world = 1;                 ///< Its ranks, those that only serve among them.
  int64_t slices = 1;            ///< That the values consist of.
  int64_t head_bytes = 0;        ///< Of those of a head that can be served,
  int64_t activation_bytes = 0;  ///< of what it is given in a rank's step,
  int64_t label_bytes = 0;       ///< and of that step's labels and ids beside it.
};

inline int WholeWorld(const Options& /*options*/, int world) { return world; }
inline int EachAlone(const Options& /*options*/, int /*world*/) { return 1; }
inline int NoServers(const Options& /*options*/, int /*world*/) { return 0; }

struct StrategyEntry {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;  ///< Keys of [cluster] that belong to this strategy.
  bool deterministic = false;       ///< Same seed and world: bit-identical.
  /// How many ranks of a world, the first ones, only serve: data is dealt to the others, the
  /// workers, alone. Fewer than `world`; throws UserError.
  int (*servers)(const Options& options, int world) = NoServers;
  /// How many workers are dealt work together: neighbours by rank, each with an equal share of the
  /// same step. All: they are in step. Fewer: teams take the next step when they are done with one,
  /// so that a slow one holds nobody up. Divides `workers`; throws UserError.
  int (*team)(const Options& options, int workers) = WholeWorld;
  bool forces_momentum = false;  ///< sgd becomes momentum; the job's other rules stay.
  bool in_place = false;         ///< Works with executors that update the values themselves.
  bool replicas_differ = false;  ///< Each rank has values (and rule state) of its own.
  /// Empty when it can run with these many replicas, else the reason it cannot, as a sentence.
  std::string (*supports)(int world);
  /// What all ranks together send in one step of each.
  Cost (*estimate)(const Options& options, const ExchangeSize& size);
  std::unique_ptr<Strategy> (*make)(const Options& options, const StrategyContext& context);
};
const std::vector<StrategyEntry>& strategies();

/// What the ranks of a world are: the first ones servers, the others workers, in teams.
struct Roles {
  int servers = 0;
  int workers = 1;
  int team = 1;  ///< Workers that are dealt work together.
};
inline Roles RolesIn(const StrategyEntry& entry, const Options& options, int world) {
  const int servers = entry.servers(options, world), workers = world - servers;
  return {.servers = servers, .workers = workers, .team = entry.team(options, workers)};
}

}  // namespace yoke
