// Search: trials of the leaders, and the choice.
#include "plan/search.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "plan/choice.h"
#include "plan/leaders.h"
#include "plan/statistics.h"
#include "plan/trials.h"
#include "plan/tuning.h"
#include "strategy/served.h"
#include "train/job/parts.h"
#include "train/number_format.h"

namespace yoke {
namespace {

constexpr double kTrialUpdates = 50;  // fewer tell nothing
constexpr double kStale = 0.5;        // updates: less is synchronous
constexpr double kForTuning = 0.35;   // of the trials' time, where the momentum is open
constexpr double kHalf = 0.6;         // of the staleness, roughly

class Chooser {
 public:
  Chooser(const SearchRequest& request, Plan& plan) : request_(request), plan_(plan) {}

  /// Of all trials.
  double TrialSeconds() const {
    const double shortest = std::ranges::find_if(plan_.candidates, &Candidate::IsLeft)->Seconds();
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
      if (!one.IsLeft() || (request_.in_pause && one.is_default)) continue;
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
      if (one.IsLeft() && Tunes(one) && !(request_.in_pause && one.is_default) &&
          one.use.staleness >= kStale && FeelsStaleness(one))
        one.keys.push_back(PlanKey("train.momentum", FormatValue(Value(MomentumFor(one)))));
  }

  /// In a pause the default stays, and where nothing has a price.
  void ByPrediction(const std::string& why =
                        "predicted only: trials would tell how many updates each needs in truth") {
    Candidate* standard = Default();
    Candidate* best = &*std::ranges::find_if(plan_.candidates, &Candidate::IsLeft);
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
        plan_.candidates, [this](const Candidate& one) { return one.IsLeft() && Tunes(one); });
    const double all = TrialSeconds(), seconds = (tunes ? 1 - kForTuning : 1) * all;
    std::vector<Entrant> entrants;
    std::vector<Candidate*> of;
    for (Candidate& one : plan_.candidates)
      if (one.IsLeft()) {
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
      if (&one != &standard && one.IsLeft()) one.dropped = why;
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
      if (one.IsLeft() && one.seconds_per_update == 0 && !request_.in_pause) return "";
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
      if (one.IsLeft()) slowest = std::max(slowest, one.seconds_per_update);
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
        plan_.candidates, [](const Candidate& one) { return one.is_default && one.IsLeft(); });
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
  Plan plan = {.candidates = PricedCandidates(request),
               .noise_scale = request.noise_scale,
               .efficiency = request.efficiency};
  const auto fit = static_cast<size_t>(std::ranges::count_if(plan.candidates, &Candidate::IsLeft));
  KeepLeaders(request, plan.candidates);
  Chooser chooser(request, plan);
  chooser.SetRates();
  chooser.SetMomenta();
  const bool rivals = std::ranges::count_if(plan.candidates, &Candidate::IsLeft) > 1;
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
