// Leaders: prices, and the choice of the candidates to try.
#include "plan/leaders.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/registry.h"
#include "node/executor.h"
#include "plan/hardware.h"
#include "plan/statistics.h"
#include "train/job/parts.h"
#include "train/number_format.h"

namespace yoke {
namespace {

constexpr size_t kMoreStrategies = 3;  // of replicas that divide the cores
constexpr double kFar = 3;             // times the shortest prediction: the default is not tried
constexpr int kMeetingsAnEpoch = 4;    // at least
/// The noise scale where it is not known: smaller batches use examples no better.
constexpr double kLargeNoise = 1e6;

void DropThoseOfOtherModels(const SearchRequest& request, std::vector<Candidate>& candidates) {
  const ModelTask task = TaskOf(request.data.train->Info());
  for (Candidate& one : candidates) {
    const ExecutorEntry& executor = FindEntry(executors(), "executor", one.executor);
    if (!one.IsLeft() || !executor.trains) continue;
    const std::string reason = executor.trains(BuildModel(JobOf(request.job, one).model(), task));
    if (!reason.empty()) one.dropped = fmt::format("executor {} {}", executor.name, reason);
  }
}

/// Replicas of which no cluster was asked are not tried without a price.
void PriceAll(const SearchRequest& request, std::vector<Candidate>& candidates) {
  const Hardware hardware(request.job, request.data, request.machines);
  const double examples = static_cast<double>(request.job.train.Int("epochs")) *
                          static_cast<double>(request.data.train->Size());
  double synchronous = 0;  // examples of the default's update, which is the first
  for (Candidate& one : candidates) {
    if (!one.IsLeft() || request.run.StopIsAsked()) continue;
    try {
      const Price price = hardware.Of(one);
      if (synchronous == 0) synchronous = price.examples_per_update;
      one.seconds_per_update = price.seconds_per_update;
      one.use = price.use;
      one.updates = examples *
                    RelativeExamples(price.use, synchronous, NoiseOf(request), request.efficiency) /
                    price.examples_per_update;
      const double steps =
          static_cast<double>(request.data.train->Size()) / price.examples_per_update;
      one.between_epochs = one.updates / steps * price.epoch_seconds;
      if (!one.is_default && price.use.interval > 1 &&
          steps < kMeetingsAnEpoch * price.use.interval)
        one.dropped =
            fmt::format("it exchanges every {:.0f} steps, less than {} times in an epoch of {:.0f}",
                        price.use.interval, kMeetingsAnEpoch, steps);
    } catch (const Error& unknown) {
      one.unpriced = unknown.what();
      if (request.trial_seconds == 0 || !one.shape.IsOwn())
        one.dropped = fmt::format("no price: {}", one.unpriced);
    }
  }
}

void Sort(std::vector<Candidate>& candidates) {
  std::ranges::stable_sort(candidates, {}, [](const Candidate& one) {
    const bool priced = one.seconds_per_update > 0;
    return std::tuple(!one.IsLeft(), !priced, one.IsLeft() ? one.Seconds() : 0);
  });
}

/// The division among replicas that is fastest with allreduce also gets the other strategies with
/// the shortest predicted time.
void AddStrategiesOfReplicas(const SearchRequest& request, std::vector<Candidate>& candidates) {
  const Candidate* best = nullptr;
  for (const Candidate& one : candidates)
    if (one.shape.replicas && one.IsLeft() && (!best || one.Seconds() < best->Seconds()))
      best = &one;
  if (!best || request.run.StopIsAsked()) return;
  Choices choices = request.choices;
  choices.shapes = {best->shape};
  choices.only_shapes = true;
  std::vector<Candidate> more = MakeCandidates(request.job, choices);
  std::erase_if(more, [best](const Candidate& one) {
    return !one.IsLeft() || one.strategy == best->strategy || one.precision != best->precision;
  });
  PriceAll(request, more);
  std::erase_if(more, [](const Candidate& one) { return !one.IsLeft(); });
  Sort(more);
  more.resize(std::min(more.size(), kMoreStrategies));
  candidates.insert(candidates.end(), more.begin(), more.end());
}

/// The first of those before `one` that does the same work with another executor, as those do that
/// differ only on several devices; null: none.
const Candidate* Twin(const std::vector<Candidate>& sorted, const Candidate& one) {
  if (one.seconds_per_update == 0) return nullptr;
  for (const Candidate& other : std::span(sorted.data(), &one))
    if (other.updates == one.updates && other.seconds_per_update == one.seconds_per_update &&
        other.strategy == one.strategy && other.precision == one.precision &&
        other.executor != one.executor)
      return &other;
  return nullptr;
}

std::string Prediction(const Candidate& one) {
  return one.unpriced.empty() ? kByPrediction + Duration(one.Seconds()) : "no price";
}

}  // namespace

double NoiseOf(const SearchRequest& request) {
  if (request.noise_scale == 0) return kLargeNoise;
  return (request.from.empty() ? kNoiseGrowth : 1) * request.noise_scale;
}

std::vector<Candidate> PricedCandidates(const SearchRequest& request) {
  std::vector<Candidate> all = MakeCandidates(request.job, request.choices);
  request.tell(
      fmt::format("pricing {} candidates", std::ranges::count_if(all, &Candidate::IsLeft)));
  DropThoseOfOtherModels(request, all);
  PriceAll(request, all);
  AddStrategiesOfReplicas(request, all);
  Sort(all);
  Require(all[0].IsLeft(), "no candidate is left: {}", all[0].dropped);
  return all;
}

void KeepLeaders(const SearchRequest& request, std::vector<Candidate>& candidates) {
  const bool replicas = request.job.cluster.Int("replicas") > 1;
  const bool trials = request.trial_seconds > 0 && !request.in_pause;
  std::vector<const Candidate*> leaders;
  const double shortest = candidates[0].Seconds();
  for (Candidate& one : candidates) {
    if (!one.is_default || !one.IsLeft()) continue;
    if (trials && shortest > 0 && one.Seconds() > kFar * shortest)
      one.dropped = fmt::format("{}, more than {:.0f} times as long as {}", Prediction(one), kFar,
                                candidates[0].name);
  }
  for (Candidate& one : candidates) {
    const Candidate* twin = Twin(candidates, one);
    one.repeats = twin && !one.is_default;
    if (!one.IsLeft() || one.is_default) continue;
    const auto rival = std::ranges::find_if(leaders, [&](const Candidate* leader) {
      return replicas && leader->strategy == one.strategy;
    });
    if (twin)
      one.dropped = fmt::format("the same work as {}", twin->name);
    else if (rival != leaders.end())
      one.dropped = fmt::format("{}, after {}", Prediction(one), (*rival)->name);
    else if (leaders.size() == kLeaders)
      one.dropped = fmt::format("{}, after {} others", Prediction(one), kLeaders);
    else
      leaders.push_back(&one);
  }
}

void PriceAgain(const Efficiency& before, const Efficiency& now,
                std::vector<Candidate>& candidates) {
  for (Candidate& one : candidates) {
    const std::string predicted = Prediction(one);
    const double factor = now.Examples(one.use) / before.Examples(one.use);
    one.updates *= factor;
    one.between_epochs *= factor;
    if (one.dropped.starts_with(predicted))
      one.dropped.replace(0, predicted.size(), Prediction(one));
  }
}

void SortUntried(size_t fit, std::vector<Candidate>& candidates) {
  const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(fit);
  const auto untried = std::find_if(candidates.begin() + 1, end,
                                    [](const Candidate& one) { return one.trained == 0; });
  std::stable_sort(untried, end, [](const Candidate& one, const Candidate& other) {
    const auto key = [](const Candidate& its) {
      return std::pair(its.seconds_per_update == 0, its.Seconds());
    };
    return key(one) < key(other);
  });
}

}  // namespace yoke
