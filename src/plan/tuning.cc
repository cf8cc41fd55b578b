// Tuning: rates by halving or a range test, momenta by Omnivore's grid.
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
#include "plan/halving.h"
#include "train/epoch_cursor.h"

namespace yoke {
namespace {

constexpr double kMomenta[] = {0, 0.3, 0.6, 0.9};
constexpr double kBelow = 0.7;  // of the best rate of a short trial: training is longer
constexpr double kLowerRate = 0.1;
constexpr double kTie = 0.01;        // relative difference of losses
constexpr double kRisen = 1.5;       // times the lowest loss of a range test
constexpr int kParts = 9;            // of the trials' steps: each trial of a climb has one,
constexpr int kFinalists = 2;        // and then each of the best ones two
constexpr int64_t kFewestSteps = 6;  // steps

const std::vector<double>& RatesOf(const Job& job) {
  return FindEntry(rules(), "rule", job.train.String("rule")).rates;
}

std::string TextOf(const Setting& setting) {
  const std::string rate = fmt::format("learning rate {:g}", setting.rate);
  return setting.momentum ? fmt::format("{}, momentum {:g}", rate, *setting.momentum) : rate;
}

/// An equal part of all trials. One step is enough for executors whose steps are many batches.
TrialRequest PartOf(const Job& job, const Trials& trials, size_t parts, size_t number) {
  const int64_t batch = job.train.Int("batch");
  const int64_t fewest = StepExamplesOf(job, trials.data.train->Size()) > batch ? 1 : kFewestSteps;
  const std::string folder = fmt::format("{}/tuning-{}", trials.folder, number);
  return {.data = trials.data,
          .run = trials.run,
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

/// Tries the rates of a rule from the middle one on: higher ones until the loss is higher, or else
/// lower ones. Each trial begins where all do.
class Climb {
 public:
  Climb(const Job& job, const Trials& trials)
      : job_(job),
        trials_(trials),
        rates_(RatesOf(job)),
        losses_(rates_.size(), std::numeric_limits<double>::quiet_NaN()),
        entrants_(rates_.size()),
        lengths_(rates_.size()) {
    size_t best = rates_.size() / 2;
    Try(best);
    while (best > 0 && Try(best - 1) < losses_[best]) --best;
    while (best + 1 < rates_.size() && Try(best + 1) < losses_[best]) ++best;
  }

  /// The best ones go on twice as long, then the next ones until the loss of one falls: a rate may
  /// be too high although it began well. Null: all fail, or the search is interrupted.
  const Entrant* Finish() {
    const Entrant *best = nullptr, *risen = nullptr;
    const auto take = [](const Entrant& one, const Entrant*& of) {
      if (!of || one.last.loss < of->last.loss) of = &one;
    };
    for (int finalists = 0; finalists < kFinalists || !best; ++finalists) {
      Entrant* next = Next();
      if (trials_.run.StopIsAsked()) return nullptr;
      if (!next) break;
      const double before = next->last.loss;
      if (!next->last.ended) GoOn(*next);
      finished_.push_back(next);
      if (next->dropped.empty()) take(*next, next->last.loss > before ? risen : best);
    }
    if (!best) best = risen;
    for (const Entrant& one : entrants_)
      if (&one != best && !one.run.empty()) std::filesystem::remove_all(one.run);
    return best;
  }
  double trained() const { return trained_; }

 private:
  /// The one with the lowest loss that has not gone on; if there is none, a lower rate.
  Entrant* Next() {
    Entrant* next = nullptr;
    for (Entrant& one : entrants_)
      if (!one.run.empty() && one.dropped.empty() && std::ranges::count(finished_, &one) == 0 &&
          (!next || one.last.loss < next->last.loss))
        next = &one;
    const auto untried = std::ranges::find_if(losses_.rbegin(), losses_.rend(),
                                              [](double loss) { return !std::isnan(loss); });
    if (next || untried == losses_.rbegin()) return next;
    const auto lower = static_cast<size_t>(losses_.rend() - untried);
    return std::isinf(Try(lower)) ? nullptr : &entrants_[lower];
  }

  void Train(const TrialRequest& request, Entrant& one) {
    one.last = TrialOf(one.job, request);
    one.run = request.folder;
    one.dropped = one.last.failure;
    lengths_[&one - entrants_.data()] += request.steps;
    trained_ += one.last.seconds;
    if (one.dropped.empty())
      trials_.tell(fmt::format("{}: loss {:.4g} after {} steps", one.name, one.last.loss,
                               lengths_[&one - entrants_.data()]));
  }

  void GoOn(Entrant& one) {
    TrialRequest request = PartOf(job_, trials_, kParts, 0);
    request.steps *= 2;
    request.seconds *= 2;
    request.from = request.folder = one.run;
    Train(request, one);
  }

  /// Its loss: infinite if it fails.
  double Try(size_t number) {
    double& loss = losses_[number];
    if (!std::isnan(loss)) return loss;
    loss = std::numeric_limits<double>::infinity();
    if (trials_.run.StopIsAsked()) return loss;
    const Setting setting = {.rate = rates_[number]};
    Entrant& one = entrants_[number];
    one = {.job = WithSetting(job_, setting), .name = TextOf(setting)};
    Train(PartOf(job_, trials_, kParts, number), one);
    if (!one.dropped.empty()) return loss;
    return loss = one.last.loss;
  }

  const Job& job_;
  const Trials& trials_;
  const std::vector<double>& rates_;
  std::vector<double> losses_;  // nan: not tried
  std::vector<Entrant> entrants_;
  std::vector<int64_t> lengths_;  // in steps
  std::vector<const Entrant*> finished_;
  double trained_ = 0;
};

struct Tried {
  Setting setting;
  std::string run;
  Trial trial;
};

void KeepOnly(const Tried& best, const std::vector<Tried>& tried) {
  for (const Tried& one : tried)
    if (&one != &best) std::filesystem::remove_all(one.run);
}

/// Whether the first is better: by loss and, within a tie, by rate and momentum.
bool Better(const Tried& one, const Tried& other) {
  const double a = one.trial.loss, b = other.trial.loss;
  if (std::abs(a - b) > kTie * std::min(a, b)) return a < b;
  return std::pair(one.setting.rate, one.setting.momentum) >
         std::pair(other.setting.rate, other.setting.momentum);
}

}  // namespace

Setting SettingOf(const Job& job) {
  Setting setting = {.rate = job.train.Float("learning_rate")};
  if (const Value* momentum = job.resolved.Find("train")->Find("momentum"))
    setting.momentum = *momentum->AsFloat();
  return setting;
}

Job WithSetting(const Job& job, const Setting& setting) {
  Overrides keys = {PlanKey("train.learning_rate", FormatValue(Value(setting.rate)))};
  if (setting.momentum)
    keys.push_back(PlanKey("train.momentum", FormatValue(Value(*setting.momentum))));
  return WithKeys(job, keys);
}

bool HasRates(const Job& job) { return !RatesOf(job).empty(); }

Tuned FindRate(const Job& job, const Trials& trials) {
  Climb climb(job, trials);
  const Entrant* best = climb.Finish();
  if (!best) return {};
  const double rate = kBelow * SettingOf(best->job).rate;
  return {.best = SettingOf(WithSetting(job, {.rate = rate})),
          .run = best->run,
          .last = best->last,
          .trained = climb.trained()};
}

Tuned FindRateByRange(const Job& job, const Trials& trials) {
  std::vector<double> rates = RatesOf(job);
  std::ranges::reverse(rates);
  std::vector<Tried> tried;
  Tuned found;
  size_t lowest = 0;
  for (const double rate : rates) {
    TrialRequest request = PartOf(job, trials, rates.size(), tried.size());
    if (!tried.empty()) request.from = tried.back().run;
    const Setting setting = {.rate = rate};
    const Trial trial = TrialOf(WithSetting(job, setting), request);
    if (trials.run.StopIsAsked()) return {};
    found.trained += trial.seconds;
    if (!trial.failure.empty()) break;
    trials.tell(fmt::format("{}: loss {:.4g}", TextOf(setting), trial.loss));
    tried.push_back({setting, request.folder, trial});
    if (trial.loss < tried[lowest].trial.loss) lowest = tried.size() - 1;
    if (trial.loss > kRisen * tried[lowest].trial.loss || trial.ended) break;
  }
  if (tried.empty()) return {};
  const Tried& best = tried[lowest > 0 ? lowest - 1 : 0];
  KeepOnly(best, tried);
  found.best = SettingOf(WithSetting(job, best.setting));
  found.run = best.run;
  found.last = best.trial;
  return found;
}

std::vector<Setting> GridAround(const Setting& last) {
  const double momentum = last.momentum.value_or(0);
  std::vector<Setting> grid;
  for (const double one : kMomenta)
    if (one >= momentum) grid.push_back({.rate = kLowerRate * last.rate, .momentum = one});
  for (const double one : kMomenta)
    if (one <= momentum) grid.push_back({.rate = last.rate, .momentum = one});
  return grid;
}

Tuned TuneMomentum(const Job& job, const Trials& trials) {
  const std::vector<Setting> grid = GridAround(SettingOf(job));
  std::vector<Tried> tried;
  std::vector<Setting> diverged;
  Tuned found;
  for (const Setting& setting : grid) {
    if (std::ranges::any_of(diverged, [&](const Setting& bad) {
          return setting.rate >= bad.rate && setting.momentum >= bad.momentum;
        }))
      continue;
    const TrialRequest request = PartOf(job, trials, grid.size(), &setting - grid.data());
    Tried one = {setting, request.folder, TrialOf(WithSetting(job, setting), request)};
    if (trials.run.StopIsAsked()) return {};
    found.trained += one.trial.seconds;
    if (!one.trial.failure.empty()) {
      diverged.push_back(setting);
      continue;
    }
    trials.tell(fmt::format("{}: loss {:.4g}", TextOf(setting), one.trial.loss));
    tried.push_back(std::move(one));
  }
  if (tried.empty()) return {};
  const auto best = std::ranges::min_element(tried, Better);
  KeepOnly(*best, tried);
  found.best = best->setting;
  found.run = best->run;
  found.last = best->trial;
  return found;
}

double ExplicitMomentum(double total, double staleness) {
  return std::max(0.0, 1 - (1 - total) * (1 + staleness));
}

}  // namespace yoke
