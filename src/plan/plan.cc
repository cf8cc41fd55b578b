// Plan: as a table, as a file, and back.
#include "plan/plan.h"

#include <fmt/core.h>

#include <cmath>

#include "base/check.h"
#include "base/value.h"
#include "train/job/keys.h"
#include "train/number_format.h"

namespace yoke {
namespace {

std::string Milliseconds(double seconds) {
  return seconds > 0 ? fmt::format("{:.3g}", 1000 * seconds) : "-";
}

/// What `key` = `text` means in a job.
Value ValueOf(const Override& key) {
  if (key.text) return Value(key.value);
  return *ParseToml("value = " + key.value, "the plan").Find("value");
}

/// With as many digits as are meant.
Value Rounded(double number) { return Value(std::stod(fmt::format("{:.4g}", number))); }

Table ToTable(const Candidate& one) {
  Table table = {{"name", Value(one.name)}};
  if (one.seconds_per_update > 0) {
    table.emplace_back("seconds_per_update", Rounded(one.seconds_per_update));
    table.emplace_back("updates", Value(int64_t{std::llround(one.updates)}));
    table.emplace_back("seconds", Rounded(one.Seconds()));
  }
  if (one.measured) table.emplace_back("measured", Rounded(*one.measured));
  if (one.loss) table.emplace_back("trial_loss", Rounded(*one.loss));
  if (!one.dropped.empty() && !one.dropped.starts_with(kByPrediction))
    table.emplace_back("dropped", Value(one.dropped));
  return table;
}

/// Those that were compared, a line each.
std::string CandidateLines(const Plan& plan) {
  std::string lines;
  int left_out = 0;
  for (const Candidate& one : plan.candidates) {
    const bool compared = (one.seconds_per_update > 0 || one.measured) && !one.repeats;
    if (compared)
      lines += "  " + FormatValue(Value(ToTable(one))) + ",\n";
    else
      ++left_out;
  }
  return fmt::format(
      "\n# Predicted: seconds_per_update, updates, seconds. By trials: measured seconds of an "
      "update, trial_loss.\n"
      "# One that was not tried and says no reason takes longer. Left out: {} that repeat others, "
      "have no price or do not fit; `yoke plan --json` lists all.\n"
      "[compared]\ncandidates = [\n{}]\n",
      left_out, lines);
}

}  // namespace

std::vector<std::vector<std::string>> TableOf(const Plan& plan, size_t most) {
  std::vector<std::vector<std::string>> rows = {
      {"candidate", "ms/update", "measured", "updates", "time", "trial loss", ""}};
  for (size_t i = 0; i < plan.candidates.size() && i < most; ++i) {
    const Candidate& one = plan.candidates[i];
    if (one.seconds_per_update == 0 && !one.measured) continue;
    rows.push_back({one.name, Milliseconds(one.seconds_per_update),
                    one.measured ? Milliseconds(*one.measured) : "-",
                    one.updates > 0 ? Count(std::llround(one.updates)) : "-",
                    one.Seconds() > 0 ? Duration(one.Seconds()) : "-",
                    one.loss ? Metric(*one.loss) : "-",
                    static_cast<int>(i) == plan.chosen ? "chosen" : one.dropped});
  }
  return rows;
}

Value UseTable(const Overrides& keys) {
  Value use = Table{};
  for (const Override& key : keys) {
    const size_t dot = key.key.find('.');
    const std::string section = key.key.substr(0, dot);
    if (!use.Find(section)) use.Set(section, Table{});
    use.Find(section)->Set(key.key.substr(dot + 1), ValueOf(key));
  }
  return use;
}

std::string FormatPlan(const Plan& plan, const std::string& command) {
  std::string text = fmt::format("# Written by: {}\n", command);
  for (const std::string& note : plan.notes) text += "# " + note + "\n";
  const Candidate& best = plan.best();
  Overrides keys = {PlanKey("node.executor", best.executor, /*text=*/true),
                    PlanKey("node.precision", best.precision, /*text=*/true),
                    PlanKey("cluster.strategy", best.strategy, /*text=*/true)};
  keys.insert(keys.end(), plan.keys.begin(), plan.keys.end());
  const Value root = Table{{"chosen", Value(plan.best().name)},
                           {"machine", Value(plan.machine)},
                           {"noise_scale", Rounded(plan.noise_scale)},
                           {"seconds", Rounded(plan.seconds)},
                           {"use", UseTable(keys)}};
  return text + "# `yoke train JOB --plan FILE` sets the keys in [use]; they may be edited.\n" +
         FormatToml(root) + CandidateLines(plan);
}

Overrides KeysOfPlan(const Value& root, const std::string& path) {
  const Value* use = root.Find("use");
  Require(use && use->AsTable(),
          "{}: expected a table [use] with keys of a job, as `yoke plan` writes", path);
  Overrides keys;
  for (const auto& [section, table] : *use->AsTable()) {
    Require(table.AsTable(), "{}: expected a table of the section's keys, such as [use.node]",
            Where(table, "use." + section));
    for (const auto& [key, value] : *table.AsTable())
      keys.push_back({.key = fmt::format("{}.{}", section, key),
                      .value = FormatValue(value),
                      .flag = Where(value, fmt::format("use.{}.{}", section, key))});
  }
  return keys;
}

Overrides ReadPlanKeys(const std::string& path) { return KeysOfPlan(ReadToml(path), path); }

}  // namespace yoke
