// RatesApart: rounds of short trials, and a parabola through the mean losses.
#include "plan/rates_apart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "base/registry.h"
#include "optim/rule.h"
#include "plan/candidates.h"
#include "plan/measured_job.h"
#include "train/epoch_cursor.h"
#include "train/job/devices.h"
#include "train/job/parts.h"

namespace yoke {
namespace {

constexpr int64_t kApartSteps = 40;   // of a trial, at most
constexpr int64_t kFewestApart = 20;  // batches of one that the time limits: fewer tell nothing
constexpr int64_t kProbeSteps = 2;
constexpr int64_t kMostRounds = 4;
constexpr int64_t kLeastRounds = 2;  // that the steps allow; in virtual time they come in any case
constexpr size_t kFewestRates = 5;   // rates of a round
constexpr int64_t kAloneSteps = 2;   // of one replica, for one of all
constexpr double kAboutAsFast = 2;   // times the seconds of the fastest
constexpr double kBearable = 1.5;    // times the lowest loss: replicas together bear such a rate
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Mean seconds of the same pass on a rank, whose times vary: on the first of its devices.
double MeanSeconds(const Job& job, const SimulatedRanks& machines, int rank) {
  constexpr int kDraws = 100;
  const std::string device = NamesOfDevices(job)[0];
  const Cost pass = {.operations = 1e6};
  const WorkPlace place = {.device = device, .examples = BatchOf(job)};
  double sum = 0;
  for (int i = 0; i < kDraws; ++i)
    sum += machines.devices ? machines.devices(rank, pass, place) : machines.service(rank, pass);
  return sum / kDraws;
}

/// The replicas that are about as fast as the fastest one, where that is known; the slowest last.
std::vector<int> FastReplicas(const Job& job, const Trials& trials) {
  std::vector<int> all(static_cast<size_t>(job.cluster.Int("replicas")));
  std::iota(all.begin(), all.end(), 0);
  const SimulatedCluster* cluster = trials.run.cluster;
  if (!cluster || !cluster->machines.service) return all;
  std::vector<double> seconds;
  seconds.reserve(all.size());
  for (const int rank : all) seconds.push_back(MeanSeconds(job, cluster->machines, rank));
  const double most = kAboutAsFast * std::ranges::min(seconds);
  const auto of = [&](int rank) { return seconds[static_cast<size_t>(rank)]; };
  std::erase_if(all, [&](int rank) { return of(rank) > most; });
  std::ranges::stable_sort(all, {}, of);
  return all;
}

/// Where the parabola through three losses at -1, 0 and 1 is lowest, the middle one being the
/// lowest of them.
double LowestOf(double before, double middle, double after) {
  const double bend = before - 2 * middle + after;
  return std::isfinite(bend) && bend > 0 ? (before - after) / (2 * bend) : 0;
}

size_t Nearest(const std::vector<double>& rates, double rate) {
  const auto nearest = std::ranges::min_element(
      rates, {}, [rate](double one) { return std::abs(std::log(one / rate)); });
  return static_cast<size_t>(nearest - rates.begin());
}

class RatesApart {
 public:
  RatesApart(const Job& job, const Trials& trials)
      : job_(job),
        alone_(OneReplicaOf(job)),
        trials_(trials),
        replicas_(FastReplicas(job, trials)),
        rates_(RatesOf(job)),
        losses_(rates_.size()),
        most_steps_((trials.run.cluster ? kAloneSteps : 1) * trials.steps / TeamsOf(job)),
        steps_(std::clamp(most_steps_ / (kLeastRounds * Turns()), FewestSteps(alone_, trials.data),
                          std::max(kApartSteps, FewestSteps(alone_, trials.data)))) {}

  Tuned Find() {
    if (rates_.empty()) return {};
    FitSteps();
    const std::string cost =
        TuningCostNote({.steps = kMostRounds * Turns() * steps_ * TeamsOf(job_), .apart = true},
                       job_, trials_.data);
    if (!cost.empty()) trials_.tell(cost);
    double round = Round(Spread());
    for (int64_t rounds = 1; rounds < kMostRounds && !trials_.run.StopIsAsked(); ++rounds) {
      const std::vector<size_t> next = Next();
      if (next.empty()) break;
      const bool allowed =
          (rounds + 1) * Turns() * steps_ <= most_steps_ &&
          (trials_.seconds == 0 || (trials_.run.cluster && rounds < kLeastRounds) ||
           trained_ + round <= trials_.seconds);
      if (!losses_[next[0]].empty() && !allowed) break;
      round = Round(next);
    }
    Tuned found = {.trained = trained_};
    for (size_t i = 0; i < rates_.size(); ++i)
      if (!losses_[i].empty())
        found.tried.push_back(
            {.setting = {.rate = rates_[i]},
             .loss = LossOf(i),
             .steps = steps_ * std::ssize(losses_[i]),
             .trial_batches = std::llround(static_cast<double>(steps_) * Batches())});
    const double rate = RateOfReplicas(job_, found.tried);
    if (trials_.run.StopIsAsked() || rate == 0) return found;
    found.best = SettingOf(WithSetting(job_, {.rate = rate}));
    return found;
  }

 private:
  /// Of a step.
  double Batches() const {
    return static_cast<double>(StepExamplesOf(alone_, trials_.data.train->Size())) /
           static_cast<double>(BatchOf(alone_));
  }

  /// In virtual time trials are shorter where its limit does not hold all rounds.
  void FitSteps() {
    if (!trials_.run.cluster || trials_.seconds == 0 || trials_.run.StopIsAsked()) return;
    const Trial probe = TrainAlone(alone_, kProbeSteps, replicas_.back());
    if (!probe.failure.empty() || probe.seconds <= 0) return;
    trained_ += probe.seconds;
    const double all = kProbeSteps * (trials_.seconds - trained_) / probe.seconds;
    const auto fit = static_cast<int64_t>(std::min(all / double(kMostRounds * Turns()), 1e9));
    const auto fewest = static_cast<int64_t>(kFewestApart / Batches());
    steps_ = std::min(steps_, std::max({fit, fewest, FewestSteps(alone_, trials_.data)}));
  }

  /// Trials of a round on each replica.
  int64_t Turns() const {
    return static_cast<int64_t>((kFewestRates + replicas_.size() - 1) / replicas_.size());
  }
  size_t Slots() const { return static_cast<size_t>(Turns()) * replicas_.size(); }

  double LossOf(size_t number) const {
    const std::vector<double>& its = losses_[number];
    if (its.empty()) return kInfinity;
    return std::accumulate(its.begin(), its.end(), 0.0) / static_cast<double>(its.size());
  }

  /// Of those tested; the lowest rate, if all have failed.
  size_t Best() const {
    size_t best = 0;
    for (size_t i = 0; i < rates_.size(); ++i)
      if (!losses_[i].empty() && (losses_[best].empty() || LossOf(i) <= LossOf(best))) best = i;
    return best;
  }

  /// The ones around the middle.
  std::vector<size_t> Spread() const {
    const size_t count = std::min(Slots(), rates_.size());
    const size_t middle = rates_.size() / 2;
    const size_t first = std::min(middle - std::min(middle, count / 2), rates_.size() - count);
    std::vector<size_t> which(count);
    std::iota(which.begin(), which.end(), first);
    return which;
  }

  /// The best one and its neighbours, and where one of these was not tested, all beyond it: none
  /// that has failed, and first those that were not tested. Then each of them again.
  std::vector<size_t> Next() const {
    const size_t best = Best();
    const auto distance = [best](size_t i) { return i < best ? best - i : i - best; };
    const auto is_open = [&](size_t i) {  // neither it nor one between it and the best was tested
      for (; i != best; i < best ? ++i : --i)
        if (!losses_[i].empty()) return false;
      return true;
    };
    std::vector<size_t> near;
    for (size_t i = 0; i < rates_.size(); ++i)
      if ((distance(i) <= 1 || is_open(i)) && (losses_[i].empty() || std::isfinite(LossOf(i))))
        near.push_back(i);
    std::ranges::sort(near, {},
                      [&](size_t i) { return std::pair(losses_[i].size(), distance(i)); });
    std::vector<size_t> which;
    while (which.size() < Slots() && !near.empty())
      which.push_back(near[which.size() % near.size()]);
    return which;
  }

  /// Its seconds.
  double Round(const std::vector<size_t>& which) {
    double seconds = 0;
    for (size_t begin = 0; begin < which.size() && !trials_.run.StopIsAsked();
         begin += replicas_.size())
      seconds += SideBySide(
          std::span(which).subspan(begin, std::min(replicas_.size(), which.size() - begin)));
    trained_ += seconds;
    return seconds;
  }

  /// Its seconds: replicas wait for the slowest one. The k-th trials of all rates see the same
  /// examples, so that only the rates make them differ.
  double SideBySide(std::span<const size_t> which) {
    std::vector<Job> jobs;
    for (size_t i = 0; i < which.size(); ++i) {
      const auto before = losses_[which[i]].size() +
                          static_cast<size_t>(std::ranges::count(which.first(i), which[i]));
      jobs.push_back(WithKeys(WithSetting(alone_, {.rate = rates_[which[i]]}),
                              {PlanKey("train.seed", std::to_string(alone_.seed() + before))}));
    }
    const std::vector<Trial> trials =
        trials_.peers ? trials_.peers->TrainApart(jobs, steps_) : TrainAll(jobs);
    double seconds = 0;
    if (trials_.run.StopIsAsked()) return 0;  // some have not trained to their end
    for (size_t i = 0; i < trials.size(); ++i) {
      if (trials[i].refused) std::rethrow_exception(trials[i].refused);
      const double loss = trials[i].failure.empty() ? trials[i].loss : kInfinity;
      losses_[which[i]].push_back(loss);
      seconds = std::max(seconds, trials[i].seconds);
      trials_.tell(fmt::format("learning rate {:g}: loss {:.4g} after {} steps of one replica",
                               rates_[which[i]], loss, steps_));
    }
    return seconds;
  }

  /// In virtual time one after the other, each on its node.
  std::vector<Trial> TrainAll(const std::vector<Job>& jobs) const {
    std::vector<Trial> trials;
    for (size_t i = 0; i < jobs.size() && !trials_.run.StopIsAsked(); ++i)
      trials.push_back(TrainAlone(jobs[i], steps_, replicas_[i]));
    return trials;
  }

  Trial TrainAlone(const Job& job, int64_t steps, int rank) const {
    const std::string folder = trials_.folder + "/apart";
    Trial trial = RunTrial(job, {.data = trials_.data,
                                 .run = trials_.run,
                                 .apart = true,
                                 .folder = folder,
                                 .steps = steps,
                                 .rank = rank});
    std::filesystem::remove_all(folder);
    return trial;
  }

  const Job& job_;
  const Job alone_;
  const Trials& trials_;
  const std::vector<int> replicas_;
  const std::vector<double> rates_;
  std::vector<std::vector<double>> losses_;  // by rate
  const int64_t most_steps_;                 // of all trials on a replica
  int64_t steps_;                            // of a trial
  double trained_ = 0;                       // seconds
};

/// The best rate of a short trial is too high: what counts is the rate times the steps.
double FactorOfShortTrials(const std::vector<TriedSetting>& tried) {
  const int64_t batches = tried.empty() ? 0 : tried[0].trial_batches;
  if (batches == 0) return 1;
  return static_cast<double>(std::clamp(batches, kFewestApart, kApartSteps)) / kApartSteps;
}

}  // namespace

double RateOfReplicas(const Job& job, const std::vector<TriedSetting>& tried) {
  const std::vector<double> rates = RatesOf(job);
  std::vector<double> losses;
  for (const double rate : rates) {
    const auto its = std::ranges::find(tried, rate, [](auto& one) { return one.setting.rate; });
    losses.push_back(its == tried.end() ? kInfinity : its->loss);
  }
  const auto best = static_cast<size_t>(std::ranges::min_element(losses) - losses.begin());
  if (rates.empty() || !std::isfinite(losses[best])) return 0;
  double rate = rates[best];
  if (best > 0 && best + 1 < rates.size())
    rate *= std::pow(rates[best] / rates[best - 1],
                     LowestOf(losses[best - 1], losses[best], losses[best + 1]));
  const bool mean_gradient = !StrategyOf(job).replicas_differ;
  rate *= kBelow * FactorOfShortTrials(tried) * std::sqrt(mean_gradient ? RolesOf(job).team : 1);
  const auto& all = FindEntry(rules(), "rule", job.train.String("rule")).rates;
  const double own = std::min(SettingOf(job).rate, all[all.size() / 2]);
  if (rate < own && losses[Nearest(rates, own)] <= kBearable * losses[best]) rate = own;
  return std::min(rate, rates[0]);
}

Tuned FindRateApart(const Job& job, const Trials& trials) { return RatesApart(job, trials).Find(); }

}  // namespace yoke
