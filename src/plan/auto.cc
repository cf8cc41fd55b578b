// Auto: the planner of jobs that leave keys open. Rate and momentum by trials of some steps; then
// the parts, if the training is long enough for a search.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "comm/launcher.h"
#include "plan/peers.h"
#include "plan/planner.h"
#include "plan/trials.h"
#include "plan/tuning.h"
#include "train/agreement.h"
#include "train/number_format.h"

namespace yoke {
namespace {

constexpr double kLeastSearch = 4;                   // seconds: a shorter search tells nothing
constexpr double kLeastSpeeds = 2 * kShortestTrial;  // of trials of two precisions
constexpr double kLeastUpdates = 250;                // of a search in virtual time
constexpr double kFirstTrial = 1;      // seconds of the default's training before a search
constexpr double kLongestProfile = 3;  // seconds
constexpr double kForTrials = 0.7;     // of a search's time
constexpr double kSearchShare = 0.1;   // of the training, where the job does not say
/// Steps of tuning: at least the smaller of these, where the job does not say.
constexpr double kTuningSteps = 600, kTuningShare = 0.4;
constexpr double kMostTuningSteps = 2000;
const char* const kRate = "train.learning_rate";
const char* const kMomentum = "train.momentum";
constexpr int kMostRetreats = 3;        // of a run that diverges
constexpr double kLowerRate = 1.0 / 3;  // after each

Override CosineSchedule() { return PlanKey("train.schedule", R"({ name = "cosine" })"); }

/// Keys of [train] that are open.
struct Tunes {
  bool rate = false, momentum = false;
  bool any() const { return rate || momentum; }
};

/// Inside `yoke train` and `yoke simulate`.
class AutoPlanner : public Planner {
 public:
  explicit AutoPlanner(const ClusterFile* cluster) : cluster_(cluster) {}

  Decision Decide(const Job& given, const RunRequest& run) override {
    began_ = Now();
    run_ = &run;
    open_ = given.open;
    given_ = given;
    const Tunes tunes = {.rate = std::erase(open_, kRate) > 0 && HasRates(given),
                         .momentum = std::erase(open_, kMomentum) > 0};
    chose_rate_ = tunes.rate;
    tunes_momentum_ = tunes.momentum;
    Decision decision = {.job = WithKeys(given, {})};
    DecideTogether(decision, [&] {
      folder_.emplace("yoke-plan");
      PlanOrder order = OrderOf(decision.job, folder_->path());
      if (!order.choices.open.empty()) TakeFitting(order, decision);
      if (run.times_only || run.steps > 0)
        Predict(order, *run.data, tunes, decision);
      else
        Choose(order, *run.data, tunes, decision);
      WritePlan(decision);
      if (run.StopIsAsked()) decision.signal = *run.stop_signal;
      if (run.cluster) decision.seconds = trained_;
      decision.messages.push_back(
          run.cluster ? fmt::format("choosing took {} of simulated training", Duration(trained_))
                      : fmt::format("choosing took {}", Duration(Now() - began_)));
      return true;
    });
    return decision;
  }

  bool GoesOn(const EndEvent& end, Decision& decision) override {
    decision.messages.clear();
    decision.plan.clear();
    decision.seconds = 0;
    return DecideTogether(decision, [&] {
      if (end.reason == "replan") {
        const double trained = trained_;
        if (Replan(end, decision)) WritePlan(decision);
        if (run_->cluster) decision.seconds = trained_ - trained;
        return true;
      }
      if (!chose_rate_ || end.reason != "diverged" || retreats_ == kMostRetreats) return false;
      ++retreats_;
      const double rate = kLowerRate * decision.job.train.Float("learning_rate");
      decision.job = WithSetting(decision.job, {.rate = rate});
      WritePlan(decision);
      decision.messages.push_back(fmt::format(
          "training diverged: it goes on from its last checkpoint with learning rate {:.3g}",
          rate));
      return true;
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

  PlanOrder OrderOf(const Job& job, const std::string& folder) const {
    PlanOrder order = {.job = job, .run = *run_, .peers = peers_, .folder = folder};
    order.cluster = cluster_;
    if (run_->cluster) order.cluster_name = run_->cluster_title;
    order.choices.open = open_;
    order.trial_share = SearchShare(job);
    order.tunes_momentum = tunes_momentum_;
    order.tell = [run = run_](const std::string& text) {
      for (Observer* observer : run->observers) observer->Message(text);
    };
    return order;
  }

  /// Chooses again by trials from the run's last checkpoint, in a part of the time since it last
  /// chose, if that is long enough; whether it is.
  bool Replan(const EndEvent& end, Decision& decision) {
    const double since = end.seconds - std::exchange(planned_at_, end.seconds);
    const double budget = SearchShare(decision.job) * since;
    // In virtual time a search costs only itself: some updates of each trial.
    const double least =
        run_->cluster ? kLeastUpdates * end.seconds / double(end.step) : kLeastSearch;
    if ((open_.empty() && !tunes_momentum_) || budget < least) return false;
    began_ = Now();
    const TemporaryFolder trials("yoke-plan");
    const Job job = decision.job;
    PlanOrder order = OrderOf(job, trials.path());
    if (open_.empty()) {
      Take(TuneMomentum(job, {.data = *run_->data,
                              .run = *run_,
                              .peers = peers_,
                              .from = end.run,
                              .folder = trials.path(),
                              .seconds = budget,
                              .tell = order.tell}),
           "the best of the grid", decision);
      return true;
    }
    Spend(budget, order);
    Take(MeasureAndSearch(order, *run_->data, end.run), decision);
    return true;
  }

  static void Spend(double budget, PlanOrder& order) {
    order.profile_seconds = std::min(kLongestProfile, (1 - kForTrials) / 2 * budget);
    order.trial_seconds = kForTrials * budget;
  }

  /// Where the default does not fit the job or its devices, the first candidate that does stands
  /// for it.
  static void TakeFitting(const PlanOrder& order, Decision& decision) {
    const std::vector<Candidate> all = MakeCandidates(order.job, order.choices);
    const auto first =
        std::ranges::find_if(all, [](const Candidate& one) { return one.dropped.empty(); });
    decision.job = WithKeys(decision.job, first->keys);
  }

  /// Rate and momentum first, by steps, so that they do not depend on time. Then the parts, if the
  /// whole is long enough: its length follows from the last trial's speed.
  void Choose(PlanOrder& order, const DataSets& data, const Tunes& tunes, Decision& decision) {
    Trial last;
    // Where parts are open, the search tunes the momentum of the chosen one.
    const Tunes first = {tunes.rate, tunes.momentum && order.choices.open.empty()};
    if (!first.any() && order.choices.open.empty()) return;
    if (first.any()) {
      last = Tune(order, data, first, decision);
    } else if (!order.run.cluster) {
      const std::string run = order.folder + "/default";
      last = FirstTrial(order, data, decision.job, run, kFirstTrial);
      if (last.failure.empty()) decision.progress = run;
    }
    order.example_seconds = last.seconds_per_example;
    // One that has trained to the end has not done so as the job says.
    if (last.ended) decision.progress.clear();
    const bool trains =
        last.failure.empty() && !last.ended && (order.run.cluster || last.seconds_per_example > 0);
    if (order.run.StopIsAsked() || order.choices.open.empty() || !trains) return;
    if (order.run.cluster) {  // prices are in virtual time: they say how long the whole takes
      order.trial_seconds = std::numeric_limits<double>::infinity();
      Take(MeasureAndSearch(order, data, decision.progress), decision);
      return;
    }
    double whole = last.seconds_per_example *
                   static_cast<double>(decision.job.train.Int("epochs")) *
                   static_cast<double>(data.train->Size());
    if (const double limit = LimitOf(decision.job); limit > 0) whole = std::min(whole, limit);
    const double budget = SearchShare(decision.job) * whole;
    if (budget < kLeastSearch) {
      SearchShort(budget, whole, order, data, decision);
      if (tunes.momentum) Tune(order, data, {.rate = false, .momentum = true}, decision);
      return;
    }
    Spend(budget, order);
    Take(MeasureAndSearch(order, data, decision.progress), decision);
  }

  /// Where there is no time for a search: the precision alone, or nothing.
  void SearchShort(double budget, double whole, PlanOrder& order, const DataSets& data,
                   Decision& decision) {
    if (budget < kLeastSpeeds) {
      decision.messages.push_back(fmt::format(
          "training takes about {}, too short to search: it keeps the defaults, executor {}, "
          "strategy {}, {}",
          Duration(whole), decision.job.node.String("executor"),
          decision.job.cluster.String("strategy"), decision.job.node.String("precision")));
      return;
    }
    decision.messages.push_back(fmt::format(
        "training takes about {}, too short for a search: only precisions are compared, by "
        "their speed",
        Duration(whole)));
    order.trial_seconds = budget;
    Take(SearchBySpeed(order, data, decision.progress), decision);
  }

  /// Of the job as it is.
  Trial FirstTrial(const PlanOrder& order, const DataSets& data, const Job& job,
                   const std::string& folder, double seconds) {
    Trial trial = RunTrial(job, {.data = data,
                                 .run = order.run,
                                 .peers = order.peers,
                                 .folder = folder,
                                 .seconds = seconds});
    trained_ += seconds;
    return trial;
  }

  /// The last trial of the best setting.
  Trial Tune(const PlanOrder& order, const DataSets& data, const Tunes& tunes, Decision& decision) {
    Trials trials = {.data = data,
                     .run = order.run,
                     .peers = order.peers,
                     .folder = order.folder + "/rates",
                     .seconds = kTuningShare * LimitOf(decision.job),
                     .steps = TuningSteps(decision.job, data),
                     .tell = order.tell};
    if (trials.seconds > 0 && !order.run.cluster) {  // so many steps as the time allows
      const std::string run = order.folder + "/speed";
      const Trial speed =
          FirstTrial(order, data, decision.job, run, std::min(kFirstTrial, trials.seconds / 10));
      std::filesystem::remove_all(run);
      const double step = speed.seconds_per_example * static_cast<double>(data.train->Size()) /
                          StepsPerEpoch(decision.job, data);
      const int64_t most = step > 0 ? std::llround(trials.seconds / step) : 0;
      trials.steps = std::min(trials.steps, most);
    }
    if (trials.steps == 0) {
      decision.messages.push_back(NoTrials(decision.job, data));
      return {};
    }
    trials.from = decision.progress;
    Tuned tuned;
    if (tunes.rate) {
      TellCost(trials, decision.job);
      const bool range = decision.job.train.String("tuning") == "range";
      tuned = (range ? FindRateByRange : FindRate)(decision.job, trials);
      Take(tuned, "whose loss fell fastest", decision);
      if (tuned.run.empty()) return {};
      if (!decision.job.train.Has("schedule")) {
        decision.job = WithKeys(decision.job, {CosineSchedule()});
        chose_schedule_ = true;
      }
    }
    if (tunes.momentum && !tuned.last.ended) {
      trials.from = decision.progress;
      trials.folder = order.folder + "/momenta";
      trials.steps /= 2;
      trials.seconds /= 2;
      tuned = TuneMomentum(decision.job, trials);
      Take(tuned, "the best of the grid", decision);
    }
    return tuned.last;
  }

  static std::string NoTrials(const Job& job, const DataSets& data) {
    const double rate = job.train.Float("learning_rate");
    if (TuningSteps(job, data) > 0)
      return fmt::format("there is no time for trials: the learning rate is {:g}", rate);
    return fmt::format(
        "train.search_share allows {:.0f} steps of trials, which need {}: the learning rate is "
        "{:g}",
        SearchShare(job) * StepsOf(job, data), FewestTuningSteps(job, data), rate);
  }

  /// Says so if trials take more than the usual share, and why.
  static void TellCost(const Trials& trials, const Job& job) {
    const double all = StepsOf(job, trials.data);
    if (static_cast<double>(trials.steps) <= SearchShare(job) * all + 1) return;
    trials.tell(
        fmt::format("trials of the learning rate take up to {} of {:.0f} steps, because fewer do "
                    "not tell rates apart; the best one's count as training (train.search_share "
                    "limits them)",
                    trials.steps, all));
  }

  void Take(const Tuned& tuned, const char* why, Decision& decision) {
    if (tuned.run.empty()) {
      if (!run_->StopIsAsked())
        decision.messages.push_back(
            fmt::format("no trial has trained: the learning rate stays at {:g}",
                        decision.job.train.Float("learning_rate")));
      return;
    }
    trained_ += tuned.trained;
    tried_.insert(tried_.end(), tuned.tried.begin(), tuned.tried.end());
    decision.job = WithSetting(decision.job, tuned.best);
    decision.progress = tuned.run;
    const std::string momentum =
        tuned.best.momentum ? fmt::format(", momentum {:g}", *tuned.best.momentum) : "";
    decision.messages.push_back(
        fmt::format("learning rate {:g}{}, {}", tuned.best.rate, momentum, why));
  }

  /// Rate, momentum and schedule of the decided job, as far as they were open.
  Overrides TunedKeys(const Job& job) const {
    const Setting setting = SettingOf(job);
    Overrides keys;
    if (!tried_.empty()) keys = KeysOf(tunes_momentum_ ? setting : Setting{.rate = setting.rate});
    if (chose_schedule_) keys.push_back(CosineSchedule());
    return keys;
  }

  /// The settings tried, for the plan.
  Value TriedList() const {
    List list;
    for (const TriedSetting& one : tried_) {
      Table table = {{"learning_rate", Value(one.setting.rate)}};
      if (one.setting.momentum) table.emplace_back("momentum", Value(*one.setting.momentum));
      if (std::isfinite(one.loss))
        table.emplace_back("loss", Value(one.loss));
      else
        table.emplace_back("diverged", Value(true));
      if (one.steps > 0) table.emplace_back("steps", Value(one.steps));
      list.emplace_back(std::move(table));
    }
    return Value(std::move(list));
  }

  /// The candidates, if parts were searched, and the settings tried.
  void WritePlan(Decision& decision) const {
    if (!plan_ && tried_.empty()) return;
    const Overrides tuned = TunedKeys(decision.job);
    Table root;
    if (plan_) {
      Plan whole = *plan_;
      whole.keys.insert(whole.keys.end(), tuned.begin(), tuned.end());
      decision.plan = FormatPlan(whole, "yoke train");
    } else {
      decision.plan = "# Written by: yoke train\n";
      root.emplace_back("use", UseTable(tuned));
    }
    if (!tried_.empty()) root.emplace_back("tried", TriedList());
    decision.plan += FormatToml(Value(std::move(root)));
  }

  /// Of the training time in seconds; 0: none.
  static double LimitOf(const Job& job) {
    return job.train.Has("time_limit") ? ParseDuration(job.train.String("time_limit"), "") : 0;
  }

  static double SearchShare(const Job& job) {
    return job.train.Has("search_share") ? job.train.Float("search_share") : kSearchShare;
  }

  /// Of the whole training.
  static double StepsOf(const Job& job, const DataSets& data) {
    return static_cast<double>(job.train.Int("epochs")) * StepsPerEpoch(job, data);
  }

  /// Steps of all trials for the rate; 0: none.
  static int64_t TuningSteps(const Job& job, const DataSets& data) {
    const double all = StepsOf(job, data),
                 steps = std::min(SearchShare(job) * all, kMostTuningSteps);
    const int64_t fewest = FewestTuningSteps(job, data);
    if (job.train.Has("search_share")) return steps < double(fewest) ? 0 : std::llround(steps);
    return std::llround(std::max({steps, std::min(kTuningSteps, kTuningShare * all), 1.0}));
  }

  /// Without trials: for times only, and for a number of steps.
  void Predict(PlanOrder& order, const DataSets& data, const Tunes& tunes, Decision& decision) {
    if (tunes.any())
      decision.messages.push_back(
          fmt::format("learning rate and momentum need trials, which this run has not: the rate is "
                      "{:g}",
                      decision.job.train.Float("learning_rate")));
    order.trial_seconds = 0;
    if (!order.choices.open.empty()) Take(MeasureAndSearch(order, data, ""), decision);
  }

  void Take(Plan plan, Decision& decision) {
    plan.seconds = Now() - began_;
    decision.messages.insert(decision.messages.end(), plan.notes.begin(), plan.notes.end());
    for (const Candidate& one : plan.candidates) trained_ += one.trained;
    decision.job = WithKeys(decision.job, plan.keys);
    if (!plan.progress.empty()) decision.progress = plan.progress;
    if (!plan.candidates.empty()) plan_ = std::move(plan);
  }

  const ClusterFile* cluster_;
  const RunRequest* run_ = nullptr;
  Job given_;  // with its open keys
  const LauncherPeers* peers_ = nullptr;
  std::vector<std::string> open_;  // learning_rate apart
  std::optional<TemporaryFolder> folder_;
  double began_ = 0;
  double trained_ = 0;  // seconds of all trials
  bool chose_rate_ = false;
  bool tunes_momentum_ = false;
  std::vector<TriedSetting> tried_;
  bool chose_schedule_ = false;
  std::optional<Plan> plan_;  // the last one
  int retreats_ = 0;
  double planned_at_ = 0;  // seconds of training when it last chose
};

}  // namespace

std::unique_ptr<Planner> MakePlanner(const ClusterFile* cluster) {
  return std::make_unique<AutoPlanner>(cluster);
}

}  // namespace yoke
