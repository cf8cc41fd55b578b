// Efficiency: a fit of two costs, and a file of them for each kind of job.
#include "plan/efficiency.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "base/check.h"
#include "base/files.h"
#include "base/value.h"
#include "train/files.h"

namespace yoke {
namespace {

constexpr double kBeforeCounts = 2, kMostCounts = 10;  // trials
constexpr double kTypicalStaleness = 3, kTypicalDoublings = 3;
constexpr int kFitRounds = 20;  // of one cost after the other
constexpr double kMostCost = 1;
constexpr int64_t kMostTrials = 1'000'000;
constexpr double kLate = 0.5;  // updates, or doublings: less does not tell

/// One of both costs: how much of it a trial has, and what else its examples are multiplied by.
struct Part {
  double amount = 0, others = 1, examples = 1;
};

/// The cost c with which others x (1 + c amount) is nearest to the examples.
double Fit(const std::vector<Part>& parts, double before, int trials, double typical) {
  const double counts = std::min(kBeforeCounts + trials, kMostCounts) * typical * typical;
  double sum = counts * before, weight = counts;
  for (const Part& one : parts) {
    const double slope = one.others * one.amount;
    sum += slope * (one.examples - one.others);
    weight += slope * slope;
  }
  return std::clamp(sum / weight, 0.0, kMostCost);
}

std::string CostText(const char* what, double cost, int trials) {
  const std::string from = trials > 0 ? fmt::format("on this kind of job, from {} trial{}", trials,
                                                    trials > 1 ? "s" : "")
                                      : "assumed";
  return fmt::format("{} costs {:.1f} % more examples ({})", what, 100 * cost, from);
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// As tools/setup has it.
std::string CacheFolder() {
  if (std::string own = Variable("YOKE_CACHE"); !own.empty()) return own;
  if (const std::string all = Variable("XDG_CACHE_HOME"); all.starts_with('/'))
    return all + "/yoke";
  const std::string home = Variable("HOME");
  return home.empty() ? "" : home + "/.cache/yoke";
}

bool IsFinite(const MeasuredUse& one) {
  return std::isfinite(one.examples) && std::isfinite(one.use.staleness) &&
         std::isfinite(one.use.Doublings());
}

/// Whether both are numbers from 0 to `most`.
template <typename Number>
bool AreUpTo(Number most, Number one, Number other) {
  return one >= 0 && one <= most && other >= 0 && other <= most;  // not a number is neither
}

bool IsPossible(const Efficiency& efficiency) {
  return AreUpTo(kMostCost, efficiency.staleness, efficiency.interval) &&
         AreUpTo<int64_t>(kMostTrials, efficiency.stale_trials, efficiency.interval_trials);
}

/// -1: it is no such number.
double CostIn(const Value& root, const char* key) {
  const Value* value = root.Find(key);
  return value ? value->AsNumber().value_or(-1) : -1;
}
int TrialsIn(const Value& root, const char* key) {
  const Value* value = root.Find(key);
  const int64_t* count = value ? value->AsInt() : nullptr;
  return count && *count <= kMostTrials ? static_cast<int>(std::max<int64_t>(-1, *count)) : -1;
}

}  // namespace

double ExampleUse::Doublings() const { return std::log2(std::max(1.0, interval / mixing)); }

bool ExampleUse::IsSynchronous() const { return staleness < kLate && Doublings() < kLate; }

double Efficiency::Examples(const ExampleUse& use) const {
  return (1 + staleness * use.staleness) * (1 + interval * use.Doublings());
}

Efficiency Fitted(const Efficiency& before, const std::vector<MeasuredUse>& measured) {
  std::vector<MeasuredUse> trials;
  std::ranges::copy_if(measured, std::back_inserter(trials), &IsFinite);
  if (trials.empty()) return before;
  Efficiency fitted = before;
  for (int round = 0; round < kFitRounds; ++round) {
    std::vector<Part> late, rare;
    for (const MeasuredUse& one : trials) {
      late.push_back({one.use.staleness, 1 + fitted.interval * one.use.Doublings(), one.examples});
      rare.push_back({one.use.Doublings(), 1 + fitted.staleness * one.use.staleness, one.examples});
    }
    fitted.staleness = Fit(late, before.staleness, before.stale_trials, kTypicalStaleness);
    fitted.interval = Fit(rare, before.interval, before.interval_trials, kTypicalDoublings);
  }
  for (const MeasuredUse& one : trials) {
    fitted.stale_trials += one.use.staleness >= kLate;
    fitted.interval_trials += one.use.Doublings() >= kLate;
  }
  return fitted;
}

std::string TextOf(const Efficiency& efficiency) {
  return CostText("an update's staleness", efficiency.staleness, efficiency.stale_trials) + ", " +
         CostText("each doubling of the steps between exchanges", efficiency.interval,
                  efficiency.interval_trials);
}

std::string EfficiencyPath(const Job& job) {
  const std::string folder = CacheFolder();
  if (folder.empty()) return "";
  const std::string format = *job.data().Find("format")->AsString();
  const std::string kind = ChecksumOf(format + "\n" + FormatValue(job.model()));
  return fmt::format("{}/efficiency/{}-{}.toml", folder, format, kind);
}

Efficiency ReadEfficiency(const std::string& path) {
  try {
    if (path.empty() || !Exists(path)) return {};
    const Value root = ReadToml(path);
    const Efficiency found = {.staleness = CostIn(root, "staleness"),
                              .interval = CostIn(root, "interval"),
                              .stale_trials = TrialsIn(root, "stale_trials"),
                              .interval_trials = TrialsIn(root, "interval_trials")};
    return IsPossible(found) ? found : Efficiency();
  } catch (const Error&) {
    return {};
  }
}

void WriteEfficiency(const Efficiency& efficiency, const std::string& path) {
  if (path.empty() || !IsPossible(efficiency)) return;
  const Value root = Table{{"staleness", efficiency.staleness},
                           {"interval", efficiency.interval},
                           {"stale_trials", int64_t{efficiency.stale_trials}},
                           {"interval_trials", int64_t{efficiency.interval_trials}}};
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), failed);
  try {
    ReplaceFile(
        path, "# Written by yoke's planner: what these cost in examples, for jobs of this kind.\n" +
                  FormatToml(root));
  } catch (const Error&) {  // the next plan assumes again
  }
}

}  // namespace yoke
