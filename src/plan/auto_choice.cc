// AutoChoice: rate and momentum by trials of some steps; then the parts, if the training is long
// enough for a search.
#include "plan/auto_choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "plan/choice.h"
#include "plan/measured_job.h"
#include "plan/omnivore.h"
#include "plan/rates_apart.h"
#include "train/number_format.h"
#include "train/run_limits.h"

namespace yoke {
namespace {

constexpr double kLeastSpeeds = 2 * kShortestTrial;  // seconds of trials of two precisions
constexpr double kFirstTrial = 1;      // seconds of the default's training before a search
constexpr double kLongestProfile = 3;  // seconds
constexpr double kForTrials = 0.7;     // of a search's time
constexpr double kForRates = 1.0 / 3;  // of that time, on replicas apart, where it is known
/// Of all trials of the parts together in virtual time: fewer tell nothing.
constexpr double kFewestTrialUpdates = 200;
constexpr int64_t kFirstSteps = 50;    // in virtual time, in place of kFirstTrial
constexpr int64_t kTogetherSteps = 8;  // of each team, after each replica has trained alone
constexpr double kFarFaster = 1.2;     // times as fast: it is believed without trials
const char* const kTrialsWait =
    "the training may end early: trials wait until a pause is worth them";

/// Of the training by its time limit and by the time of an example.
double SecondsOf(const Job& job, const DataSets& data, double example_seconds) {
  const double whole = example_seconds * static_cast<double>(job.train.Int("epochs")) *
                       static_cast<double>(data.train->Size());
  const double limit = TimeLimitOf(job);
  return limit > 0 ? std::min(whole, limit) : whole;
}

}  // namespace

bool TrialsWait(const Job& job, const RunRequest& run) {
  return MayEndEarly(job) && SearchShare(job) > 0 && run.steps == 0 && !run.NodesFail();
}

AutoChoice::AutoChoice(const PlanOrder& order, const Tunes& tunes, Findings& found,
                       Decision& decision)
    : order_(order),
      data_(*order.run.data),
      tunes_(tunes),
      found_(found),
      decision_(decision),
      began_(Now()) {
  if (found.given_rate == 0) found.given_rate = SettingOf(order.job).rate;
}

/// Where the default does not fit the job or its devices, the first candidate that does stands for
/// it.
void AutoChoice::TakeFitting() {
  if (order_.choices.open.empty()) return;
  const std::vector<Candidate> all = MakeCandidates(order_.job, order_.choices);
  const auto first = std::ranges::find_if(all, &Candidate::IsLeft);
  decision_.job = WithKeys(decision_.job, first->keys);
}

void AutoChoice::ByTrials() {
  TakeFitting();
  const bool parts = !order_.choices.open.empty();
  if (!tunes_.any() && !parts) return;
  priced_ = parts && order_.run.cluster && HasPrices(order_, data_);
  const bool wait = TrialsWait(decision_.job, order_.run);
  if (priced_ && (tunes_.rate || wait)) return OnACluster();
  if (wait && (parts || tunes_.momentum)) Note(kTrialsWait);
  if (wait && !tunes_.rate && !order_.run.cluster) return;
  const Trial last = FirstTrials(wait);  // in virtual time it says when to pause
  order_.example_seconds = last.seconds_per_example;
  found_.update_seconds = last.seconds_per_example * ExamplesPerUpdate(decision_.job);
  // One that has trained to the end has not done so as the job says.
  if (last.ended) decision_.progress.clear();
  const bool trains =
      last.failure.empty() && !last.ended && (priced_ || last.seconds_per_example > 0);
  if (parts && trains && !wait && !StopIsAsked()) SearchParts(last);
}

/// The parts with the shortest predicted time first. Trials take `search_share` of that time in
/// all: those of the rate, and those of the parts, in which the job's own take part, what they have
/// left.
void AutoChoice::OnACluster() {
  const Job given = decision_.job;
  order_.trial_seconds = 0;
  Take(MeasureAndSearch(order_, data_, ""));
  if (StopIsAsked()) return;
  const Trial last = tunes_.rate ? Tune({.rate = true, .momentum = false}) : Trial();
  if (last.ended) decision_.progress.clear();
  if (!last.failure.empty() || last.ended || StopIsAsked()) return;
  if (TrialsWait(given, order_.run)) {
    WithoutTrials(given, kTrialsWait);
    found_.update_seconds = found_.plan->best().seconds_per_update;
    return;
  }
  const Candidate best = found_.plan->best();
  order_.trial_share -= found_.trained / best.Seconds();
  if (order_.trial_share * best.updates < kFewestTrialUpdates)
    return WithoutTrials(given,
                         "trials of the learning rate leave too little of train.search_share for "
                         "trials of the parts");
  std::erase_if(decision_.messages,
                [&](const std::string& note) { return Contains(found_.plan->notes, note); });
  GiveEachItsRate();
  Overrides keys = KeysOf({.rate = SettingOf(decision_.job).rate});
  if (found_.chose_schedule) keys.push_back(CosineSchedule());
  decision_.job = WithKeys(given, keys);
  order_.trial_seconds = std::numeric_limits<double>::infinity();
  Take(MeasureAndSearch(order_, data_, decision_.progress));
}

/// The job's own parts stay, unless others are predicted to be far faster. `given`: with these
/// parts, before its rate was tuned for the others.
void AutoChoice::WithoutTrials(const Job& given, const char* why) {
  Note(why);
  Plan& plan = *found_.plan;
  Candidate& best = plan.candidates[plan.chosen];
  const auto standard = std::ranges::find_if(plan.candidates, &Candidate::is_default);
  const double times = standard->Seconds() / best.Seconds();
  if (best.is_default || standard->seconds_per_update == 0 || times >= kFarFaster) return;
  Job job = WithKeys(given, standard->keys);
  if (const double rate = RateThatFits(decision_.job, job); rate > 0)
    job = WithSetting(job, {.rate = rate});
  else
    decision_.progress.clear();  // of a run with another rate
  best.dropped = fmt::format(
      "predicted {:.2f} times as fast as the default, too little without trials", times);
  Note(fmt::format("{} stays, with learning rate {:g}: {} is {}", standard->name,
                   SettingOf(job).rate, best.name, best.dropped));
  standard->dropped.clear();
  plan.chosen = static_cast<int>(standard - plan.candidates.begin());
  plan.keys = standard->keys;
  ShowFirst(plan);
  decision_.job = found_.chose_schedule ? WithKeys(job, {CosineSchedule()}) : job;
}

/// What trials of the rate, which ended in the job `tuned`, say for other parts; 0: nothing,
/// because they had another rule or momentum.
double AutoChoice::RateThatFits(const Job& tuned, const Job& job) const {
  const auto rule = [](const Job& of) { return OneReplicaOf(of).train.String("rule"); };
  const Setting its = SettingOf(tuned);
  if (rule(job) != rule(tuned) || SettingOf(job).momentum != its.momentum) return 0;
  return IsTunedApart()
             ? RateOfReplicas(WithSetting(job, {.rate = found_.given_rate}), found_.tried)
             : its.rate;
}

/// In a search after trials of the rate, in which replicas were apart.
void AutoChoice::GiveEachItsRate() {
  if (tunes_.rate && IsTunedApart() && !found_.tried.empty())
    order_.rate_of = [this, tuned = decision_.job](const Job& job) {
      return RateThatFits(tuned, job);
    };
}

/// The last of them. `wait`: those of the momentum wait.
Trial AutoChoice::FirstTrials(bool wait) {
  // Where parts are open, the search tunes the momentum of the chosen one.
  const bool parts = !order_.choices.open.empty();
  const Tunes first = {tunes_.rate, tunes_.momentum && !parts && !wait};
  if (first.any()) {
    Trial last = Tune(first);
    const bool apart = first.rate && IsTunedApart() && !found_.tried.empty();
    return apart && (parts || wait) && !StopIsAsked() ? TrainOn() : last;
  }
  if (priced_) return {};
  const std::string run = order_.folder + "/default";
  Trial trial = TrainDefault(run, kFirstTrial);
  if (trial.failure.empty()) decision_.progress = run;
  return trial;
}

/// Replicas that are not threads of this process each test a rate, unless the job asks for a range
/// test.
bool AutoChoice::IsTunedApart() const {
  const Job& job = decision_.job;
  return (order_.run.cluster || order_.peers) && job.cluster.Int("replicas") > 1 &&
         job.train.String("tuning") != "range";
}

/// The first updates of all replicas, which tell how long an example takes.
Trial AutoChoice::TrainOn() {
  const std::string run = order_.folder + "/together";
  Trial trial = RunTrial(decision_.job, {.data = data_,
                                         .run = order_.run,
                                         .peers = order_.peers,
                                         .from = decision_.progress,
                                         .folder = run,
                                         .steps = kTogetherSteps * TeamsOf(decision_.job)});
  found_.trained += trial.seconds;
  if (trial.failure.empty())
    decision_.progress = run;
  else if (!StopIsAsked())
    Note(fmt::format("nothing else is compared: all replicas together do not train: {}",
                     trial.failure));
  return trial;
}

/// In virtual time so many steps instead.
Trial AutoChoice::TrainDefault(const std::string& folder, double seconds) {
  const bool virtual_time = order_.run.cluster;
  Trial trial = RunTrial(decision_.job, {.data = data_,
                                         .run = order_.run,
                                         .peers = order_.peers,
                                         .folder = folder,
                                         .seconds = virtual_time ? 0 : seconds,
                                         .steps = virtual_time ? kFirstSteps : 0});
  found_.trained += virtual_time ? trial.seconds : seconds;
  return trial;
}

void AutoChoice::SearchParts(const Trial& last) {
  GiveEachItsRate();
  if (priced_) {  // prices are in virtual time: they say how long the whole takes
    order_.trial_seconds = std::numeric_limits<double>::infinity();
    return Take(MeasureAndSearch(order_, data_, decision_.progress));
  }
  const double whole = SecondsOf(decision_.job, data_, last.seconds_per_example);
  const double budget = SearchShare(decision_.job) * whole;
  const double update = last.seconds_per_example * ExamplesPerUpdate(decision_.job);
  const double least = order_.run.cluster ? kFewestTrialUpdates * update : kLeastSearch;
  if (budget < least) return SearchShort(budget, whole);
  Spend(budget);
  Take(MeasureAndSearch(order_, data_, decision_.progress));
}

/// Where there is no time for a search: the precision alone, or nothing. Then the momentum.
void AutoChoice::SearchShort(double budget, double whole) {
  const Job& job = decision_.job;
  if (order_.run.cluster || budget < kLeastSpeeds) {
    Note(
        fmt::format("training takes about {}, too short to search: it keeps the defaults, "
                    "executor {}, strategy {}, {}",
                    Duration(whole), job.node.String("executor"), job.cluster.String("strategy"),
                    job.node.String("precision")));
  } else {
    Note(
        fmt::format("training takes about {}, too short for a search: only precisions are "
                    "compared, by their speed",
                    Duration(whole)));
    order_.trial_seconds = budget;
    Take(SearchBySpeed(order_, data_, decision_.progress));
  }
  if (tunes_.momentum) Tune({.rate = false, .momentum = true});
}

void AutoChoice::Spend(double budget) {
  order_.profile_seconds = std::min(kLongestProfile, (1 - kForTrials) / 2 * budget);
  order_.trial_seconds = kForTrials * budget;
}

void AutoChoice::ByPrediction() {
  TakeFitting();
  if (tunes_.any())
    Note(
        fmt::format("learning rate and momentum need trials, which this run has not: the rate is "
                    "{:g}",
                    decision_.job.train.Float("learning_rate")));
  order_.trial_seconds = 0;
  if (!order_.choices.open.empty()) Take(MeasureAndSearch(order_, data_, ""));
}

void AutoChoice::AsOmnivore(const std::string& from) {
  constexpr double kTrial = 1.0 / 50;  // five trials are a tenth of an optimizer epoch
  if (from.empty()) TakeFitting();
  const OmnivoreOrder order = {
      .order = order_, .data = data_, .seconds = kTrial * OptimizerEpoch(order_.job)};
  if (from.empty()) return Take(OmnivoreColdStart(order, found_.most_groups));
  try {
    Take(OmnivoreSteadyState(order, from, found_.most_groups));
  } catch (const Error& none) {
    Note(fmt::format("{}: the run goes on as it was", none.what()));
  }
}

void AutoChoice::Again(const std::string& run, double budget) {
  if (!order_.choices.open.empty()) {
    Spend(budget);
    order_.in_pause = true;
    order_.example_seconds = found_.update_seconds / ExamplesPerUpdate(decision_.job);
    const bool keeps_rate =
        RateThatFits(decision_.job, decision_.job) == SettingOf(decision_.job).rate;
    if (keeps_rate) GiveEachItsRate();  // none that trials or a divergence have lowered
    return Take(MeasureAndSearch(order_, data_, run));
  }
  Take(TuneMomentum(decision_.job, {.data = data_,
                                    .run = order_.run,
                                    .peers = order_.peers,
                                    .from = run,
                                    .folder = order_.folder,
                                    .seconds = budget,
                                    .tell = order_.tell}),
       "the best of the grid");
}

/// With a time limit, so many steps as the time allows.
Trials AutoChoice::TrialsOfRate() {
  const Job& job = decision_.job;
  Trials trials = {.data = data_,
                   .run = order_.run,
                   .peers = order_.peers,
                   .folder = order_.folder + "/rates",
                   .seconds = TuningSeconds(job),
                   .steps = TuningSteps(job, data_),
                   .tell = order_.tell};
  if (trials.seconds > 0 && !order_.run.cluster) {
    const std::string run = order_.folder + "/speed";
    const Trial speed = TrainDefault(run, std::min(kFirstTrial, trials.seconds / 10));
    std::filesystem::remove_all(run);
    const double step = speed.seconds_per_example * static_cast<double>(data_.train->Size()) /
                        StepsPerEpoch(job, data_);
    const int64_t most = step > 0 ? std::llround(trials.seconds / step) : 0;
    trials.steps = std::min(trials.steps, most);
  }
  trials.from = decision_.progress;
  return trials;
}

/// The last trial of the best setting.
Trial AutoChoice::Tune(const Tunes& tunes) {
  Trials trials = TrialsOfRate();
  if (trials.steps == 0) {
    Note(NoTrialsNote(decision_.job, data_));
    return {};
  }
  Tuned tuned;
  if (tunes.rate) {
    if (priced_ && found_.plan && IsTunedApart()) {
      const double share = kForRates * SearchShare(decision_.job) * found_.plan->best().Seconds();
      trials.seconds = trials.seconds > 0 ? std::min(trials.seconds, share) : share;
    }
    tuned = TuneRate(trials);
    if (tuned.best.rate == 0) return {};
  }
  if (tunes.momentum && !tuned.last.ended) {
    trials.from = decision_.progress;
    trials.folder = order_.folder + "/momenta";
    trials.steps /= 2;
    trials.seconds /= 2;
    if (order_.run.cluster && trials.steps < FewestMomentumSteps(decision_.job)) {
      Note(fmt::format("training is too short for trials of the momentum: it stays at {:g}",
                       *SettingOf(decision_.job).momentum));
      return tuned.last;
    }
    tuned = TuneMomentum(decision_.job, trials);
    Take(tuned, "the best of the grid");
  }
  return tuned.last;
}

/// And chooses the schedule, unless the job has one.
Tuned AutoChoice::TuneRate(const Trials& trials) {
  const bool apart = IsTunedApart();  // takes other steps, and tells them
  const std::string cost =
      apart ? "" : TuningCostNote({.steps = trials.steps}, decision_.job, data_);
  if (!cost.empty()) trials.tell(cost);
  const bool range = decision_.job.train.String("tuning") == "range";
  const auto find = apart ? FindRateApart : range ? FindRateByRange : FindRate;
  Tuned tuned = find(decision_.job, trials);
  Take(tuned, "whose loss fell fastest");
  if (tuned.best.rate > 0 && !decision_.job.train.Has("schedule")) {
    decision_.job = WithKeys(decision_.job, {CosineSchedule()});
    found_.chose_schedule = true;
  }
  return tuned;
}

void AutoChoice::Take(const Tuned& tuned, const char* why) {
  found_.trained += tuned.trained;
  if (tuned.best.rate == 0) {
    if (!StopIsAsked())
      Note(fmt::format("no trial has trained: the learning rate stays at {:g}",
                       decision_.job.train.Float("learning_rate")));
    return;
  }
  found_.tried.insert(found_.tried.end(), tuned.tried.begin(), tuned.tried.end());
  decision_.job = WithSetting(decision_.job, tuned.best);
  decision_.progress = tuned.run;
  const std::string momentum =
      tuned.best.momentum ? fmt::format(", momentum {:g}", *tuned.best.momentum) : "";
  Note(fmt::format("learning rate {:g}{}, {}", tuned.best.rate, momentum, why));
}

void AutoChoice::Take(Plan plan) {
  plan.seconds = Now() - began_;
  decision_.messages.insert(decision_.messages.end(), plan.notes.begin(), plan.notes.end());
  for (const Candidate& one : plan.candidates) found_.trained += one.trained;
  decision_.job = WithKeys(decision_.job, plan.keys);
  if (!plan.progress.empty()) decision_.progress = plan.progress;
  if (!plan.candidates.empty()) found_.plan = std::move(plan);
}

}  // namespace yoke
