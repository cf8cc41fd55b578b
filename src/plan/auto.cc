// Auto: the planner of jobs that leave keys open: when it chooses, and for which processes.
#include <fmt/core.h>

#include <functional>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/files.h"
#include "comm/launcher.h"
#include "plan/auto_choice.h"
#include "plan/omnivore.h"
#include "plan/peers.h"
#include "train/agreement.h"
#include "train/number_format.h"

namespace yoke {
namespace {

constexpr double kLeastUpdates = 250;  // of a search in virtual time
constexpr double kSpare = 1.25;        // times what a search needs: a run pauses for it
const char* const kRate = "train.learning_rate";
const char* const kMomentum = "train.momentum";
constexpr int kMostRetreats = 3;          // of a run that diverges
constexpr double kRetreatRate = 1.0 / 3;  // after each

void RequireOmnivoreFits(const Job& job, const RunRequest& run) {
  const std::string key = job.train.Where("planner");
  Require(Contains(job.open, "cluster.strategy"),
          "{} = \"omnivore\" chooses the strategy: set cluster.strategy = \"auto\"", key);
  Require(
      !run.TimesOnly() && run.steps == 0,
      "{} = \"omnivore\" needs trials, which this run has not: leave out --times-only and --steps",
      key);
}

/// Inside `yoke train` and `yoke simulate`.
class AutoPlanner : public Planner {
 public:
  explicit AutoPlanner(const ClusterFile* cluster) : cluster_(cluster) {}

  Decision Decide(const Job& given, const RunRequest& run) override {
    const double began = Now();
    if (IsOmnivore(given)) RequireOmnivoreFits(given, run);
    run_ = &run;
    open_ = given.open;
    given_ = given;
    tunes_ = {.rate = std::erase(open_, kRate) > 0 && HasRates(given),
              .momentum = std::erase(open_, kMomentum) > 0};
    found_.tunes_momentum = tunes_.momentum;
    Decision decision = {.job = WithKeys(given, {})};
    DecideTogether(decision, [&] {
      folder_.emplace("yoke-plan");
      AutoChoice choice = ChoiceFor(decision, folder_->path());
      if (IsOmnivore(given))
        choice.AsOmnivore("");
      else if (run.TimesOnly() || run.steps > 0)
        choice.ByPrediction();
      else
        choice.ByTrials();
      decision.plan = found_.Text(decision.job);
      if (run.StopIsAsked()) decision.signal = *run.stop_signal;
      if (run.cluster) decision.seconds = found_.trained;
      decision.messages.push_back(
          run.cluster
              ? fmt::format("choosing took {} of simulated training", Duration(found_.trained))
              : fmt::format("choosing took {}", Duration(Now() - began)));
      return true;
    });
    return decision;
  }

  /// Where trials wait, until a search is worth its share of the time, and then each time that the
  /// training has taken as long again.
  double PauseSeconds(const Job& job) const override {
    if (IsOmnivore(job)) return OptimizerEpoch(job);
    const bool waits = TrialsWait(job, *run_) && job.train.Int("replan_epochs") == 0;
    if (!waits || (open_.empty() && !tunes_.momentum)) return 0;
    if (planned_at_ > 0) return planned_at_;
    const double search = run_->cluster ? 2 * kLeastUpdates * found_.update_seconds : kLeastSearch;
    return kSpare / SearchShare(job) * search;
  }

  bool GoesOn(const EndEvent& end, Decision& decision) override {
    decision.messages.clear();
    decision.plan.clear();
    decision.seconds = 0;
    return DecideTogether(decision, [&] {
      if (end.reason == "replan") {
        Replan(end, decision);
        return true;
      }
      return end.reason == "diverged" && Retreat(decision);
    });
  }

 private:
  /// Decides on rank 0 with `work`, whose answer is that of all processes, as is the job.
  bool DecideTogether(Decision& decision, const std::function<bool()>& work) {
    const PeerResult result =
        WithPeers(given_, *run_->data, *run_, [&](const LauncherPeers* others) {
          peers_ = others;
          const bool answer = work();
          return Table{
              {"answer", answer}, {"signal", decision.signal}, {"job", decision.job.resolved}};
        });
    peers_ = nullptr;
    if (result.signal != 0) {  // a run that goes on ends at once
      decision.signal = result.signal;
      return true;
    }
    if (run_->launched && run_->launched->rank() > 0) {
      decision.signal = static_cast<int>(*result.value.Find("signal")->AsInt());
      decision.job = OnThisMachine(*result.value.Find("job"), given_);
    }
    return *result.value.Find("answer")->AsBool();
  }

  AutoChoice ChoiceFor(Decision& decision, const std::string& folder) {
    PlanOrder order = {.job = decision.job, .run = *run_, .peers = peers_, .folder = folder};
    order.cluster = cluster_;
    if (run_->cluster) order.cluster_name = run_->cluster->title;
    order.choices.open = open_;
    order.trial_share = SearchShare(decision.job);
    order.tunes_momentum = tunes_.momentum;
    order.tell = [run = run_](const std::string& text) {
      for (Observer* observer : run->observers) observer->Message(text);
    };
    order.tries_parts = Contains(open_, "node.executor");
    OpenShapes(*run_->data, order);
    return {order, tunes_, found_, decision};
  }

  /// Chooses again in a part of the time since it last chose, if that is long enough.
  void Replan(const EndEvent& end, Decision& decision) {
    const double since = end.seconds - std::exchange(planned_at_, end.seconds);
    const double budget = SearchShare(decision.job) * since;
    // In virtual time a search costs only itself: some updates of each trial.
    const double update =
        found_.update_seconds > 0 ? found_.update_seconds : end.seconds / double(end.step);
    const double least = run_->cluster ? kLeastUpdates * update : kLeastSearch;
    const bool omnivore = IsOmnivore(given_);
    if (!omnivore && ((open_.empty() && !tunes_.momentum) || budget < least)) return;
    const double trained = found_.trained;
    const Job before = decision.job;
    const TemporaryFolder trials("yoke-plan");
    AutoChoice choice = ChoiceFor(decision, trials.path());
    omnivore ? choice.AsOmnivore(end.run) : choice.Again(end.run, budget);
    if (run_->StopIsAsked()) decision.job = before;  // some trials have not trained to their end
    decision.plan = found_.Text(decision.job);
    if (run_->cluster) decision.seconds = found_.trained - trained;
  }

  /// The chosen rate was too high; false: it was not chosen, or has been lowered often enough.
  bool Retreat(Decision& decision) {
    if ((!tunes_.rate && !IsOmnivore(given_)) || retreats_ == kMostRetreats) return false;
    ++retreats_;
    const double rate = kRetreatRate * decision.job.train.Float("learning_rate");
    decision.job = WithSetting(decision.job, {.rate = rate});
    decision.plan = found_.Text(decision.job);
    decision.messages.push_back(fmt::format(
        "training diverged: it goes on from its last checkpoint with learning rate {:.3g}", rate));
    return true;
  }

  const ClusterFile* cluster_;
  const RunRequest* run_ = nullptr;
  Job given_;  // with its open keys
  const LauncherPeers* peers_ = nullptr;
  std::vector<std::string> open_;  // those of [train] apart
  Tunes tunes_;
  Findings found_;
  std::optional<TemporaryFolder> folder_;
  int retreats_ = 0;
  double planned_at_ = 0;  // seconds of training when it last chose
};

}  // namespace

std::unique_ptr<Planner> MakePlanner(const ClusterFile* cluster) {
  return std::make_unique<AutoPlanner>(cluster);
}

}  // namespace yoke
