// Tuning: finds the learning rate and the momentum of a job by short trainings, of all replicas or
// of each alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/trials.h"
#include "train/job/job.h"

namespace yoke {

/// What tuning sets in a job.
struct Setting {
  double rate = 0;
  std::optional<double> momentum = {};  ///< Where the rule has one.
};
Setting SettingOf(const Job& job);
/// What it sets.
Overrides KeysOf(const Setting& setting);
Job WithSetting(const Job& job, const Setting& setting);
std::string TextOf(const Setting& setting);

/// The rates that the job's rule names, from the highest down; with an elastic force, those with
/// which the centre does not overshoot.
std::vector<double> RatesOf(const Job& job);
/// Whether the job's rule names learning rates to compare; otherwise it finds its own.
bool HasRates(const Job& job);

/// A setting with the loss of its trials; not finite: they diverged.
struct TriedSetting {
  Setting setting = {};
  double loss = 0;
  int64_t steps = 0;          ///< 0: trials are by time.
  int64_t trial_batches = 0;  ///< Of each trial of a replica alone; 0: another kind of trial.
};

/// Whether the first is better: by loss; within 1 % the larger rate is better, then the larger
/// momentum. One that diverged is not better than any.
bool IsBetter(const TriedSetting& one, const TriedSetting& other);
/// Whether it is at least as large in both as one that diverged.
bool IsBeyond(const Setting& setting, const std::vector<TriedSetting>& tried);

struct Tuned {
  Setting best = {};     ///< Rate 0: interrupted, or all trials failed.
  std::string run = {};  ///< Of the best one's trials, to go on from; "": none.
  Trial last = {};       ///< Its last one.
  double trained = 0;    ///< Seconds of all trials.
  std::vector<TriedSetting> tried = {};
};

/// Replicas, or groups of them, that take steps of their own: a step of each together is one of
/// replicas in step.
int64_t TeamsOf(const Job& job);

/// The part of the training's time that choosing may take: train.search_share, or a tenth.
double SearchShare(const Job& job);

/// Of a trial. One of each team is enough for executors whose steps are many batches.
int64_t FewestSteps(const Job& job, const DataSets& data);

/// Whether a training may end long before its last epoch, so that nobody knows how long it takes.
bool MayEndEarly(const Job& job);

/// Steps of all trials for the learning rate; 0: none. Without train.search_share, never so few
/// that they do not tell rates apart.
int64_t TuningSteps(const Job& job, const DataSets& data);

/// Steps of all trials for the momentum that tell something.
int64_t FewestMomentumSteps(const Job& job);

/// Seconds of these trials, of the job's time limit; 0: it has none.
double TuningSeconds(const Job& job);

/// Why there are no trials of the learning rate.
std::string NoTrialsNote(const Job& job, const DataSets& data);
struct TuningCost {
  int64_t steps = 0;   ///< Of all trials, at most: of all teams together.
  bool apart = false;  ///< No run goes on from them.
};
/// Says so if the trials are more than the usual part of the training; or "".
std::string TuningCostNote(const TuningCost& cost, const Job& job, const DataSets& data);

/// What is found is this part of the best rate of a short trial, because training is longer.
inline constexpr double kBelow = 0.7;

/// The learning rate, of those that the job's rule names, with which the loss falls fastest: it
/// climbs from the middle one to the rate with the lowest loss, and the two best ones go on twice
/// as long. What it finds is 0.7 of the best one, because a rate that is just low enough for a
/// trial is too high for the whole training.
Tuned FindRate(const Job& job, const Trials& trials);

/// The same by a range test (Smith, "Cyclical Learning Rates for Training Neural Networks", 2017,
/// section 3.3): one training whose rate rises through those of the rule until its loss does. It
/// finds the rate before the one with the lowest loss, and the run up to it.
Tuned FindRateByRange(const Job& job, const Trials& trials);

/// Omnivore's grid around the last best setting: momenta 0, 0.3, 0.6, 0.9 with its rate and a tenth
/// of it, less those with its rate and more momentum, and those below it in both (Hadjis et al.,
/// 2016, section 5.2).
std::vector<Setting> GridAround(const Setting& last);

/// Omnivore's: around which fewer groups search when they take over.
inline constexpr double kMomentumOfFewerGroups = 0.6;

/// The best of the grid around the job's own setting, by trials of the same length. When one
/// diverges, those that are at least as large in both are left out. Losses within 1 % are equal;
/// then the larger rate is the better one, then the larger momentum.
Tuned TuneMomentum(const Job& job, const Trials& trials);

/// The momentum of the rule with which asynchronous updates reach as far as synchronous ones of
/// momentum `total`: a gradient that is on average `staleness` updates late adds momentum
/// 1 - 1 / (1 + staleness) (Mitliagkas et al., "Asynchrony begets Momentum", 2016, theorem 1 with
/// memoryless service), and reaches multiply: (1 - explicit) / (1 + staleness) = 1 - total. At
/// least 0.
double ExplicitMomentum(double total, double staleness);

}  // namespace yoke
