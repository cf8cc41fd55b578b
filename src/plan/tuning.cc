// Tuning: rates by a climb or a range test, momenta by Omnivore's grid.
#include "plan/tuning.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/registry.h"
#include "optim/rule.h"
#include "plan/candidates.h"
#include "train/epoch_cursor.h"
#include "train/job/parts.h"
#include "train/run_limits.h"

namespace yoke {
namespace {

constexpr double kMomenta[] = {0, 0.3, 0.6, 0.9};
constexpr double kTenth = 0.1;            // of a rate: the lower one of a grid
constexpr double kTie = 0.01;             // relative difference of losses
constexpr double kRisen = 1.5;            // times the lowest loss of a range test
constexpr int kParts = 9;                 // of the trials' steps: each trial of a climb has one,
constexpr int kFinalists = 2;             // and then each of the best ones two
constexpr int64_t kFewestSteps = 6;       // steps
constexpr int64_t kMomentumUpdates = 50;  // of each trial of a momentum: fewer tell nothing
constexpr double kSearchShare = 0.1;
/// Of tuning: at least the smaller of these, where the job does not say.
constexpr double kTuningSteps = 600, kTuningShare = 0.4;
constexpr double kMostTuningSteps = 2000;

/// An equal part of all trials.
TrialRequest PartOf(const Job& job, const Trials& trials, size_t parts, size_t number) {
  const int64_t fewest = FewestSteps(job, trials.data);
  const std::string folder = fmt::format("{}/tuning-{}", trials.folder, number);
  return {.data = trials.data,
          .run = trials.run,
          .peers = trials.peers,
          .from = trials.from,
          .folder = folder,
          .seconds = trials.seconds / double(parts),
          .steps = trials.steps > 0 ? std::max(fewest, trials.steps / int64_t(parts)) : 0};
}

/// RunTrial, which passes on what has nothing to do with its setting.
Trial TrialOf(const Job& job, const TrialRequest& request) {
  Trial trial = RunTrial(job, request);
  if (trial.refused) std::rethrow_exception(trial.refused);
  return trial;
}

/// A setting with its trials.
struct Tried {
  Setting setting = {};
  std::string run = {};  // "": not tried
  Trial trial = {};      // the last one
  int64_t steps = 0;     // in all
  bool Fails() const { return run.empty() || !trial.failure.empty(); }
};

TriedSetting ResultOf(const Tried& one) {
  return {.setting = one.setting,
          .loss = one.Fails() ? std::numeric_limits<double>::infinity() : one.trial.loss,
          .steps = one.steps};
}

/// Removes the other runs.
Tuned Found(const Job& job, const Tried& best, const std::vector<Tried>& tried, double trained) {
  for (const Tried& one : tried)
    if (&one != &best && !one.run.empty()) std::filesystem::remove_all(one.run);
  std::vector<TriedSetting> settings;
  for (const Tried& one : tried)
    if (!one.run.empty()) settings.push_back(ResultOf(one));
  return {.best = SettingOf(WithSetting(job, best.setting)),
          .run = best.run,
          .last = best.trial,
          .trained = trained,
          .tried = std::move(settings)};
}

/// Tries the rates of a rule from the middle one on: higher ones until the loss is higher, or else
/// lower ones. Each trial begins where all do.
class Climb {
 public:
  Climb(const Job& job, const Trials& trials)
      : job_(job), trials_(trials), rates_(RatesOf(job)), tried_(rates_.size()) {
    size_t best = rates_.size() / 2;
    Try(best);
    while (best > 0 && Try(best - 1) < LossOf(best)) --best;
    while (best + 1 < rates_.size() && Try(best + 1) < LossOf(best)) ++best;
  }

  /// The best ones go on twice as long, then the next ones until the loss of one falls: a rate may
  /// be too high although it began well. Its run is "" if all fail or the search is interrupted.
  Tuned Finish() {
    const Tried *best = nullptr, *risen = nullptr;
    const auto take = [](const Tried& one, const Tried*& of) {
      if (!of || one.trial.loss < of->trial.loss) of = &one;
    };
    for (int finalists = 0; finalists < kFinalists || !best; ++finalists) {
      Tried* next = Next();
      if (trials_.run.StopIsAsked()) return {};
      if (!next) break;
      const double before = next->trial.loss;
      if (!next->trial.ended) GoOn(*next);
      finished_.push_back(next);
      if (!next->Fails()) take(*next, next->trial.loss > before ? risen : best);
    }
    if (!best) best = risen;
    return best ? Found(job_, *best, tried_, trained_) : Tuned{.trained = trained_};
  }

 private:
  /// The one with the lowest loss that has not gone on; if there is none, a lower rate.
  Tried* Next() {
    Tried* next = nullptr;
    for (Tried& one : tried_)
      if (!one.Fails() && std::ranges::count(finished_, &one) == 0 &&
          (!next || one.trial.loss < next->trial.loss))
        next = &one;
    const auto lowest = std::find_if(tried_.rbegin(), tried_.rend(),
                                     [](const Tried& one) { return !one.run.empty(); });
    if (next || lowest == tried_.rbegin()) return next;
    const auto lower = static_cast<size_t>(tried_.rend() - lowest);
    return std::isinf(Try(lower)) ? nullptr : &tried_[lower];
  }

  void Train(const TrialRequest& request, Tried& one) {
    one.trial = TrialOf(WithSetting(job_, one.setting), request);
    one.run = request.folder;
    one.steps += request.steps;
    trained_ += one.trial.seconds;
    if (!one.Fails())
      trials_.tell(fmt::format("{}: loss {:.4g} after {} steps", TextOf(one.setting),
                               one.trial.loss, one.steps));
  }

  void GoOn(Tried& one) {
    TrialRequest request = PartOf(job_, trials_, kParts, 0);
    request.steps *= 2;
    request.seconds *= 2;
    request.from = request.folder = one.run;
    Train(request, one);
  }

  /// Infinite if it fails or was not tried.
  double LossOf(size_t number) const {
    const Tried& one = tried_[number];
    return one.Fails() ? std::numeric_limits<double>::infinity() : one.trial.loss;
  }

  /// Its loss.
  double Try(size_t number) {
    Tried& one = tried_[number];
    if (one.run.empty() && !trials_.run.StopIsAsked()) {
      one.setting.rate = rates_[number];
      Train(PartOf(job_, trials_, kParts, number), one);
    }
    return LossOf(number);
  }

  const Job& job_;
  const Trials& trials_;
  const std::vector<double> rates_;
  std::vector<Tried> tried_;  // by rate
  std::vector<const Tried*> finished_;
  double trained_ = 0;
};

/// Steps of the shortest trials that find a rate, all together.
int64_t FewestTuningSteps(const Job& job, const DataSets& data) {
  return kParts * FewestSteps(job, data);
}

/// Of the whole training.
double StepsOf(const Job& job, const DataSets& data) {
  return static_cast<double>(job.train.Int("epochs")) * StepsPerEpoch(job, data);
}

}  // namespace

std::vector<double> RatesOf(const Job& job) {
  std::vector<double> rates = FindEntry(rules(), "rule", job.train.String("rule")).rates;
  if (const Value* rho = job.resolved.Find("cluster")->Find("rho"))
    std::erase_if(rates, [most = 1 / (rho->AsNumber().value_or(0) *
                                      static_cast<double>(job.cluster.Int("replicas")))](
                             double rate) { return rate > most; });
  return rates;
}

std::string TextOf(const Setting& setting) {
  const std::string rate = fmt::format("learning rate {:g}", setting.rate);
  return setting.momentum ? fmt::format("{}, momentum {:g}", rate, *setting.momentum) : rate;
}

int64_t FewestSteps(const Job& job, const DataSets& data) {
  const bool many = StepExamplesOf(job, data.train->Size()) > BatchOf(job);
  return TeamsOf(job) * (many ? 1 : kFewestSteps);
}

int64_t TeamsOf(const Job& job) {
  const Roles roles = RolesOf(job);
  return roles.workers / roles.team;
}

bool IsBetter(const TriedSetting& one, const TriedSetting& other) {
  if (!std::isfinite(one.loss) || !std::isfinite(other.loss)) return std::isfinite(one.loss);
  if (std::abs(one.loss - other.loss) > kTie * std::min(one.loss, other.loss))
    return one.loss < other.loss;
  return std::pair(one.setting.rate, one.setting.momentum) >
         std::pair(other.setting.rate, other.setting.momentum);
}

bool IsBeyond(const Setting& setting, const std::vector<TriedSetting>& tried) {
  return std::ranges::any_of(tried, [&](const TriedSetting& one) {
    return !std::isfinite(one.loss) && setting.rate >= one.setting.rate &&
           setting.momentum >= one.setting.momentum;
  });
}

Setting SettingOf(const Job& job) {
  Setting setting = {.rate = job.train.Float("learning_rate")};
  if (const Value* momentum = job.resolved.Find("train")->Find("momentum"))
    setting.momentum = momentum->AsNumber();
  return setting;
}

Overrides KeysOf(const Setting& setting) {
  Overrides keys = {PlanKey("train.learning_rate", FormatValue(Value(setting.rate)))};
  if (setting.momentum)
    keys.push_back(PlanKey("train.momentum", FormatValue(Value(*setting.momentum))));
  return keys;
}

Job WithSetting(const Job& job, const Setting& setting) { return WithKeys(job, KeysOf(setting)); }

bool HasRates(const Job& job) { return !RatesOf(job).empty(); }

double SearchShare(const Job& job) {
  return job.train.Has("search_share") ? job.train.Float("search_share") : kSearchShare;
}

bool MayEndEarly(const Job& job) {
  return job.train.Has("target") || job.train.Has("early_stopping");
}

int64_t TuningSteps(const Job& job, const DataSets& data) {
  const double all = StepsOf(job, data);
  const auto teams = static_cast<double>(TeamsOf(job));
  const double most = MayEndEarly(job) ? kTuningSteps : kMostTuningSteps;
  const double steps = std::min(SearchShare(job) * all, teams * most);
  const auto fewest = static_cast<double>(FewestTuningSteps(job, data));
  if (job.train.Has("search_share")) return steps < fewest ? 0 : std::llround(steps);
  return std::llround(std::max({steps, std::min(teams * kTuningSteps, kTuningShare * all), 1.0}));
}

int64_t FewestMomentumSteps(const Job& job) {
  return kMomentumUpdates * std::ssize(GridAround(SettingOf(job))) * TeamsOf(job);
}

double TuningSeconds(const Job& job) { return kTuningShare * TimeLimitOf(job); }

std::string NoTrialsNote(const Job& job, const DataSets& data) {
  const double rate = job.train.Float("learning_rate");
  if (TuningSteps(job, data) > 0)
    return fmt::format("there is no time for trials: the learning rate is {:g}", rate);
  return fmt::format(
      "train.search_share allows {:.0f} steps of trials, which need {}: the learning rate is {:g}",
      SearchShare(job) * StepsOf(job, data), FewestTuningSteps(job, data), rate);
}

std::string TuningCostNote(const TuningCost& cost, const Job& job, const DataSets& data) {
  const double all = StepsOf(job, data);
  if (static_cast<double>(cost.steps) <= SearchShare(job) * all + 1) return "";
  if (cost.apart)
    return fmt::format(
        "trials of the learning rate take up to {} steps beside the training's {:.0f} "
        "(train.search_share limits them)",
        cost.steps, all);
  return fmt::format(
      "trials of the learning rate take up to {} of {:.0f} steps, because fewer do not tell rates "
      "apart; the best one's count as training (train.search_share limits them)",
      cost.steps, all);
}

Tuned FindRate(const Job& job, const Trials& trials) {
  Tuned found = Climb(job, trials).Finish();
  found.best.rate *= kBelow;
  return found;
}

Tuned FindRateByRange(const Job& job, const Trials& trials) {
  std::vector<double> rates = RatesOf(job);
  std::ranges::reverse(rates);
  std::vector<Tried> tried;
  double trained = 0;
  size_t lowest = 0;
  for (const double rate : rates) {
    TrialRequest request = PartOf(job, trials, rates.size(), tried.size());
    if (!tried.empty()) request.from = tried.back().run;
    const Setting setting = {.rate = rate};
    const Trial trial = TrialOf(WithSetting(job, setting), request);
    if (trials.run.StopIsAsked()) return {};
    trained += trial.seconds;
    tried.push_back(
        {.setting = setting, .run = request.folder, .trial = trial, .steps = request.steps});
    if (tried.back().Fails()) break;
    trials.tell(fmt::format("{}: loss {:.4g}", TextOf(setting), trial.loss));
    if (trial.loss < tried[lowest].trial.loss) lowest = tried.size() - 1;
    if (trial.loss > kRisen * tried[lowest].trial.loss || trial.ended) break;
  }
  if (tried.empty() || tried[0].Fails()) return {.trained = trained};
  return Found(job, tried[lowest > 0 ? lowest - 1 : 0], tried, trained);
}

std::vector<Setting> GridAround(const Setting& last) {
  const double momentum = last.momentum.value_or(0);
  std::vector<Setting> grid;
  for (const double one : kMomenta)
    if (one >= momentum) grid.push_back({.rate = kTenth * last.rate, .momentum = one});
  for (const double one : kMomenta)
    if (one <= momentum) grid.push_back({.rate = last.rate, .momentum = one});
  return grid;
}

Tuned TuneMomentum(const Job& job, const Trials& trials) {
  const std::vector<Setting> grid = GridAround(SettingOf(job));
  std::vector<Tried> tried;
  std::vector<TriedSetting> results;
  double trained = 0;
  for (const Setting& setting : grid) {
    if (IsBeyond(setting, results)) continue;
    const TrialRequest request = PartOf(job, trials, grid.size(), &setting - grid.data());
    const Tried& one =
        tried.emplace_back(Tried{.setting = setting,
                                 .run = request.folder,
                                 .trial = TrialOf(WithSetting(job, setting), request),
                                 .steps = request.steps});
    if (trials.run.StopIsAsked()) return {};
    results.push_back(ResultOf(one));
    trained += one.trial.seconds;
    if (!one.Fails()) trials.tell(fmt::format("{}: loss {:.4g}", TextOf(setting), one.trial.loss));
  }
  const Tried& best = tried[std::ranges::min_element(results, IsBetter) - results.begin()];
  return best.Fails() ? Tuned{.trained = trained} : Found(job, best, tried, trained);
}

double ExplicitMomentum(double total, double staleness) {
  return std::max(0.0, 1 - (1 - total) * (1 + staleness));
}

}  // namespace yoke
