// Omnivore's optimizer: grids, their skips, and when the number of groups rises and falls.
#include "plan/omnivore.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "base/check.h"
#include "plan/choice.h"
#include "train/job/devices.h"
#include "train/job/parts.h"

namespace yoke {
namespace {

constexpr double kFirstMomentum = 0.9;
constexpr double kFirstRates[] = {0.1, 0.01, 0.001, 0.0001};
constexpr double kGain = 1.1;      // of an update's speed, for more groups
constexpr size_t kLastSteps = 10;  // whose mean loss is a trial's

std::vector<Setting> FirstGrid() {
  std::vector<Setting> grid;
  for (const double rate : kFirstRates) grid.push_back({.rate = rate, .momentum = kFirstMomentum});
  return grid;
}

/// Tries a grid, without what is at least as large in both as a setting that diverged. The place of
/// the best trial, or -1.
int TryGrid(int groups, const std::vector<Setting>& grid, const TryGroups& attempt,
            std::vector<GroupTrial>& trials) {
  int best = -1;
  std::vector<TriedSetting> tried;
  for (const Setting& setting : grid) {
    if (IsBeyond(setting, tried)) continue;
    trials.push_back(attempt(groups, setting));
    tried.push_back(trials.back().tried);
    if (!std::isfinite(tried.back().loss)) continue;
    if (best < 0 || IsBetter(tried.back(), trials[best].tried))
      best = static_cast<int>(trials.size()) - 1;
  }
  return best;
}

/// The mean loss of a trial's last steps.
double LastLoss(const Trial& trial) {
  if (!trial.failure.empty()) return std::numeric_limits<double>::infinity();
  const size_t count = std::min(kLastSteps, trial.curve.size());
  double sum = 0;
  for (size_t i = trial.curve.size() - count; i < trial.curve.size(); ++i)
    sum += trial.curve[i].loss;
  return sum / static_cast<double>(count);
}

/// The groups that the job's workers can form: 1, 2, 4, ... that divide their number.
std::vector<int> GroupsToTry(const Job& job) {
  const auto workers = static_cast<int>(job.cluster.Int("replicas"));
  std::vector<int> groups;
  for (int number = 1; number <= workers; number *= 2)
    if (workers % number == 0) groups.push_back(number);
  return groups;
}

/// Trials of a job, and the plan that they make.
class Searcher {
 public:
  Searcher(const OmnivoreOrder& order, std::string from)
      : order_(order.order), data_(order.data), seconds_(order.seconds), from_(std::move(from)) {
    const Job& job = order_.job;
    Require(SettingOf(job).momentum.has_value(),
            "{} = \"{}\": Omnivore's optimizer chooses its momentum; expected momentum or nesterov",
            job.train.Where("rule"), job.train.String("rule"));
    serves_head_ = DevicesOf(job).all() == std::vector<Device*>{&Cpu()} &&
                   BuildModel(job.model(), TaskOf(data_.train->Info())).Cut().has_value();
  }

  TryGroups Trials() {
    return [this](int groups, const Setting& setting) { return Try(groups, setting); };
  }

  Plan PlanOf(const GroupSearch& search) const {
    if (order_.run.StopIsAsked()) return {};
    Require(search.best >= 0, "no trial of Omnivore's optimizer has trained: {}", failure_);
    Plan plan;
    for (const GroupTrial& trial : search.trials) plan.candidates.push_back(CandidateOf(trial));
    const GroupTrial& best = search.trials[search.best];
    for (const GroupTrial& trial : search.trials)
      if (&trial != &best) std::filesystem::remove_all(trial.run);
    plan.machine = order_.cluster_name;
    // One that has trained to the end has not done so as the job says.
    if (!best.ended) plan.progress = best.run;
    Choose(&plan.candidates[search.best], nullptr, 1, kLosses, plan);
    ShowFirst(plan);
    return plan;
  }

 private:
  Overrides KeysOfGroups(int groups, const Setting& setting) const {
    Overrides keys = KeysOf(setting);
    keys.push_back(PlanKey("cluster.strategy", "compute_groups", /*text=*/true));
    keys.push_back(PlanKey("cluster.form", "paper", /*text=*/true));
    keys.push_back(PlanKey("cluster.groups", std::to_string(groups)));
    if (serves_head_) keys.push_back(PlanKey("cluster.served_head", "true"));
    return keys;
  }

  GroupTrial Try(int groups, const Setting& setting) {
    GroupTrial result = {.groups = groups, .tried = {.setting = setting}};
    result.tried.loss = std::numeric_limits<double>::infinity();
    if (order_.run.StopIsAsked()) return result;
    const Job job = WithKeys(order_.job, KeysOfGroups(groups, setting));
    result.run = fmt::format("{}/groups-{}", order_.folder, number_++);
    const Trial trial = RunTrial(job, {.data = data_,
                                       .run = order_.run,
                                       .peers = order_.peers,
                                       .from = from_,
                                       .folder = result.run,
                                       .seconds = seconds_,
                                       .each_step = true});
    if (trial.refused) std::rethrow_exception(trial.refused);
    if (trial.curve.empty())
      throw Error(
          fmt::format("a trial of {:.2g} s ended before its first step: Omnivore's optimizer needs "
                      "longer ones (--trial-seconds, or train.optimizer_epoch)",
                      seconds_));
    if (failure_.empty()) failure_ = trial.failure;
    result.tried.loss = LastLoss(trial);
    result.ended = trial.ended;
    result.seconds = trial.seconds;
    result.seconds_per_update =
        trial.seconds_per_example * static_cast<double>(job.train.Int("batch"));
    order_.tell(fmt::format("{} group{}, learning rate {:g}, momentum {:g}: loss {:.4g}", groups,
                            groups == 1 ? "" : "s", setting.rate, *setting.momentum,
                            result.tried.loss));
    return result;
  }

  Candidate CandidateOf(const GroupTrial& trial) const {
    const Setting& setting = trial.tried.setting;
    Candidate one = {.keys = KeysOfGroups(trial.groups, setting),
                     .name = fmt::format("compute_groups groups={}, rate {:g}, momentum {:g}",
                                         trial.groups, setting.rate, *setting.momentum),
                     .executor = order_.job.node.String("executor"),
                     .strategy = "compute_groups",
                     .precision = order_.job.node.String("precision")};
    one.trained = trial.seconds;
    one.measured = trial.seconds_per_update;
    if (std::isfinite(trial.tried.loss))
      one.loss = trial.tried.loss;
    else
      one.dropped = "its trial diverged";
    return one;
  }

  const PlanOrder& order_;
  const DataSets& data_;
  const double seconds_;  // of each trial
  const std::string from_;
  bool serves_head_ = false;
  int number_ = 0;
  std::string failure_;  // the first one
};

}  // namespace

GroupSearch FindColdStart(const std::vector<int>& groups, const TryGroups& attempt) {
  GroupSearch search;
  Setting last;
  double seconds = 0;  // of an update, with fewer groups
  for (const int number : groups) {
    const bool first = number == groups.front();
    const int best =
        TryGrid(number, first ? FirstGrid() : GridAround(last), attempt, search.trials);
    if (best < 0) break;
    const GroupTrial& its = search.trials[best];
    if (search.best < 0 || its.tried.loss < search.trials[search.best].tried.loss)
      search.best = best;
    if (!first && its.seconds_per_update * kGain >= seconds) break;
    search.most_groups = number;
    last = its.tried.setting;
    seconds = its.seconds_per_update;
  }
  return search;
}

GroupSearch FindSteadyState(int groups, const Setting& last, const TryGroups& attempt) {
  GroupSearch search;
  Setting around = last;
  for (;; groups /= 2, around.momentum = kMomentumOfFewerGroups) {
    const int of_these = TryGrid(groups, GridAround(around), attempt, search.trials);
    if (of_these < 0) return search;  // the best of more groups stays
    search.best = of_these;
    const Setting& best = search.trials[search.best].tried.setting;
    if (groups == 1 || *best.momentum > 0) return search;
    around.rate = best.rate;
  }
}

int ColdStartTrials(const Job& job) {
  constexpr size_t kOfAGrid = 5;  // GridAround
  return static_cast<int>(std::size(kFirstRates) + kOfAGrid * (GroupsToTry(job).size() - 1));
}

bool IsOmnivore(const Job& job) { return job.train.String("planner") == "omnivore"; }

double OptimizerEpoch(const Job& job) {
  return ParseDuration(job.train.String("optimizer_epoch"), "train.optimizer_epoch");
}

Plan OmnivoreColdStart(const OmnivoreOrder& order, int& most_groups) {
  Searcher searcher(order, "");
  const GroupSearch search = FindColdStart(GroupsToTry(order.order.job), searcher.Trials());
  most_groups = search.most_groups;
  return searcher.PlanOf(search);
}

Plan OmnivoreSteadyState(const OmnivoreOrder& order, const std::string& from, int most_groups) {
  Searcher searcher(order, from);
  return searcher.PlanOf(
      FindSteadyState(most_groups, SettingOf(order.order.job), searcher.Trials()));
}

}  // namespace yoke
