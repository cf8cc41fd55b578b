// TimesOnly: the events of a run without weights.
#include "simulate/times_only.h"

#include <fmt/core.h>

#include <utility>

#include "train/early_stopping.h"
#include "train/job/parts.h"
#include "train/notes.h"
#include "train/record/record.h"

namespace yoke {

TimesOnly::TimesOnly(const Job& job, const RunRequest& request, RunContext& context)
    : TimedRun(job, request, context) {
  for (const char* key : {"target", "early_stopping", "evaluate_examples"})
    if (job.train.Has(key))
      messages_.push_back(fmt::format("train.{} has no effect: times only evaluates nothing", key));
  if (FollowsEvaluations(job))
    messages_.emplace_back("schedule plateau has no effect: times only evaluates nothing");
  if (job.train.Raw("evaluate_every").AsTable())
    messages_.emplace_back(
        "train.evaluate_every: replicas meet after these steps, but times only evaluates nothing");
}

/// Each leader opens the record.
void TimesOnly::Begun() {
  const std::string& run = context_.run->path();
  const int ranks = static_cast<int>(here().counts.size());
  record_.reset();
  record_ = MakeRecord(run);
  observers_ = request_.observers;
  observers_.insert(observers_.begin(), record_.get());
  const StartEvent start = {
      .run = run,
      .parameters = here().model.graph.layout().Parameters(),
      .devices = here().model.devices,
      .hardware = HardwareOf(*request_.cluster, ranks) + ", times only",
      .executor = here().job.node.String("executor"),
      .strategy = StrategyOf(here().job).name,
      .world = ranks,
      .train_examples = context_.data.train->Size(),
      .validation_examples = context_.data.validation ? context_.data.validation->Size() : 0,
      .test_examples = context_.data.test ? context_.data.test->Size() : 0,
      .epochs_done = Epochs(),
      .epochs = job_.train.Int("epochs")};
  for (Observer* observer : observers_) observer->Start(start);
  TellMessages();
}

void TimesOnly::TellMessages() {
  for (const std::string& message : std::exchange(messages_, {}))
    for (Observer* observer : observers_) observer->Message(message);
}

void TimesOnly::Ended(const SimulatedPlace& place) {
  const TimedResult result = Result();
  end_ = {.run = context_.run->path(),
          .seconds = result.seconds,
          .epochs = result.epochs,
          .step = result.steps,
          .test = {},
          .reason = result.reason,
          .sentence = fmt::format("{} steps of times only: there are no weights", result.steps)};
  if (end_.reason == "interrupted") end_.exit_status = 128 + request_.stop_signal->load();
  end_.memory = {.peak = PeakMemory(), .before_model = context_.before_model};
  end_.exchange = MetricsOf(result.exchange);
  end_.virtual_seconds = result.seconds;
  end_.cost = request_.cluster->CostOf(result.seconds);
  end_.lost = place.lost_nodes;
  if (std::string note = LongWaitNote(context_.timeline, job_); !note.empty())
    messages_.push_back(std::move(note));
  TellMessages();
  for (Observer* observer : observers_) observer->End(end_);
}

}  // namespace yoke
