// Report: gathers what run directories record; page/ draws it.
#include "train/report/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/check.h"
#include "base/json.h"
#include "base/version.h"
#include "train/files.h"
#include "train/record/record.h"
#include "train/record/timeline.h"
#include "train/report/page.h"

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

Table RunOf(const std::string& folder, const std::string& name) {
  Require(fs::exists(folder), "there is no run directory {}", folder);
  Require(fs::exists(folder + "/metrics.jsonl") && fs::exists(folder + "/job.toml"),
          "{} holds no run: expected job.toml and metrics.jsonl in it", folder);
  const Value job = ReadOwnToml(folder + "/job.toml");
  Table run = {{"job", KeysOf(job)}, {"toml", FormatToml(job)}, {"lines", LinesOf(folder)}};
  if (const auto timeline = ReadTimeline(folder))
    run.emplace_back("timeline", ParseJson(*timeline));
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

}  // namespace

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
