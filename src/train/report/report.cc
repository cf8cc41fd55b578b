// Report: gathers what run directories record; page/ draws it.
#include "train/report/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/check.h"
#include "base/json.h"
#include "base/version.h"
#include "train/files.h"
#include "train/record/record.h"
#include "train/record/timeline.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;

/// The events of metrics.jsonl that tell what was trained.
List LinesOf(const std::string& folder) {
  constexpr std::array kEvents = {"start", "evaluation", "epoch", "end"};
  List lines;
  ReadRecord(folder, [&](Value line) {
    const Value& is = *line.Find("event");
    if (std::ranges::any_of(kEvents, [&](const char* event) { return is == Value(event); }))
      lines.push_back(std::move(line));
  });
  return lines;
}

/// A job's values as text by "section.key".
Table KeysOf(const Value& job) {
  Table keys;
  if (!job.AsTable()) return keys;
  for (const auto& [section, table] : *job.AsTable())
    if (table.AsTable())
      for (const auto& [key, value] : *table.AsTable())
        keys.emplace_back(fmt::format("{}.{}", section, key), FormatValue(value));
  return keys;
}

/// What `yoke eval --keep` left; none: nothing, or nothing whole.
std::optional<Value> KeptEvaluation(const std::string& folder) {
  const std::string file = folder + "/evaluation.json";
  if (!fs::exists(file)) return {};
  try {
    return ParseJson(ReadOwn(file));
  } catch (const std::exception&) {  // no JSON
    return {};
  }
}

Table RunOf(const std::string& folder, const std::string& name) {
  Require(fs::exists(folder), "there is no run directory {}", folder);
  Require(fs::exists(folder + "/metrics.jsonl") && fs::exists(folder + "/job.toml"),
          "{} holds no run: expected job.toml and metrics.jsonl in it", folder);
  const Value job = ReadOwnToml(folder + "/job.toml");
  Table run = {{"job", KeysOf(job)}, {"toml", FormatToml(job)}, {"lines", LinesOf(folder)}};
  if (const auto timeline = ReadTimeline(folder))
    run.emplace_back("timeline", ParseJson(*timeline));
  if (auto kept = KeptEvaluation(folder)) run.emplace_back("evaluation", *std::move(kept));
  if (const std::string plan = folder + "/plan.toml"; fs::exists(plan))
    run.emplace_back("plan", ReadOwnToml(plan));
  run.emplace_back("name", name);
  return run;
}

/// Paths without the folder that all have in common.
std::vector<std::string> NamesOf(const std::vector<std::string>& folders) {
  std::vector<std::string> names;
  for (const std::string& folder : folders) {
    names.push_back(fs::path(folder).lexically_normal().string());
    while (names.back().size() > 1 && names.back().back() == '/') names.back().pop_back();
  }
  size_t common = names[0].rfind('/') + 1;
  for (const std::string& name : names)
    while (common > 0 && name.compare(0, common, names[0], 0, common) != 0)
      common = common < 2 ? 0 : names[0].rfind('/', common - 2) + 1;
  for (std::string& name : names) name.erase(0, common);
  return names;
}

constexpr std::array kSets = {"train", "validation", "test"};

/// The metrics of an event, such as ("test_accuracy", 0.9).
std::vector<std::pair<std::string, double>> FiguresOf(const Value& line) {
  std::vector<std::pair<std::string, double>> metrics;
  for (const char* set : kSets)
    if (const Value* table = line.Find(set); table && table->AsTable())
      for (const auto& [name, value] : *table->AsTable())
        if (const auto number = value.AsFloat())
          metrics.emplace_back(fmt::format("{}_{}", set, name), *number);
  return metrics;
}

/// The lines of a record; none where it is damaged.
const List& EventsOf(const Value& run) {
  static const List none;
  const Value* const lines = run.Find("lines");
  return lines && lines->AsList() ? *lines->AsList() : none;
}

/// A run's seed; `job` becomes its other settings.
std::string SeedOf(const Value& run, std::string& job) {
  std::string seed;
  const Value* const settings = run.Find("job");
  if (!settings || !settings->AsTable()) return seed;
  for (const auto& [key, value] : *settings->AsTable()) {
    const std::string text = value.AsString() ? *value.AsString() : FormatValue(value);
    if (key == "train.seed")
      seed = text;
    else
      job += key + "=" + text + "\n";
  }
  return seed;
}

std::string InQuotes(const std::string& text) {
  if (text.find_first_of("\",\n") == text.npos) return text;
  std::string quoted;
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return '"' + quoted + '"';
}

}  // namespace

std::string RunsAsCsv(const std::vector<std::string>& folders) {
  constexpr std::array kFacts = {"event",   "epoch",         "step",
                                 "seconds", "learning_rate", "examples_per_second"};
  const std::vector<std::string> names = NamesOf(folders);
  std::vector<std::string> columns;
  std::vector<Value> runs;
  for (size_t i = 0; i < folders.size(); ++i) runs.emplace_back(RunOf(folders[i], names[i]));
  for (const Value& run : runs)
    for (const Value& line : EventsOf(run))
      for (const auto& [name, value] : FiguresOf(line))
        if (std::ranges::find(columns, name) == columns.end()) columns.push_back(name);
  std::string text = "run,seed";
  for (const char* fact : kFacts) text += fmt::format(",{}", fact);
  for (const std::string& column : columns) text += "," + column;
  text += '\n';
  for (size_t i = 0; i < runs.size(); ++i) {
    std::string job;
    const std::string start = InQuotes(names[i]) + "," + SeedOf(runs[i], job);
    for (const Value& line : EventsOf(runs[i])) {
      const Value* const event = line.Find("event");
      if (!event || *event == Value("start")) continue;
      text += start;
      for (const char* fact : kFacts) {
        const Value* value = line.Find(fact);
        text += "," + (!value ? "" : value->AsString() ? *value->AsString() : FormatValue(*value));
      }
      const auto metrics = FiguresOf(line);
      for (const std::string& column : columns) {
        const auto found =
            std::ranges::find(metrics, column, &std::pair<std::string, double>::first);
        text += found == metrics.end() ? "," : fmt::format(",{}", found->second);
      }
      text += '\n';
    }
  }
  return text;
}

std::vector<SeedGroup> SeedGroupsOf(const std::vector<std::string>& folders) {
  std::map<std::string, SeedGroup> groups;
  std::map<std::string, std::map<std::string, std::vector<double>>> values;
  std::map<std::string, std::set<std::string>> seeds;
  const std::vector<std::string> names = NamesOf(folders);
  for (size_t i = 0; i < folders.size(); ++i) {
    const Value run = RunOf(folders[i], names[i]);
    std::string job;
    const std::string seed = SeedOf(run, job);
    if (!seeds[job].insert(seed).second) continue;
    std::vector<std::pair<std::string, double>> last;
    for (const Value& line : EventsOf(run)) {
      auto metrics = FiguresOf(line);
      std::erase_if(metrics, [](const auto& one) { return one.first.starts_with("train_"); });
      if (!metrics.empty()) last = std::move(metrics);
    }
    groups[job].runs.push_back(names[i]);
    for (const auto& [name, value] : last) values[job][name].push_back(value);
  }
  std::vector<SeedGroup> several;
  for (auto& [job, group] : groups) {
    if (group.runs.size() < 2) continue;
    for (const auto& [name, figures] : values[job]) {
      if (figures.size() != group.runs.size()) continue;
      const auto n = static_cast<double>(figures.size());
      double mean = 0, squares = 0;
      for (const double figure : figures) mean += figure / n;
      for (const double figure : figures) squares += (figure - mean) * (figure - mean);
      group.figures.push_back({name, mean, std::sqrt(squares / (n - 1))});
    }
    several.push_back(std::move(group));
  }
  return several;
}

std::string RunsAsJson(const std::vector<std::string>& folders) {
  List runs;
  const std::vector<std::string> names = NamesOf(folders);
  for (size_t i = 0; i < folders.size(); ++i) runs.emplace_back(RunOf(folders[i], names[i]));
  return FormatJson(
      Table{{"yoke", fmt::format("{} ({})", Version(), Commit())}, {"runs", std::move(runs)}});
}

std::string ReportPage(const std::vector<std::string>& runs) {
  std::string json = RunsAsJson(runs);
  // A "<" in a text may not end the script that holds it.
  for (size_t at = 0; (at = json.find('<', at)) != std::string::npos;)
    json.replace(at, 1, "\\u003c");
  std::string page(ReportTemplate());
  constexpr std::string_view kPlace = "@RUNS@</script>";
  page.replace(page.find(kPlace), kPlace.find('<'), json);
  return page;
}

}  // namespace yoke
