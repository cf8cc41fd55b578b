// ServerStory: what a server does, told plainly in one process: who pushes when, and what comes of
// it. Workers take steady times for a gradient, so that the order is known.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "base/support/near.h"
#include "strategy/support/lab.h"

namespace yoke::test {

struct ServerStory {
  std::vector<double> seconds = {};  ///< Of a gradient, by worker; sums of them never meet.
  int64_t steps = 1;                 ///< Of each worker.
  double rate = 0.1;                 ///< As the server takes it.
  double later_rate = 0;             ///< As LabSettings'.
  float momentum = 0;
  bool sums_steps = false;  ///< The velocity keeps each gradient's rate.
  bool scale_by_staleness = false;
  bool predicts = true;  ///< Where more than one pushes.
  int64_t staleness_bound = 0;
  int64_t slow_start = 0;
  /// What arrives of a worker's gradient (in its place), with what was left out of those before.
  std::function<void(std::vector<float>& gradient, std::vector<float>& left_out)> arrives = {};
};

/// int8: a step is a 127th of the largest number of 256 neighbours, here of all; int4: a 7th of
/// that of 64.
template <int Steps>
void ArrivesInSteps(std::vector<float>& gradient, std::vector<float>& left_out) {
  float largest = 0;
  for (size_t i = 0; i < gradient.size(); ++i) {
    left_out[i] += gradient[i];
    largest = std::max(largest, std::abs(left_out[i]));
  }
  for (size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = largest > 0 ? largest / Steps * std::round(left_out[i] / largest * Steps) : 0;
    left_out[i] -= gradient[i];
  }
}

/// topk with top_share 0.2: 13 of the 64 packed elements.
inline void ArrivesWhereLargest(std::vector<float>& gradient, std::vector<float>& left_out) {
  std::vector<size_t> places(gradient.size());
  for (size_t i = 0; i < gradient.size(); ++i) left_out[places[i] = i] += gradient[i];
  std::ranges::stable_sort(places, std::greater(), [&](size_t i) { return std::abs(left_out[i]); });
  std::ranges::fill(gradient, 0.0F);
  for (size_t k = 0; k < 13; ++k) gradient[places[k]] = std::exchange(left_out[places[k]], 0.0F);
}

struct ServerOutcome {
  /// Of each worker, step by step: the values at which it took its gradient.
  std::vector<std::vector<std::vector<float>>> reads = {};
  std::vector<float> values = {};  ///< In the end.
  std::vector<int64_t> staleness = {};
};

/// PullToRank's gradient, of worker `rank`.
inline std::vector<float> PullOf(int rank, const std::vector<float>& at) {
  std::vector<float> gradient(at.size());
  PullToRank({.rank = rank, .values = at.data(), .gradient = gradient.data()});
  return gradient;
}

inline ServerOutcome Tell(const ServerStory& story, std::vector<float> w) {
  struct Worker {
    std::vector<float> copy;
    int64_t version = 0, pushes = 0;
    double ready = 0;
    bool waits = false;
    std::vector<float> left_out;
  };
  const auto workers = static_cast<int>(story.seconds.size());
  ServerOutcome outcome{.reads = decltype(outcome.reads)(workers)};
  std::vector<Worker> all(workers);
  for (Worker& worker : all) worker.left_out.resize(w.size());
  std::vector<float> m(w.size());
  int64_t version = 0;
  const bool predicts = story.predicts && workers > 1;
  const double mu = std::pow(story.momentum, predicts ? 1.0 / workers : 1);
  const double gain = (1 - mu) / (1 - story.momentum);
  const auto rate_after = [&](int64_t steps_of_worker, int64_t updates) {
    const bool later = story.later_rate > 0 && steps_of_worker >= story.steps / 2;
    const double risen = updates < story.slow_start ? static_cast<double>(updates + 1) /
                                                          static_cast<double>(story.slow_start)
                                                    : 1;
    return (later ? story.later_rate : story.rate) * risen;
  };
  double ahead = 0;
  for (int k = 1; predicts && k <= 2 * (workers - 1); ++k) ahead += std::pow(mu, k);
  const auto answer = [&](int i, double now) {
    std::vector<float> predicted = w;
    // At the rate of its last push.
    const double rate = rate_after(std::max<int64_t>(all[i].pushes - 1, 0), version);
    for (size_t j = 0; j < w.size(); ++j) predicted[j] -= static_cast<float>(rate * ahead) * m[j];
    outcome.reads[i].push_back(predicted);
    all[i] = {predicted, version, all[i].pushes, now + story.seconds[i], false, all[i].left_out};
  };
  for (int i = 0; i < workers; ++i) answer(i, 0);
  for (int64_t update = 0; update < story.steps * workers; ++update) {
    int next = -1;
    for (int i = 0; i < workers; ++i)
      if (!all[i].waits && all[i].pushes < story.steps &&
          (next < 0 || all[i].ready < all[next].ready))
        next = i;
    Worker& worker = all[next];
    std::vector<float> gradient = PullOf(next, worker.copy);
    if (story.arrives) story.arrives(gradient, worker.left_out);
    const int64_t staleness = version++ - worker.version;
    outcome.staleness.push_back(staleness);
    const double rate = rate_after(worker.pushes, update);
    const double inside = story.sums_steps ? rate : 1;
    if (story.scale_by_staleness)
      for (float& g : gradient) g /= static_cast<float>(1 + staleness);
    for (size_t i = 0; i < w.size(); ++i) {
      m[i] = static_cast<float>(mu * m[i] + inside * gain * gradient[i]);
      w[i] -= static_cast<float>(rate / inside) * m[i];
    }
    worker.waits = ++worker.pushes < story.steps;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (const Worker& other : all)
      if (other.pushes < story.steps) least = std::min(least, other.pushes);
    const double now = worker.ready;
    for (int i = 0; i < workers; ++i)
      if (all[i].waits &&
          (story.staleness_bound == 0 || all[i].pushes - least <= story.staleness_bound))
        answer(i, now);
  }
  outcome.values = w;
  return outcome;
}

/// Gradients take so long, by rank; a server's work takes no time.
inline ServiceTime SecondsByRank(std::vector<double> seconds) {
  return [seconds = std::move(seconds)](int rank, const Cost& cost) {
    return cost.bytes > 0 ? 0 : seconds[rank] * cost.operations;
  };
}

/// A strategy to be told by a story: each of the story's workers is a team of ranks. Even members
/// pull a little below the team's place, odd ones as much above it and in half the time.
struct ServedRun {
  LabSettings settings;
  ServerStory story;
  int team = 1;  ///< 1 or an even number.

  /// Ranks before the workers'.
  int Servers() const {
    for (const auto& [key, value] : settings.options)
      if (key == "servers") return static_cast<int>(*value.AsInt());
    return 0;
  }
  int Ranks() const { return Servers() + team * static_cast<int>(story.seconds.size()); }
  std::vector<double> Seconds() const {
    std::vector<double> seconds(Ranks());
    for (int worker = 0; worker < Ranks() - Servers(); ++worker)
      seconds[Servers() + worker] = story.seconds[worker / team] / (worker % team % 2 + 1);
    return seconds;
  }
  void Pull(const Asked& asked) const {
    const int worker = asked.rank - Servers();
    Asked of_team = asked;
    of_team.rank = worker / team;
    PullToRank(of_team);
    if (team == 1) return;
    for (int64_t i = 0; i < kCount; ++i)
      if (!Lab::Padding(i)) asked.gradient[i] += worker % 2 == 0 ? 0.25F : -0.25F;
  }
};

/// Runs it in virtual time, and compares with the story what every worker read and what came of it.
/// `bound`: a fraction of the largest number, because sums of floats differ between builds by a few
/// ulp of it: under a sanitizer by 3 ulp of 4.0.
inline ExchangeCounts ExpectAsTold(ServedRun run, double bound = 1e-5) {
  run.settings.steps = run.story.steps;
  run.settings.seconds_of_gradient = 1;
  ServerOutcome outcome{.reads = decltype(outcome.reads)(run.story.seconds.size())};
  run.settings.gradient = [&](const Asked& asked) {
    const int worker = asked.rank - run.Servers();
    if (worker % run.team == 0)
      outcome.reads.at(worker / run.team).emplace_back(asked.values, asked.values + kCount);
    run.Pull(asked);
  };
  std::vector<float> first;
  ExchangeCounts counts;
  Simulate({.ranks = run.Ranks(), .timeout = 1e6, .service = SecondsByRank(run.Seconds())},
           [&](const Communicator& world) {
             Lab lab(world, run.settings);
             if (world.rank() == 0) first = lab.Values();
             lab.Steps();
             outcome.values = lab.Model();
             if (world.rank() == 0) counts = lab.strategy->Counts();
           });
  const ServerOutcome told = Tell(run.story, first);
  for (size_t worker = 0; worker < told.reads.size(); ++worker) {
    EXPECT_EQ(outcome.reads[worker].size(), told.reads[worker].size());
    for (size_t step = 0; step < told.reads[worker].size(); ++step)
      ExpectNearLargest(outcome.reads[worker].at(step), told.reads[worker][step], bound, "read");
  }
  ExpectNearLargest(outcome.values, told.values, bound, "value");
  std::vector<int64_t> histogram(counts.staleness.size());
  for (const int64_t s : told.staleness) ++histogram.at(s);
  EXPECT_EQ(counts.staleness, histogram);
  return counts;
}

}  // namespace yoke::test
