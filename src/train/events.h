// Events: what a run tells while it trains, and who listens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "node/device_usage.h"
#include "train/divergence.h"
#include "train/metrics.h"
#include "train/record/machine.h"

namespace yoke {

struct StartEvent {
  std::string run;  ///< Run directory as given or generated.
  int64_t parameters = 0;
  std::vector<std::string> devices;  ///< "cpu", "emulated:0"
  std::string hardware;              ///< "cpu (2 threads)"
  std::string executor;
  std::string strategy;
  int world = 1;
  int64_t train_examples = 0;
  int64_t validation_examples = 0;
  int64_t test_examples = 0;
  double epochs_done = 0;  ///< More than 0 when resumed, or after trials.
  int64_t epochs = 0;
  double seconds = 0;         ///< Training time of earlier sessions.
  bool after_trials = false;  ///< The epochs done are those of the trials that chose its keys.
};

/// Sent while data is read, from the first second on, a few times per second.
struct LoadingEvent {
  double seconds = 0;
  int64_t bytes = 0;  ///< Read so far.
  int64_t total = 0;  ///< To read in all; 0 if unknown.
  bool over = false;  ///< Whether this is the last one.
};

/// Sent a few times per second, for live display.
struct StepEvent {
  int64_t step = 0;
  double epoch = 0;  ///< Epochs done (fractional).
  int64_t epochs = 0;
  double loss = 0;       ///< Mean over the epoch so far,
  int64_t examples = 0;  ///< over this many examples.
  double seconds = 0;    ///< Training time including earlier sessions.
  double learning_rate = 0;
  double examples_per_second = 0;
  double seconds_left = 0;
};

struct EpochEvent {
  int64_t epoch = 0;  ///< 1 for the first.
  int64_t epochs = 0;
  double seconds = 0;              ///< Training time including earlier sessions.
  double training_seconds = 0;     ///< Of these, without evaluations and checkpoints.
  double examples_per_second = 0;  ///< Likewise without them.
  double learning_rate = 0;
  int64_t step = 0;
  double train_loss = 0;
  Metrics validation = {};  ///< Empty without a validation share.
  Metrics test = {};        ///< Empty without test data.
  /// Exchange metrics so far (train/exchange.h); empty for a single replica.
  Metrics exchange = {};
  std::vector<DeviceWork> node = {};  ///< So far, by device of rank 0's node, if it has several.
  LayerReport layers = {};            ///< Of this epoch, or what a session saw of it.
  /// Of rank 0 in this epoch, likewise; none: not known.
  std::optional<DataWait> data = {};
};

/// Sent after each evaluation where train.evaluate_every counts steps; one that also ends an epoch
/// comes before its EpochEvent.
struct EvaluationEvent {
  int64_t step = 0;
  double epoch = 0;  ///< Epochs done (fractional).
  int64_t epochs = 0;
  double seconds = 0;  ///< As in EpochEvent, likewise the next.
  double training_seconds = 0;
  int64_t examples = 0;  ///< Trained on so far.
  Metrics validation;    ///< As in EpochEvent, likewise the next.
  Metrics test;
};

inline constexpr int kDivergedStatus = 3;  ///< The exit status of a run that diverged.

struct EndEvent {
  std::string run;
  double seconds = 0;
  double epochs = 0;
  int64_t step = 0;
  Metrics test;  ///< Test metrics of the weights in `last`.
  /// finished, target, early_stopping, time_limit, step_limit, replan, interrupted, diverged
  std::string reason;
  std::string sentence;  ///< What to do next (how to resume, why it diverged), for the user.
  int exit_status = 0;
  MemoryUse memory = {};
  Metrics exchange = {};  ///< As in EpochEvent, likewise the next.
  std::vector<DeviceWork> node = {};
  double virtual_seconds = 0;  ///< On a simulated cluster: the whole run's.
  double lost_trials = 0;      ///< Of these, those of `auto` from which the run did not go on.
  double cost = 0;             ///< Of a simulated cluster for this time; 0: no price is known.
  std::optional<Collapse> collapse = {};  ///< Of the weights in `last`.
  std::string good = {};       ///< The last good checkpoint, if it is another than `last`.
  std::string best = {};       ///< The best checkpoint, if the job keeps it,
  std::string best_text = {};  ///< and its metric: "validation accuracy 0.912".
  int lost = 0;  ///< Nodes of a simulated cluster that failed during the run, or ranks.
};

/// Receives the events of a run: terminal, JSON lines, metrics.jsonl, TensorBoard. Called in order,
/// never by two threads at once.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void Loading(const LoadingEvent&) {}
  virtual void Start(const StartEvent&) {}
  virtual void Step(const StepEvent&) {}
  virtual void Evaluation(const EvaluationEvent&) {}
  virtual void Epoch(const EpochEvent&) {}
  virtual void Message(const std::string&) {}  ///< A sentence for the user ("resumed from ...").
  virtual void End(const EndEvent&) {}
};

}  // namespace yoke
