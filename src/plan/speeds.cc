// Speeds: one trial of each candidate.
#include "plan/speeds.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/registry.h"
#include "node/executor.h"
#include "plan/choice.h"
#include "train/replica.h"

namespace yoke {
namespace {

constexpr double kSeconds = 0.5, kUpdates = 20;  // of a trial: what is longer

/// Whether an update differs from the default's in its speed alone. On one device executors that
/// update by whole batches do the same work.
bool IsAlike(const Candidate& one, const Candidate& standard, bool one_device) {
  const auto in_place = [](const Candidate& of) {
    return FindEntry(executors(), "executor", of.executor).in_place;
  };
  return one.strategy == standard.strategy &&
         (one.executor == standard.executor ||
          (!one_device && !in_place(one) && !in_place(standard)));
}

/// Those that are left, the default first; none if that is not among them.
std::vector<Candidate*> KeepAlike(std::vector<Candidate>& candidates, bool one_device) {
  std::vector<Candidate*> alike;
  for (Candidate& one : candidates) {
    if (one.dropped.empty() && !IsAlike(one, candidates[0], one_device))
      one.dropped = "training is too short to find out how many updates it needs";
    if (one.dropped.empty()) alike.push_back(&one);
  }
  if (!alike.empty() && !alike[0]->is_default) alike.clear();
  return alike;
}

}  // namespace

Plan CompareSpeeds(const Job& job, const Choices& choices, const Trials& trials,
                   double update_seconds) {
  Plan plan = {.candidates = MakeCandidates(job, choices)};
  const std::vector<Candidate*> alike =
      KeepAlike(plan.candidates, DevicesOf(job).all().size() == 1);
  if (alike.size() < 2) {
    plan.notes.emplace_back("nothing else makes the same updates: the defaults stay");
    return plan;
  }
  const double seconds = std::min(trials.seconds / static_cast<double>(alike.size()),
                                  std::max(kSeconds, kUpdates * update_seconds));
  const auto run_of = [&](const Candidate& one) {
    return fmt::format("{}/speed-{}", trials.folder, &one - plan.candidates.data());
  };
  Candidate* best = nullptr;
  bool ended = false;  // one that has trained to the end has not done so as the job says
  for (Candidate* one : alike) {
    const Job its = JobOf(job, *one);
    const Trial trial = RunTrial(its, {.data = trials.data,
                                       .run = trials.run,
                                       .followers = trials.followers,
                                       .from = trials.from,
                                       .folder = run_of(*one),
                                       .seconds = seconds});
    if (trials.run.StopIsAsked()) return plan;
    one->trained = trial.seconds;
    one->dropped = trial.failure;
    ended |= trial.ended;
    if (!trial.failure.empty() || trial.seconds_per_example == 0) continue;
    one->measured = trial.seconds_per_example * ExamplesPerUpdate(its);
    one->loss = trial.loss;
    if (!best || one->measured < best->measured) best = one;
  }
  Candidate* const standard = alike[0];
  if (!standard->measured) return plan;
  Choose(best, standard, 1 - *best->measured / *standard->measured, "in trials", plan);
  if (!ended) plan.progress = run_of(plan.best());
  ShowFirst(plan);
  return plan;
}

}  // namespace yoke
