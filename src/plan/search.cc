// Search: prices, leaders, trials, choice.
#include "plan/search.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <span>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/registry.h"
#include "node/executor.h"
#include "plan/choice.h"
#include "plan/hardware.h"
#include "plan/statistics.h"
#include "plan/trials.h"
#include "plan/tuning.h"
#include "strategy/served.h"
#include "train/job/parts.h"
#include "train/number_format.h"

namespace yoke {
namespace {

constexpr size_t kLeaders = 4;         // that are tried
constexpr size_t kMoreStrategies = 3;  // of replicas that divide the cores
constexpr double kFar = 3;             // times the shortest prediction: the default is not tried
constexpr int kMeetingsAnEpoch = 4;    // at least
/// The noise scale where it is not known: smaller batches use examples no better.
constexpr double kLargeNoise = 1e6;
constexpr double kTrialUpdates = 50;  // fewer tell nothing
constexpr double kStale = 0.5;        // updates: less is synchronous
constexpr double kForTuning = 0.35;   // of the trials' time, where the momentum is open
constexpr double kHalf = 0.6;         // of the staleness, roughly

double NoiseOf(const SearchRequest& request) {
  if (request.noise_scale == 0) return kLargeNoise;
  return (request.from.empty() ? kNoiseGrowth : 1) * request.noise_scale;
}

bool IsLeft(const Candidate& one) { return one.dropped.empty(); }

void DropThoseOfOtherModels(const SearchRequest& request, std::vector<Candidate>& candidates) {
  const ModelTask task = TaskOf(request.data.train->Info());
  for (Candidate& one : candidates) {
    const ExecutorEntry& executor = FindEntry(executors(), "executor", one.executor);
    if (!IsLeft(one) || !executor.trains) continue;
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
    if (!IsLeft(one) || request.run.StopIsAsked()) continue;
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

/// The best by prediction first, then what has no price, then what is dropped.
void Sort(std::vector<Candidate>& candidates) {
  std::ranges::stable_sort(candidates, {}, [](const Candidate& one) {
    const bool priced = one.seconds_per_update > 0;
    return std::tuple(!IsLeft(one), !priced, IsLeft(one) ? one.Seconds() : 0);
  });
}

/// The division among replicas that is fastest with allreduce also gets the other strategies with
/// the shortest predicted time.
void AddStrategiesOfReplicas(const SearchRequest& request, std::vector<Candidate>& candidates) {
  const Candidate* best = nullptr;
  for (const Candidate& one : candidates)
    if (one.shape.replicas && IsLeft(one) && (!best || one.Seconds() < best->Seconds()))
      best = &one;
  if (!best || request.run.StopIsAsked()) return;
  Choices choices = request.choices;
  choices.shapes = {best->shape};
  choices.only_shapes = true;
  std::vector<Candidate> more = MakeCandidates(request.job, choices);
  std::erase_if(more, [best](const Candidate& one) {
    return !IsLeft(one) || one.strategy == best->strategy || one.precision != best->precision;
  });
  PriceAll(request, more);
  std::erase_if(more, [](const Candidate& one) { return !IsLeft(one); });
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

/// By another efficiency than before.
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

/// Of the first `fit` ones, those that were not tried: the best by prediction first.
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

/// Drops all but the leaders and the default, which is not tried if it is far behind, unless it
/// has trained. Leaders of several replicas differ in strategy.
void KeepLeaders(const SearchRequest& request, std::vector<Candidate>& candidates) {
  const bool replicas = request.job.cluster.Int("replicas") > 1;
  const bool trials = request.trial_seconds > 0 && !request.in_pause;
  std::vector<const Candidate*> leaders;
  const double shortest = candidates[0].Seconds();
  for (Candidate& one : candidates) {
    if (!one.is_default || !IsLeft(one)) continue;
    if (trials && shortest > 0 && one.Seconds() > kFar * shortest)
      one.dropped = fmt::format("{}, more than {:.0f} times as long as {}", Prediction(one), kFar,
                                candidates[0].name);
  }
  for (Candidate& one : candidates) {
    const Candidate* twin = Twin(candidates, one);
    one.repeats = twin && !one.is_default;
    if (!IsLeft(one) || one.is_default) continue;
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

class Chooser {
 public:
  Chooser(const SearchRequest& request, Plan& plan) : request_(request), plan_(plan) {}

  /// Of all trials.
  double TrialSeconds() const {
    const double shortest = std::ranges::find_if(plan_.candidates, &IsLeft)->Seconds();
    return shortest > 0 ? std::min(request_.trial_seconds, request_.trial_share * shortest)
                        : request_.trial_seconds;
  }

  /// Whether virtual time is too short for trials.
  bool TrialsAreDear() const {
    return request_.run.cluster &&
           (request_.restart_seconds + ShortestTrial()) * kLeaders > TrialSeconds();
  }

  /// Those that trials of others tell.
  void SetRates() {
    if (!request_.rate_of) return;
    for (Candidate& one : plan_.candidates) {
      if (!IsLeft(one) || (request_.in_pause && one.is_default)) continue;
      if (const double rate = request_.rate_of(JobOf(request_.job, one)); rate > 0)
        Set({.rate = rate}, one);
    }
  }

  /// Where it is not that of the job, unless a note of the momentum names it, too.
  void NoteRate() {
    const double rate = SettingOf(JobOf(request_.job, plan_.best())).rate;
    const std::string note = fmt::format("{} has learning rate {:g}", plan_.best().name, rate);
    const bool told = std::ranges::any_of(
        plan_.notes, [&](const std::string& one) { return one.starts_with(note); });
    if (request_.rate_of && !told && rate != SettingOf(request_.job).rate)
      plan_.notes.push_back(note);
  }

  /// That of asynchronous leaders falls, unless their server makes up for late gradients or they
  /// have trained with it.
  void SetMomenta() {
    for (Candidate& one : plan_.candidates)
      if (IsLeft(one) && Tunes(one) && !(request_.in_pause && one.is_default) &&
          one.use.staleness >= kStale && FeelsStaleness(one))
        one.keys.push_back(PlanKey("train.momentum", FormatValue(Value(MomentumFor(one)))));
  }

  /// In a pause the default stays, and where nothing has a price.
  void ByPrediction(const std::string& why =
                        "predicted only: trials would tell how many updates each needs in truth") {
    Candidate* standard = Default();
    Candidate* best = &*std::ranges::find_if(plan_.candidates, &IsLeft);
    if (standard && request_.in_pause) return Stay(*standard, why);
    if (standard && best->seconds_per_update == 0)
      return Stay(*standard, "without prices and trials the default stays");
    const double gain = standard ? 1 - best->Seconds() / standard->Seconds() : 1;
    Choose(best, standard, gain, kPredicted, plan_);
    plan_.notes.push_back(why);
  }

  /// In a pause that leaves nothing else to try but the momentum.
  void TryMomentumAlone() {
    const Candidate* standard = Default();
    if (!standard) return ByPrediction();
    Stay(*standard, "nothing else is left to try");
    if (request_.trial_seconds > 0 && Tunes(plan_.best())) TuneChosen(kForTuning * TrialSeconds());
  }

  void ByTrials() {
    const bool tunes = std::ranges::any_of(
        plan_.candidates, [this](const Candidate& one) { return IsLeft(one) && Tunes(one); });
    const double all = TrialSeconds(), seconds = (tunes ? 1 - kForTuning : 1) * all;
    std::vector<Entrant> entrants;
    std::vector<Candidate*> of;
    for (Candidate& one : plan_.candidates)
      if (IsLeft(one)) {
        entrants.push_back(
            {.job = JobOf(request_.job, one), .name = one.name, .stays = one.is_default});
        of.push_back(&one);
      }
    Halve({.data = request_.data,
           .run = request_.run,
           .peers = request_.peers,
           .from = request_.from,
           .folder = request_.folder,
           .seconds = seconds,
           .shortest = ShortestTrial(),
           .tell = request_.tell},
          entrants);
    const std::string too_short = TooShort(entrants);
    if (too_short.empty()) MeasureEfficiency(entrants, of);
    const Entrant *best = nullptr, *standard = nullptr;
    for (size_t i = 0; i < entrants.size(); ++i) {
      Candidate& one = *of[i];
      Entrant& its = entrants[i];
      if (!too_short.empty()) its.dropped = its.last.failure;
      one.trained = its.trained;
      one.dropped = its.dropped;
      if (its.last.failure.empty() && its.last.seconds_per_example > 0) {
        one.measured = its.last.seconds_per_example * ExamplesPerUpdate(JobOf(request_.job, one));
        one.loss = its.last.loss;
      }
      if (!its.dropped.empty()) continue;
      if (one.is_default) standard = &its;
      if (!best || its.last.loss < best->last.loss) best = &its;
    }
    if (!best && request_.run.StopIsAsked()) return;
    Require(best, "no trial has trained: {}", plan_.candidates[0].dropped);
    const auto candidate = [&](const Entrant* one) {
      return one ? of[one - entrants.data()] : nullptr;
    };
    const double last_round = best->last.curve.back().seconds;
    const double before = best->trained - last_round;
    const double gain =
        standard ? 1 - (before + TimeTo(best->last, standard->last.loss)) / best->trained : 1;
    if (too_short.empty())
      Choose(candidate(best), candidate(standard), gain, kLosses, plan_);
    else
      ByPrediction(too_short);
    const std::string& run = entrants[std::ranges::find(of, &plan_.best()) - of.begin()].run;
    if (std::filesystem::exists(run)) plan_.progress = run;  // it went through all rounds
    const bool stays = request_.in_pause && !too_short.empty();
    if (Tunes(plan_.best()) && !stays) TuneChosen(all - seconds);
  }

 private:
  /// The default is chosen, and the others are dropped, for this reason.
  void Stay(const Candidate& standard, const std::string& why) {
    for (Candidate& one : plan_.candidates)
      if (&one != &standard && IsLeft(one)) one.dropped = why;
    plan_.chosen = static_cast<int>(&standard - plan_.candidates.data());
    plan_.keys = standard.keys;
    plan_.notes.push_back(why);
  }

  void MeasureEfficiency(const std::vector<Entrant>& entrants, const std::vector<Candidate*>& of) {
    std::vector<TriedUse> tried;
    for (size_t i = 0; i < of.size(); ++i)
      if (of[i]->seconds_per_update > 0 && entrants[i].last.failure.empty())
        tried.push_back({of[i]->use, entrants[i].first_loss, entrants[i].curve});
    plan_.efficiency = Fitted(request_.efficiency, MeasuredUses(tried, NoiseOf(request_)));
    PriceAgain(request_.efficiency, plan_.efficiency, plan_.candidates);
  }

  /// Why losses of trials tell nothing: nobody had learned anything. "" if they do, or if prices
  /// are missing.
  std::string TooShort(const std::vector<Entrant>& entrants) const {
    if (!request_.from.empty() && !request_.in_pause) return "";
    const Entrant* best = nullptr;
    for (const Entrant& one : entrants)
      if (one.last.failure.empty() && (!best || one.last.loss < best->last.loss)) best = &one;
    if (!best || best->last.ended || best->last.loss < kLearned * best->first_loss) return "";
    for (const Candidate& one : plan_.candidates)
      if (IsLeft(one) && one.seconds_per_update == 0 && !request_.in_pause) return "";
    return fmt::format(
        "{}: trials of {:.2g} s were too short to learn from (loss {:.4g}, from {:.4g}); longer "
        "ones would tell (--trial-seconds, or --auto with train.search_share)",
        request_.in_pause ? "nothing changes" : "the predicted times decide", best->trained,
        best->last.loss, best->first_loss);
  }

  /// In virtual time, which costs nothing but itself, some updates of the slowest one.
  double ShortestTrial() const {
    if (!request_.run.cluster) return kShortestTrial;
    double slowest = request_.update_seconds;
    for (const Candidate& one : plan_.candidates)
      if (IsLeft(one)) slowest = std::max(slowest, one.seconds_per_update);
    return kTrialUpdates * slowest;
  }

  bool Tunes(const Candidate& one) const {
    return request_.tunes_momentum && SettingOf(JobOf(request_.job, one)).momentum;
  }

  /// Whether late gradients add momentum of their own: at a server that does not predict values. A
  /// replica's own gradient is not late, though what it averages with is.
  bool FeelsStaleness(const Candidate& one) const {
    const Job job = JobOf(request_.job, one);
    return HasServerOptions(StrategyOf(job)) && !PredictsWeights(job.cluster);
  }

  /// That leaves the total momentum as it is.
  double MomentumFor(const Candidate& one) const {
    const double total = *SettingOf(request_.job).momentum;
    return std::round(100 * ExplicitMomentum(total, one.use.staleness)) / 100;
  }

  static void Set(const Setting& setting, Candidate& one) {
    const Overrides keys = KeysOf(setting);
    one.keys.insert(one.keys.end(), keys.begin(), keys.end());
  }

  /// Tunes rate and momentum of the chosen one. If it feels staleness and its best momentum is 0,
  /// one that is less stale takes its place if it is better, after trials that are as long: they
  /// come on top.
  void TuneChosen(double seconds) {
    const std::string from = plan_.progress.empty() ? request_.from : plan_.progress;
    Candidate* one = &plan_.candidates[plan_.chosen];
    const int rounds = FeelsStaleness(*one) ? 2 : 1;
    for (int round = 0; one && round < rounds; ++round) {
      const Tuned tuned =
          TuneMomentum(JobOf(request_.job, *one),
                       {.data = request_.data,
                        .run = request_.run,
                        .peers = request_.peers,
                        .from = from,
                        .folder = fmt::format("{}/momentum-{}", request_.folder, round),
                        .seconds = seconds,
                        .tell = request_.tell});
      one->trained += tuned.trained;
      if (tuned.run.empty()) return;  // interrupted, or all have failed: what was chosen stays
      one->loss = tuned.last.loss;
      if (!TakesPlace(*one)) return;
      Set(tuned.best, *one);
      plan_.keys = one->keys;
      plan_.progress = tuned.run;
      plan_.notes.push_back(fmt::format("{} has learning rate {:g} and momentum {:g}", one->name,
                                        tuned.best.rate, *tuned.best.momentum));
      if (*tuned.best.momentum > 0 || !FeelsStaleness(*one)) return;
      one = LessStale(*one);
      if (one) Set({.rate = tuned.best.rate, .momentum = kMomentumOfFewerGroups}, *one);
    }
  }

  /// Whether it is the chosen one or takes its place, because its loss is lower after trials that
  /// were as long.
  bool TakesPlace(Candidate& one) {
    Candidate& before = plan_.candidates[plan_.chosen];
    if (&one == &before) return true;
    if (*one.loss >= *before.loss) {
      one.dropped = fmt::format("less stale than {}, but its loss is {:.4g}, not below {:.4g}",
                                before.name, *one.loss, *before.loss);
      return false;
    }
    before.dropped = fmt::format("its best momentum is 0: {} is less stale", one.name);
    one.dropped.clear();
    plan_.chosen = static_cast<int>(&one - plan_.candidates.data());
    return true;
  }

  /// The fastest one of the same strategy and executor with at most half of the staleness.
  Candidate* LessStale(const Candidate& than) {
    Candidate* found = nullptr;
    for (Candidate& one : plan_.candidates)
      if (one.seconds_per_update > 0 && one.strategy == than.strategy &&
          one.executor == than.executor && one.precision == than.precision &&
          1 + one.use.staleness <= kHalf * (1 + than.use.staleness) &&
          (!found || one.Seconds() < found->Seconds()))
        found = &one;
    return found;
  }

  Candidate* Default() {
    const auto found = std::ranges::find_if(
        plan_.candidates, [](const Candidate& one) { return one.is_default && IsLeft(one); });
    return found == plan_.candidates.end() ? nullptr : &*found;
  }

  const SearchRequest& request_;
  Plan& plan_;
};

/// Says what keeps candidates from having a price.
void NoteUnpriced(Plan& plan) {
  const auto has_none = [](const Candidate& one) { return !one.unpriced.empty(); };
  const auto first = std::ranges::find_if(plan.candidates, has_none);
  if (first != plan.candidates.end())
    plan.notes.push_back(fmt::format("{} candidates have no price: {}",
                                     std::ranges::count_if(plan.candidates, has_none),
                                     first->unpriced));
}

}  // namespace

Plan Search(const SearchRequest& request) {
  Plan plan = {.candidates = MakeCandidates(request.job, request.choices),
               .noise_scale = request.noise_scale,
               .efficiency = request.efficiency};
  request.tell(
      fmt::format("pricing {} candidates", std::ranges::count_if(plan.candidates, IsLeft)));
  DropThoseOfOtherModels(request, plan.candidates);
  PriceAll(request, plan.candidates);
  AddStrategiesOfReplicas(request, plan.candidates);
  Sort(plan.candidates);
  Require(plan.candidates[0].dropped.empty(), "no candidate is left: {}",
          plan.candidates[0].dropped);
  const auto fit = static_cast<size_t>(std::ranges::count_if(plan.candidates, IsLeft));
  KeepLeaders(request, plan.candidates);
  Chooser chooser(request, plan);
  chooser.SetRates();
  chooser.SetMomenta();
  const bool rivals = std::ranges::count_if(plan.candidates, IsLeft) > 1;
  const bool tries = request.trial_seconds > 0 && rivals && !request.run.StopIsAsked();
  const bool dear = tries && chooser.TrialsAreDear();
  if (tries && !dear)
    chooser.ByTrials();
  else if (request.in_pause && !rivals)
    chooser.TryMomentumAlone();
  else
    chooser.ByPrediction();
  if (dear)
    plan.notes.push_back(
        fmt::format("no trials: {} are too short for them", Duration(chooser.TrialSeconds())));
  chooser.NoteRate();
  NoteUnpriced(plan);
  plan.notes.push_back(TextOf(plan.efficiency));
  ShowFirst(plan);
  SortUntried(fit, plan.candidates);
  return plan;
}

}  // namespace yoke
