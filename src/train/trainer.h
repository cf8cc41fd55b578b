// Trainer: the loop that joins data, model, executor, strategy, evaluation, checkpoints and the
// record of a run.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "train/job.h"
#include "train/machine.h"
#include "train/metrics.h"

namespace yoke {

struct StartEvent {
  std::string run;  ///< Run directory as given or made.
  int64_t parameters = 0;
  std::string devices;  ///< "cpu (2 threads)"
  std::string executor;
  std::string strategy;
  int world = 1;
  int64_t train_examples = 0;
  int64_t test_examples = 0;
  double epochs_done = 0;  ///< More than 0 when resumed.
  int64_t epochs = 0;
};

/// Many times a second at most; for live display.
struct StepEvent {
  int64_t step = 0;
  double epoch = 0;  ///< Epochs done, fractional.
  int64_t epochs = 0;
  double loss = 0;  ///< Mean of the epoch so far.
  double learning_rate = 0;
  double examples_per_second = 0;
  double seconds_left = 0;
};

struct EpochEvent {
  int64_t epoch = 0;  ///< 1 for the first.
  int64_t epochs = 0;
  double seconds = 0;              ///< Since start, over resumptions.
  double examples_per_second = 0;  ///< Without evaluation and checkpoints.
  double learning_rate = 0;
  int64_t step = 0;
  double train_loss = 0;
  Metrics validation;  ///< Empty without a validation share.
  Metrics test;        ///< Empty without test data.
  Metrics exchange =
      {};  ///< What replicas exchanged so far (train/exchange.h); empty for one alone.
};

struct EndEvent {
  std::string run;
  double seconds = 0;
  double epochs = 0;
  int64_t step = 0;
  Metrics test;          ///< Of the weights in `last`.
  std::string reason;    ///< finished, target, time_limit, interrupted, diverged
  std::string sentence;  ///< What to do next (how to resume, why it diverged), for a person.
  int exit_status = 0;
  MemoryUse memory = {};
  Metrics exchange = {};  ///< As of an epoch.
};

/// Whoever wants to know: terminal, JSON lines, metrics.jsonl, TensorBoard. Called from the
/// training thread, in order.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void Start(const StartEvent&) {}
  virtual void Step(const StepEvent&) {}
  virtual void Epoch(const EpochEvent&) {}
  virtual void Message(const std::string&) {}  ///< A sentence for a person ("resumed from ...").
  virtual void End(const EndEvent&) {}
};

/// How to run a job.
struct RunRequest {
  std::string run;      ///< Run directory; "" : runs/<job>-<time>.
  bool resume = false;  ///< Continue what `run` holds.
  const std::atomic<int>* stop_signal =
      nullptr;  ///< Becomes a signal's number when the run shall end in order.
  std::vector<Observer*> observers;
};

/// Trains; the run directory, its lock, job.toml, metrics, events and checkpoints are made here.
/// Returns how it ended; throws UserError/Error for everything that keeps it from starting or going
/// on.
EndEvent Train(const Job& job, const RunRequest& request);

}  // namespace yoke
