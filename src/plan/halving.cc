// Halving: rounds of trials, each twice as long as the one before.
#include "plan/trials.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

namespace yoke {
namespace {

std::vector<Entrant*> Left(std::vector<Entrant>& entrants) {
  std::vector<Entrant*> left;
  for (Entrant& one : entrants)
    if (one.dropped.empty()) left.push_back(&one);
  return left;
}

/// How many go on after a round.
size_t BetterHalf(size_t count) { return (count + 1) / 2; }

/// The trials' lengths in all, in units of the first round's. `stay`: how many never leave.
double Units(size_t count, size_t stay) {
  double units = 0, length = 1;
  for (; count > 1; count = BetterHalf(count), length *= 2) units += length * double(count + stay);
  return units;
}

void AppendPoints(const std::vector<LossPoint>& points, std::vector<LossPoint>& curve) {
  const LossPoint end = curve.empty() ? LossPoint() : curve.back();
  for (LossPoint point : points) {
    point.seconds += end.seconds;
    point.examples += end.examples;
    curve.push_back(point);
  }
}

/// Appends the last trial's curve, after its warm-up.
void AppendLast(Entrant& one) {
  if (one.last.warm_up.examples > 0) AppendPoints({one.last.warm_up}, one.curve);
  AppendPoints(one.last.curve, one.curve);
}

void TrainOn(const Trials& trials, double length, size_t number, Entrant& one) {
  const std::string run = fmt::format("{}/trial-{}", trials.folder, number);
  one.last = RunTrial(one.job, {.data = trials.data,
                                .run = trials.run,
                                .peers = trials.peers,
                                .from = one.run.empty() ? trials.from : one.run,
                                .folder = run,
                                .seconds = length});
  if (one.run.empty() && !one.last.curve.empty()) one.first_loss = one.last.curve[0].loss;
  AppendLast(one);
  one.run = run;
  one.trained += trials.run.cluster ? one.last.seconds : length;
  one.dropped = one.last.failure;
  if (one.dropped.empty())
    trials.tell(
        fmt::format("{}: loss {:.4g} after {:.3g} s", one.name, one.last.loss, one.trained));
}

}  // namespace

void Halve(const Trials& trials, std::vector<Entrant>& entrants) {
  const auto stay = static_cast<size_t>(
      std::ranges::count_if(entrants, [](const Entrant& one) { return one.stays; }));
  double length =
      std::max(trials.shortest, trials.seconds / std::max(1.0, Units(entrants.size(), stay)));
  double spent = 0;
  for (;; length *= 2) {
    spent += length * static_cast<double>(Left(entrants).size());
    for (Entrant& one : entrants)
      if (one.dropped.empty()) TrainOn(trials, length, &one - entrants.data(), one);
    std::vector<Entrant*> left = Left(entrants);
    std::ranges::stable_sort(left, {}, [](const Entrant* one) { return one->last.loss; });
    const bool ends =
        left.size() <= 2 ||
        spent + 2 * length * static_cast<double>(BetterHalf(left.size())) > trials.seconds ||
        std::ranges::any_of(left, [](const Entrant* one) { return one->last.ended; }) ||
        trials.run.StopIsAsked();
    for (size_t i = ends ? 1 : BetterHalf(left.size()); i < left.size(); ++i)
      if (!left[i]->stays)
        left[i]->dropped =
            fmt::format("loss {:.4g} after {:.3g} s of trials; {} had {:.4g}", left[i]->last.loss,
                        left[i]->trained, left[0]->name, left[0]->last.loss);
    for (const Entrant& one : entrants)
      if (!one.dropped.empty()) std::filesystem::remove_all(one.run);
    if (ends) return;
  }
}

}  // namespace yoke
