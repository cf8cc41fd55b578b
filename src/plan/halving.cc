// Halving: rounds of trials, each twice as long as the one before.
#include "plan/halving.h"

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

constexpr double kLeastTrial = 0.3;  // seconds: some events of the Trainer

/// How many go on after a round.
size_t BetterHalf(size_t count) { return (count + 1) / 2; }

/// The trials' lengths in all, in units of the first round's.
double Units(size_t count) {
  double units = 0, length = 1;
  for (; count > 1; count = BetterHalf(count), length *= 2) units += length * double(count + 1);
  return units;  // + 1: the one that stays
}

void TrainOn(const HalvingRequest& request, double seconds, size_t number, Entrant& one) {
  const std::string run = fmt::format("{}/trial-{}", request.folder, number);
  one.last = RunTrial(one.job, {.data = request.data,
                                .run = request.run,
                                .from = one.run.empty() ? request.from : one.run,
                                .folder = run,
                                .seconds = seconds});
  one.run = run;
  one.trained += seconds;
  one.dropped = one.last.failure;
  if (one.dropped.empty())
    request.tell(
        fmt::format("{}: loss {:.4g} after {:.3g} s", one.name, one.last.loss, one.trained));
}

}  // namespace

void Halve(const HalvingRequest& request, std::vector<Entrant>& entrants) {
  double seconds = std::max(kLeastTrial, request.seconds / std::max(1.0, Units(entrants.size())));
  double spent = 0;
  for (;; seconds *= 2) {
    spent += seconds * static_cast<double>(Left(entrants).size());
    for (Entrant& one : entrants)
      if (one.dropped.empty()) TrainOn(request, seconds, &one - entrants.data(), one);
    std::vector<Entrant*> left = Left(entrants);
    std::ranges::stable_sort(left, {}, [](const Entrant* one) { return one->last.loss; });
    const bool ends =
        left.size() <= 2 ||
        spent + 2 * seconds * static_cast<double>(BetterHalf(left.size())) > request.seconds ||
        std::ranges::any_of(left, [](const Entrant* one) { return one->last.ended; }) ||
        request.run.StopIsAsked();
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
