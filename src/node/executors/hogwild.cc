// Hogwild: each thread takes small batches of the round, computes on the shared weights and writes
// its updates into them without a lock (Niu, Recht, Re, Wright 2011; with small batches: Hogbatch).
// optim/racing.h explains why lost and mixed updates are harmless. Cost of a small batch of h
// examples: its passes, and the weights read and written once; with plain descent linear layers
// update the weights where they compute the gradient (CompileRequest::immediate).
#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <utility>

#include "base/check.h"
#include "node/crew.h"
#include "node/plans.h"
#include "node/sub_batch.h"
#include "node/team_states.h"
#include "optim/racing.h"

namespace yoke::executor {
namespace {

/// Batch size from which on products run at full speed (measured).
constexpr int64_t kFullSpeed = 16;

/// The data of one thread.
struct Worker {
  Worker(const ExecutorContext& context, int64_t small, bool immediate)
      : plans(context, small, {.immediate = immediate}), gradients(context.graph.layout(), Cpu()) {}

  Plans plans;
  Gradients gradients;
  Batch batch;
  double loss = 0;  ///< Sum over this thread's examples of the round.
  int64_t examples = 0;
};

/// A round: the batch to deal, and the settings of its updates.
struct Round {
  const Batch& batch;
  const ParamView& params;
  double learning_rate = 0;
  int64_t first_step = 0;                ///< Updates before the round.
  std::atomic<int64_t> next = 0;         ///< The next example to deal.
  std::atomic<int64_t> updates = 0;      ///< Updates so far.
  std::atomic<bool> broken_off = false;  ///< A loss was not finite.
};

/// One thread per member, free to move within its memory node: a round waits for every small batch,
/// and a thread bound to one core would wait as long as another program holds that core.
std::vector<ThreadPlan> Members(const ThreadPlan& plan) {
  std::vector<ThreadPlan> members = Divide(plan, plan.threads);
  for (ThreadPlan& member : members) {
    const std::vector<Place> own = std::exchange(member.places, {});
    for (const Place& place : plan.places)
      if (!own.empty() && place.node == own[0].node) member.places.push_back(place);
  }
  return members;
}

class Hogwild : public Executor {
 public:
  Hogwild(const Options& options, const ExecutorContext& context)
      : context_(context),
        small_(SmallBatch(options, context)),
        immediate_(context.rule->IsPlainDescent() && context.clip_norm <= 0),
        scale_rate_(options.Bool("hogwild_scale_rate")),
        crew_(Members(context.threads)),
        states_(context.graph, crew_.size()),
        workers_(crew_.size()),
        updates_(context.graph.layout(), *context.rule, *context.state) {
    crew_.Run(
        [this](int i) { workers_[i] = std::make_unique<Worker>(context_, small_, immediate_); });
  }

  bool in_place() const override { return true; }

  StepResult Step(const Batch& batch, const ParamView& params, const ExecutorStep& step) override {
    states_.Follow(params.states);
    Round round{.batch = batch,
                .params = params,
                .learning_rate = step.learning_rate,
                .first_step = context_.state->steps};
    crew_.Run([&](int i) { Work(i, round); });
    context_.state->steps += round.updates;
    StepResult result;
    for (const auto& worker : workers_) {
      result.loss += worker->loss;
      result.examples += worker->examples;
    }
    if (result.examples > 0) result.loss /= static_cast<double>(result.examples);
    return result;
  }

  std::string FirstNonFinite() const override {
    for (const auto& worker : workers_)
      if (!std::isfinite(worker->loss)) return worker->plans.FirstNonFinite();
    return "";
  }

  void Restore(const Value& /*state*/) override { states_.Renew(); }

 private:
  static int64_t SmallBatch(const Options& options, const ExecutorContext& context) {
    if (options.Has("hogwild_batch")) return options.Int("hogwild_batch");
    return std::clamp<int64_t>(context.batch / context.threads.threads, 1, kFullSpeed);
  }

  void Work(int i, Round& round) {
    Worker& worker = *workers_[i];
    worker.loss = 0;
    worker.examples = 0;
    while (!round.broken_off) {
      const int64_t begin = round.next.fetch_add(small_);
      if (begin >= round.batch.size) return;
      TakeSubBatch(round.batch, begin, std::min(begin + small_, round.batch.size), worker.batch);
      if (!Update(i, round)) round.broken_off = true;
    }
  }

  /// One small batch: gradient and update. Returns false if the loss is not finite; then nothing
  /// has changed.
  bool Update(int i, Round& round) {
    Worker& worker = *workers_[i];
    ParamView view = round.params;
    view.gradients = &worker.gradients;
    view.states = states_.of(i);
    view.writer = i;
    GraphPlan& plan = worker.plans.For(worker.batch.size);
    plan.Forward(worker.batch, view);
    const double loss = plan.Loss(), size = static_cast<double>(worker.batch.size);
    worker.loss += loss * size;
    worker.examples += worker.batch.size;
    if (!std::isfinite(loss)) return false;
    const double share = scale_rate_ ? size / static_cast<double>(round.batch.size) : 1;
    UpdateStep step{.learning_rate = round.learning_rate * share,
                    .step = round.first_step + ++round.updates};
    view.immediate_rate = step.learning_rate;
    const GradientReady apply = [&](int slice) {
      updates_.Apply(slice, view.values, worker.gradients, step);
    };
    if (context_.clip_norm <= 0) {
      plan.Backward(worker.batch, view, apply);  // updates a slice while its gradient is in cache
      return true;
    }
    plan.Backward(worker.batch, view, {});
    const double norm = GradientNorm(*view.layout, worker.gradients);
    if (norm > context_.clip_norm) step.gradient_scale = context_.clip_norm / norm;
    AnnounceAll(*view.layout, apply);
    return true;
  }

  ExecutorContext context_;
  int64_t small_;
  bool immediate_;  ///< Plain descent: kernels apply gradients directly.
  bool scale_rate_;
  Crew crew_;
  TeamStates states_;
  std::vector<std::unique_ptr<Worker>> workers_;
  RacingUpdates updates_;
};

}  // namespace

ExecutorEntry hogwild() {
  return {.name = "hogwild",
          .summary = "Threads update the shared weights from small batches, without locks",
          .options = {{.name = "hogwild_batch",
                       .type = OptionType::kInt,
                       .help = "Examples per update; by default 16, or a thread's part of the "
                               "batch if that is less.",
                       .minimum = 1,
                       .maximum = 1e6},
                      {.name = "hogwild_scale_rate",
                       .type = OptionType::kBool,
                       .fallback = true,
                       .help = "The learning rate is that of a whole batch, and an update takes "
                               "its fraction of it; false: each update takes the whole rate."}},
          .make = [](const Options& options,
                     const ExecutorContext& context) -> std::unique_ptr<Executor> {
            RequireCpu(context, "hogwild");
            Check(context.rule && context.state, "hogwild needs a rule and its state");
            return std::make_unique<Hogwild>(options, context);
          }};
}

}  // namespace yoke::executor
