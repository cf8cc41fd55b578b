// Candidates: the ways to train a job that a planner compares.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/efficiency.h"
#include "plan/shapes.h"
#include "train/job/job.h"

namespace yoke {

inline bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// A key that a plan sets in a job: TOML, or a text.
inline Override PlanKey(std::string key, std::string value, bool text = false) {
  return {.key = std::move(key), .value = std::move(value), .flag = "the plan", .text = text};
}

/// How a reason begins that follows from predicted seconds alone.
inline constexpr const char* kByPrediction = "predicted ";

/// One way to train: an executor, a strategy, a precision, and what else differs from the job.
struct Candidate {
  Overrides keys = {};    ///< What it sets in the job.
  std::string name = {};  ///< "hogwild, f32" or "split, compute_groups groups=4, bf16"
  std::string executor = {}, strategy = {}, precision = {};
  TeamShape shape = {};     ///< How it divides the cores.
  bool is_default = false;  ///< What the job does without a plan.

  /// An update is `train.batch` examples on each replica that trains. 0: it has no price.
  double seconds_per_update = 0;
  double updates = 0;         ///< Predicted to the end of training.
  ExampleUse use = {};        ///< Predicted.
  double between_epochs = 0;  ///< Predicted seconds, all together.
  double Seconds() const { return seconds_per_update * updates + between_epochs; }

  // Of its trials.
  std::optional<double> measured = {};  ///< Seconds an update.
  std::optional<double> loss = {};      ///< Of the last trial's last third.
  double trained = 0;                   ///< Seconds of training in all.

  std::string unpriced = {};  ///< Why it has no price, or "".
  std::string dropped = {};   ///< Why it is out, a sentence; empty: it is not.
  bool repeats = false;       ///< One with a better or equal prediction does the same work.
  bool IsLeft() const { return dropped.empty(); }
};

/// Whether this CPU gains from a precision: f32, and bf16 if it multiplies it faster.
bool IsFastHere(const std::string& precision);

/// What may differ from the job.
struct Choices {
  std::vector<std::string> open;  ///< Of OpenKeys(), those of [train] apart.
  bool models = false;            ///< Also the values that the model's keys say to try.
  std::vector<std::string> only =
      {};  ///< If not empty, the only executors, strategies, precisions...
  /// What candidates of a precision set besides; the default does, too.
  std::map<std::string, Overrides> of_precision = {};
  std::vector<std::string> without = {};  ///< ... and those left out. Names of parts or "bf16".
  /// Divisions of the cores: parts of `split` with the job's strategy, replicas of `single` with
  /// allreduce. `only` and `without` know them as "parts" and "replicas".
  std::vector<TeamShape> shapes = {};
  /// Why a shape could not be measured in a precision, by MachineKey: it has no price.
  std::map<std::string, std::string> unmeasured = {};
  bool only_shapes = false;  ///< Nothing but these, with every strategy.
};

/// Every combination of executors, strategies with the values that their keys say to try, and
/// precisions, and the shapes in each precision. Those that do not fit the job, its devices or its
/// number of replicas are dropped with the reason. The first is the default. Throws UserError for
/// unknown names in `only` and `without`, and if they leave nothing.
std::vector<Candidate> MakeCandidates(const Job& job, const Choices& choices);

/// The job of a candidate.
Job JobOf(const Job& job, const Candidate& candidate);

}  // namespace yoke
