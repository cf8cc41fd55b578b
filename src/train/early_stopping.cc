// EarlyStopping: compares metrics with a target and with the best so far.
#include "train/early_stopping.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/registry.h"
#include "optim/schedules.h"
#include "train/checkpoint/checkpoint.h"
#include "train/job/keys.h"

namespace yoke {
namespace {

void CheckMetric(const std::string& metric, const std::string& key, const DataSets& data) {
  Require(data.validation || data.test,
          "{} needs test data or a validation share, and the job has neither", key);
  const std::vector<std::string> known = MetricNames(data.train->Info());
  if (std::find(known.begin(), known.end(), metric) == known.end())
    throw UserError(key + ": " + UnknownName("metric of this data", metric, known));
}

/// The value of section.key; null if there is none.
const Value* KeyOf(const Value& job, const char* section, const char* key) {
  const Value* table = job.Find(section);
  return table ? table->Find(key) : nullptr;
}

Options StoppingKeys(const Value& table) {
  return {"train.early_stopping", table, early_stopping_keys()};
}

/// The table of schedule plateau with its defaults; nothing if the job has another schedule.
std::optional<Options> Plateau(const Value* schedule) {
  const Value* name = schedule ? schedule->Find("name") : nullptr;
  if (!name || *name != Value("plateau")) return {};
  std::vector<OptionSpec> keys = common_schedule_options();
  const auto& own = FindEntry(schedules(), "schedule", "plateau").options;
  keys.insert(keys.end(), own.begin(), own.end());
  return Options("train.schedule", *schedule, keys);
}

/// The keys that watch a metric for its best value, and that metric.
std::vector<std::pair<std::string, std::string>> WatchedForBest(const Value& job) {
  std::vector<std::pair<std::string, std::string>> watched;
  if (const Value* best = KeyOf(job, "checkpoint", "best"); best && best->AsString())
    watched.emplace_back("checkpoint.best", *best->AsString());
  if (const Value* stopping = KeyOf(job, "train", "early_stopping"))
    watched.emplace_back("train.early_stopping", StoppingKeys(*stopping).String("metric"));
  if (const auto plateau = Plateau(KeyOf(job, "train", "schedule")))
    watched.emplace_back("train.schedule", plateau->String("metric"));
  return watched;
}

}  // namespace

std::string BestMetric(const Value& job) {
  const auto watched = WatchedForBest(job);
  if (watched.empty()) return "";
  const auto& [key, metric] = watched.front();
  for (const auto& [other, its] : watched)
    Require(its == metric,
            "{} looks at {} and {} at {}: there is one best checkpoint, so name one metric", key,
            metric, other, its);
  return metric;
}

void TakeBest(const CheckpointHeader& header, const Job& job, const std::string& run,
              Position& position) {
  position.best = header.position.best;
  position.has_best =
      header.position.has_best && BestMetric(job.resolved) == BestMetric(header.job) &&
      SameKey(job, header, "train", "evaluate_examples") && std::filesystem::exists(run + "/best");
  position.stale = position.has_best ? header.position.stale : 0;
}

bool FollowsEvaluations(const Job& job) {
  return Plateau(KeyOf(job.resolved, "train", "schedule")).has_value();
}

EarlyStopping::EarlyStopping(const Job& job, const DataSets& data)
    : best_(BestMetric(job.resolved)), measured_on_(data.validation ? "validation" : "test") {
  if (job.train.Has("early_stopping"))
    patience_ = StoppingKeys(job.train.Raw("early_stopping")).Int("patience");
  if (const auto plateau = Plateau(KeyOf(job.resolved, "train", "schedule")))
    plateau_ = plateau->Int("patience");
  if (!best_.empty()) CheckMetric(best_, WatchedForBest(job.resolved).front().first, data);
  if (!job.train.Has("target")) return;
  const Options target("train.target", job.train.Raw("target"), target_keys());
  target_ = target.String("metric");
  CheckMetric(target_, "train.target", data);
  at_least_ = target.Has("at_least");
  bound_ = target.Float(at_least_ ? "at_least" : "at_most");
}

bool EarlyStopping::ReachesTarget(const Metrics& metrics) const {
  if (metrics.empty() || target_.empty()) return false;
  const double value = MetricOf(metrics, target_);
  return at_least_ ? value >= bound_ : value <= bound_;
}

void EarlyStopping::Count(bool best, Position& position) const {
  position.stale = best ? 0 : position.stale + 1;
  if (plateau_ > 0 && position.stale > 0 && position.stale % plateau_ == 0) ++position.plateaus;
}

std::string EarlyStopping::BestText(const Position& position) const {
  return fmt::format("{} {} {:.4g}", measured_on_, best_, position.best);
}

bool EarlyStopping::IsBest(const Metrics& metrics, Position& position) const {
  if (metrics.empty() || best_.empty()) return false;
  const double value = MetricOf(metrics, best_);
  const bool better = MoreIsBetter(best_) ? value > position.best : value < position.best;
  if (!std::isfinite(value) || (position.has_best && !better)) return false;
  position.best = value;
  position.has_best = true;
  return true;
}

}  // namespace yoke
