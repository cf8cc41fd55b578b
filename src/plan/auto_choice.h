// AutoChoice: chooses what a job leaves open, before it trains or in a pause of its training.
#pragma once

#include <string>
#include <utility>

#include "plan/findings.h"
#include "plan/planner.h"
#include "train/planner.h"

namespace yoke {

/// Keys of [train] that are open.
struct Tunes {
  bool rate = false, momentum = false;
  bool any() const { return rate || momentum; }
};

/// Seconds of a search: a shorter one tells nothing.
inline constexpr double kLeastSearch = 4;

/// Whether a training that may end early pauses for trials of all but the rate.
bool TrialsWait(const Job& job, const RunRequest& run);

class AutoChoice {
 public:
  /// `order` is that of `decision.job`, which follows what is chosen. All must outlive it.
  AutoChoice(const PlanOrder& order, const Tunes& tunes, Findings& found, Decision& decision);

  /// Rate and momentum first, by steps, so that they do not depend on time. Then the parts, if the
  /// whole is long enough: its length follows from the last trial's speed. In virtual time, where
  /// prices cost nothing, the rate is that of the parts with the shortest predicted time, if there
  /// are prices; where trials wait, the prediction decides.
  void ByTrials();
  /// Without trials: for times only, and for a number of steps.
  void ByPrediction();
  /// As Omnivore's optimizer does; in a pause of the run `from`, or "": at the start.
  void AsOmnivore(const std::string& from);
  /// By trials that go on from a run's last checkpoint, in so many seconds. Without any, nothing
  /// changes.
  void Again(const std::string& run, double budget);

 private:
  bool StopIsAsked() const { return order_.run.StopIsAsked(); }
  void Note(std::string sentence) { decision_.messages.push_back(std::move(sentence)); }
  void TakeFitting();
  Trial FirstTrials(bool wait);
  bool IsTunedApart() const;
  Trial TrainOn();
  Trial TrainDefault(const std::string& folder, double seconds);
  void OnACluster();
  void WithoutTrials(const Job& given, const char* why);
  double RateThatFits(const Job& tuned, const Job& job) const;
  void GiveEachItsRate();
  void SearchParts(const Trial& last);
  void SearchShort(double budget, double whole);
  void Spend(double budget);
  Trials TrialsOfRate();
  Trial Tune(const Tunes& tunes);
  Tuned TuneRate(const Trials& trials);
  void Take(const Tuned& tuned, const char* why);
  void Take(Plan plan);

  PlanOrder order_;
  const DataSets& data_;
  const Tunes tunes_;
  Findings& found_;
  Decision& decision_;
  double began_;
  bool priced_ = false;  // parts, in virtual time
};

}  // namespace yoke
