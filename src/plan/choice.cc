// Choice: gains, sentences, and the order of the table.
#include "plan/choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace yoke {
namespace {

constexpr double kLeastGain = 0.05;  // on the default

/// A sentence on the choice between the best and the default, which may be null.
std::string Reason(const Candidate& best, const Candidate* standard, double gain,
                   const Evidence& evidence) {
  if (!standard) return fmt::format("{} {}", best.name, evidence.is_best);
  if (&best == standard) return fmt::format("{} is the default, and nothing is faster", best.name);
  return fmt::format("{} {} {:.0f} % of the time of the default, {}", best.name, evidence.takes,
                     100 * (1 - gain), standard->name);
}

constexpr double kSeconds = 0.5, kUpdates = 20;  // of a trial: what is longer
constexpr double kFewestUpdates = 5;

/// Whether a candidate makes the default's updates: it sets nothing else than the precision.
bool IsAlike(const Candidate& one) {
  return std::ranges::all_of(one.keys,
                             [](const Override& key) { return key.key == "node.precision"; });
}

/// Those that are left, the default first; none if that is not among them.
std::vector<Candidate*> KeepAlike(std::vector<Candidate>& candidates) {
  std::vector<Candidate*> alike;
  for (Candidate& one : candidates) {
    if (one.IsLeft() && !IsAlike(one))
      one.dropped = "training is too short to find out how many updates it needs";
    if (one.IsLeft() && !one.is_default && !IsFastHere(one.precision))
      one.dropped = fmt::format("this CPU is no faster in {}", one.precision);
    if (one.IsLeft()) alike.push_back(&one);
  }
  if (!alike.empty() && !alike[0]->is_default) alike.clear();
  return alike;
}

/// The default stays, and the others are dropped, for this reason.
Plan Unchanged(Plan plan, const std::string& reason) {
  plan.notes.push_back(reason);
  for (Candidate& one : plan.candidates)
    if (!one.is_default && one.IsLeft()) one.dropped = reason;
  return plan;
}

}  // namespace

void Choose(Candidate* best, Candidate* standard, double gain, const Evidence& evidence,
            Plan& plan) {
  if (standard && best != standard && gain < kLeastGain) {
    best->dropped = fmt::format("{} it gains {:.1f} % on the default, less than {:.0f} %",
                                evidence.how, 100 * std::max(0.0, gain), 100 * kLeastGain);
    best = standard;
  }
  for (Candidate& one : plan.candidates)
    if (&one != best && one.IsLeft())
      one.dropped = fmt::format("{} is faster {}", best->name, evidence.how);
  plan.chosen = static_cast<int>(best - plan.candidates.data());
  plan.keys = best->keys;
  plan.notes.push_back(Reason(*best, standard, gain, evidence));
}

void ShowFirst(Plan& plan) {
  auto& all = plan.candidates;
  std::rotate(all.begin(), all.begin() + plan.chosen, all.begin() + plan.chosen + 1);
  std::stable_partition(all.begin() + 1, all.end(),
                        [](const Candidate& one) { return one.trained > 0; });
  plan.chosen = 0;
}

Plan CompareSpeeds(const Job& job, const Choices& choices, const Trials& trials,
                   double update_seconds) {
  Plan plan = {.candidates = MakeCandidates(job, choices)};
  const std::vector<Candidate*> alike = KeepAlike(plan.candidates);
  if (alike.size() < 2)
    return Unchanged(std::move(plan), "nothing else makes the same updates: the default stays");
  const double seconds = std::min(trials.seconds / static_cast<double>(alike.size()),
                                  std::max(kSeconds, kUpdates * update_seconds));
  if (seconds < std::max(kShortestTrial, kFewestUpdates * update_seconds))
    return Unchanged(std::move(plan), "there is no time for trials: the default stays");
  const auto run_of = [&](const Candidate& one) {
    return fmt::format("{}/speed-{}", trials.folder, &one - plan.candidates.data());
  };
  Candidate* best = nullptr;
  bool ended = false;  // one that has trained to the end has not done so as the job says
  for (Candidate* one : alike) {
    const Job its = JobOf(job, *one);
    const Trial trial = RunTrial(its, {.data = trials.data,
                                       .run = trials.run,
                                       .peers = trials.peers,
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
  if (!standard->measured)
    return Unchanged(std::move(plan), "the default's trial has failed: it stays");
  Choose(best, standard, 1 - *best->measured / *standard->measured, kSpeeds, plan);
  if (!ended) plan.progress = run_of(plan.best());
  ShowFirst(plan);
  return plan;
}

}  // namespace yoke
