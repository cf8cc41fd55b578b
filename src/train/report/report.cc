// Report: assembles the page from results, charts over epochs and seconds, differences between
// jobs, and conditions.
#include "train/report/report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/value.h"
#include "base/version.h"
#include "train/human.h"
#include "train/report/chart.h"
#include "train/report/devices.h"
#include "train/report/exchange.h"
#include "train/report/plan.h"
#include "train/report/run.h"
#include "train/report/style.h"
#include "train/report/timeline.h"

namespace yoke {
namespace {

using Runs = std::vector<ReportRun>;

/// A pair of charts: the same values over epochs and over seconds.
struct Panel {
  std::string title;
  std::vector<std::string> solid;   ///< Names of ReportEpoch::values drawn as solid lines,
  std::vector<std::string> dashed;  ///< and as dashed ones.
  bool from_zero = false;
  bool may_be_logarithmic = false;
};

const std::vector<Panel>& Panels() {
  static const std::vector<Panel> panels = {
      {"Loss", {"test loss"}, {"train loss", "validation loss"}, false, true},
      {"Accuracy", {"test accuracy"}, {"validation accuracy"}},
      {"Precision at 1", {"test p_at_1"}, {"validation p_at_1"}},
      {"Precision at 3", {"test p_at_3"}, {"validation p_at_3"}},
      {"Precision at 5", {"test p_at_5"}, {"validation p_at_5"}},
      {"Area under the ROC curve", {"test auc"}, {"validation auc"}},
      {"Learning rate", {"learning_rate"}, {}, true},
      {"Training examples per second", {"examples_per_second"}, {}, true},
      {"Distance between replicas", {"exchange consensus_distance"}, {}, true}};
  return panels;
}

int ColourOf(size_t run) { return static_cast<int>(run) % kReportColours; }

/// The unit of the time axis.
struct TimeUnit {
  const char* name = "seconds";
  double seconds = 1;
};

TimeUnit UnitFor(const Runs& runs) {
  double longest = 0;
  for (const ReportRun& run : runs)
    if (!run.epochs.empty()) longest = std::max(longest, run.epochs.back().seconds);
  if (longest > 3 * 3600) return {"hours", 3600};
  if (longest > 600) return {"minutes", 60};
  return {};
}

/// Removes the folder that all runs have in common from their names.
void ShortenNames(Runs& runs) {
  size_t common = runs[0].name.rfind('/') + 1;
  for (const ReportRun& run : runs)
    while (common > 0 && run.name.compare(0, common, runs[0].name, 0, common) != 0)
      common = common < 2 ? 0 : runs[0].name.rfind('/', common - 2) + 1;
  for (ReportRun& run : runs) run.name.erase(0, common);
}

/// Values by epoch, or by time in `unit`.
std::vector<ChartPoint> PointsOf(const ReportRun& run, const std::string& name,
                                 const TimeUnit* unit) {
  std::vector<ChartPoint> points;
  for (const ReportEpoch& epoch : run.epochs)
    if (const auto found = epoch.values.find(name); found != epoch.values.end())
      points.push_back({unit ? epoch.seconds / unit->seconds : epoch.epoch, found->second});
  return points;
}

void AddSeries(const Runs& runs, const Panel& panel, const TimeUnit* unit, ChartSpec& chart) {
  for (size_t i = 0; i < runs.size(); ++i) {
    for (bool faint : {true, false}) {
      for (const std::string& name : faint ? panel.dashed : panel.solid) {
        std::vector<ChartPoint> points = PointsOf(runs[i], name, unit);
        if (points.empty()) continue;
        chart.series.push_back({.name = runs[i].name + ", " + name,
                                .colour = ColourOf(i),
                                .faint = faint,
                                .points = std::move(points)});
      }
    }
  }
}

std::string DrawPanel(const Runs& runs, const Panel& panel) {
  const TimeUnit time = UnitFor(runs);
  std::string html;
  for (const TimeUnit* unit : {static_cast<const TimeUnit*>(nullptr), &time}) {
    ChartSpec chart{.title = panel.title,
                    .x_label = unit ? unit->name : "epoch",
                    .whole_x = unit == nullptr,
                    .from_zero = panel.from_zero,
                    .may_be_logarithmic = panel.may_be_logarithmic,
                    .series = {}};
    AddSeries(runs, panel, unit, chart);
    const std::string svg = DrawChart(chart);
    if (!svg.empty()) html += "<figure>" + svg + "</figure>\n";
  }
  return html;
}

std::string Charts(const Runs& runs) {
  std::string html;
  for (const Panel& panel : Panels()) html += DrawPanel(runs, panel);
  if (html.empty()) return "<p class='note'>No epoch is complete yet.</p>\n";
  return "<div class='charts'>\n" + html + "</div>\n";
}

bool HasValue(const Runs& runs, const std::string& prefix) {
  for (const ReportRun& run : runs)
    for (const ReportEpoch& epoch : run.epochs)
      for (const auto& [name, value] : epoch.values)
        if (name.rfind(prefix, 0) == 0) return true;
  return false;
}

/// The legend: colours for runs, dashes for training data.
std::string Key(const Runs& runs) {
  std::string html = "<ul class='key'>\n";
  auto item = [&](int colour, bool faint, const std::string& text) {
    html += fmt::format(
        "<li><svg viewBox='0 0 26 10' class='c{}{}'><path class='line' d='M2 "
        "5H24'/></svg>{}</li>\n",
        colour, faint ? " faint" : "", Escape(text));
  };
  if (runs.size() > 1)
    for (size_t i = 0; i < runs.size(); ++i) item(ColourOf(i), false, runs[i].name);
  const int neutral = runs.size() > 1 ? kReportColours - 1 : 0;
  if (HasValue(runs, "test ")) item(neutral, false, "test data");
  item(neutral, true,
       HasValue(runs, "validation ") ? "training and validation data" : "training data");
  return html + "</ul>\n";
}

// Results.

std::vector<std::string> MetricsOf(const Runs& runs) {
  std::vector<std::string> names;
  for (const ReportRun& run : runs)
    for (const auto& [name, value] : run.test)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  return names;
}

double TestMetric(const ReportRun& run, const std::string& name) {
  for (const auto& [known, value] : run.test)
    if (known == name) return value;
  return NAN;
}

double BestOf(const Runs& runs, const std::string& name) {
  double best = NAN;
  for (const ReportRun& run : runs) {
    const double value = TestMetric(run, name);
    if (std::isnan(best) || (MoreIsBetter(name) ? value > best : value < best)) best = value;
  }
  return best;
}

std::string MetricCell(const Runs& runs, const ReportRun& run, const std::string& name) {
  const double value = TestMetric(run, name);
  const bool best = runs.size() > 1 && value == BestOf(runs, name);
  return fmt::format("<td class='number{}'>{}</td>", best ? " best" : "",
                     std::isnan(value) ? "-" : Metric(value));
}

bool HaveCosts(const Runs& runs) {
  return std::ranges::any_of(runs, [](const ReportRun& run) { return run.cost > 0; });
}

std::string Epochs(const ReportRun& run) { return fmt::format("{:.6g}", run.epochs_done); }

std::string ResultRow(const Runs& runs, size_t i) {
  const ReportRun& run = runs[i];
  std::string html =
      fmt::format("<tr><th><i class='swatch c{}'></i>{}</th>", ColourOf(i), Escape(run.name));
  for (const std::string& name : MetricsOf(runs)) html += MetricCell(runs, run, name);
  if (HaveCosts(runs))
    html += fmt::format("<td class='number'>{}</td>",
                        run.cost > 0 ? fmt::format("{:.4g}", run.cost) : "-");
  const double rate = TypicalRate(run);
  return html + fmt::format(
                    "<td class='number'>{}</td><td class='number'>{}</td><td "
                    "class='number'>{}</td><td>{}</td></tr>\n",
                    Epochs(run), Duration(run.seconds) + (run.simulated ? " (virtual)" : ""),
                    rate > 0 ? Count(std::llround(rate)) : "-", Escape(run.reason));
}

std::string ResultTable(const Runs& runs) {
  std::string html = "<h2>Results</h2>\n<div class='wide'><table><thead><tr><th>run</th>";
  for (const std::string& name : MetricsOf(runs))
    html += "<th class='number'>test " + Escape(name) + "</th>";
  if (HaveCosts(runs)) html += "<th class='number'>cost</th>";
  html +=
      "<th class='number'>epochs</th><th class='number'>time</th><th "
      "class='number'>examples/s</th><th>ended</th></tr></thead><tbody>\n";
  for (size_t i = 0; i < runs.size(); ++i) html += ResultRow(runs, i);
  return html + "</tbody></table></div>\n";
}

std::string Tile(const std::string& value, const std::string& name) {
  return fmt::format("<div class='tile'><b>{}</b><span>{}</span></div>\n", Escape(value),
                     Escape(name));
}

/// One run: its results in large figures.
std::string Tiles(const ReportRun& run) {
  std::string html = "<div class='tiles'>\n";
  for (const auto& [name, value] : run.test) html += Tile(Metric(value), "test " + name);
  const double rate = TypicalRate(run);
  return html + Tile(Epochs(run), run.epochs_done == 1 ? "epoch" : "epochs") +
         Tile(Duration(run.seconds), run.simulated ? "simulated training time" : "training time") +
         (run.cost > 0 ? Tile(fmt::format("{:.4g}", run.cost), "cost of the cluster") : "") +
         (rate > 0 ? Tile(Short(rate), "examples per second") : "") +
         Tile(run.reason, "how it ended") + "</div>\n";
}

/// A sentence for each run whose last weights have collapsed.
std::string Collapses(const Runs& runs) {
  std::string html;
  for (const ReportRun& run : runs)
    if (!run.collapse.empty())
      html += fmt::format("<p class='note'>{}: the model has collapsed: {}.</p>\n",
                          Escape(run.name), Escape(run.collapse));
  return html;
}

// Jobs.

using Keys = std::vector<std::pair<std::string, std::string>>;

/// A job's values by "section.key".
Keys Flatten(const Value& job) {
  Keys keys;
  if (!job.AsTable()) return keys;
  for (const auto& [section, table] : *job.AsTable())
    if (table.AsTable())
      for (const auto& [key, value] : *table.AsTable())
        keys.emplace_back(fmt::format("{}.{}", section, key), FormatValue(value));
  return keys;
}

std::string ValueOf(const Keys& keys, const std::string& name) {
  for (const auto& [key, value] : keys)
    if (key == name) return value;
  return "-";
}

/// The keys in which the jobs differ, in the order of the first job.
std::vector<std::string> DifferingKeys(const std::vector<Keys>& jobs) {
  std::vector<std::string> names;
  for (const Keys& job : jobs)
    for (const auto& [key, value] : job)
      if (std::find(names.begin(), names.end(), key) == names.end()) names.push_back(key);
  auto agree = [&](const std::string& key) {
    return std::all_of(jobs.begin(), jobs.end(),
                       [&](const Keys& job) { return ValueOf(job, key) == ValueOf(jobs[0], key); });
  };
  names.erase(std::remove_if(names.begin(), names.end(), agree), names.end());
  return names;
}

std::string Differences(const Runs& runs) {
  std::vector<Keys> jobs;
  for (const ReportRun& run : runs) jobs.push_back(Flatten(run.job));
  const std::vector<std::string> names = DifferingKeys(jobs);
  std::string html = "<h2>Differences between the jobs</h2>\n";
  if (names.empty()) return html + "<p class='note'>None: all runs have the same job.</p>\n";
  html += "<div class='wide'><table><thead><tr><th>key</th>";
  for (size_t i = 0; i < runs.size(); ++i)
    html += fmt::format("<th><i class='swatch c{}'></i>{}</th>", ColourOf(i), Escape(runs[i].name));
  html += "</tr></thead><tbody>\n";
  for (const std::string& name : names) {
    html += "<tr><th><code>" + Escape(name) + "</code></th>";
    for (const Keys& job : jobs) html += "<td><code>" + Escape(ValueOf(job, name)) + "</code></td>";
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

/// Conditions and the whole job of one run.
std::string Details(const ReportRun& run) {
  std::string html = fmt::format(
      "<details><summary>{}: conditions and job</summary>\n<div class='wide'><table><tbody>\n",
      Escape(run.name));
  for (const auto& [name, value] : run.facts)
    html += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", Escape(name), Escape(value));
  return html + "</tbody></table></div>\n<pre>" + Escape(FormatToml(run.job)) +
         "</pre></details>\n";
}

}  // namespace

std::string ReportPage(const std::vector<std::string>& folders) {
  Runs runs;
  for (const std::string& folder : folders) runs.push_back(ReadRun(folder));
  ShortenNames(runs);
  const bool single = runs.size() == 1;
  const std::string title = single ? runs[0].name : fmt::format("{} runs", runs.size());
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
      "content='width=device-width, initial-scale=1'><title>{} - "
      "yoke</title><style>{}</style></head><body><main>\n<h1>{}</h1>\n",
      Escape(title), ReportStyle(), Escape(title));
  html += single ? Tiles(runs[0]) : ResultTable(runs);
  html += Collapses(runs);
  html += "<h2>Curves</h2>\n" + Key(runs) + Charts(runs);
  html += ExchangeTable(runs);
  html += DevicesSection(runs);
  html += PlanSection(runs);
  html += TimelineSection(runs);
  if (!single) html += Differences(runs);
  html += "<h2>Conditions</h2>\n";
  for (const ReportRun& run : runs) html += Details(run);
  return html + fmt::format("<footer>Drawn by yoke {} ({}).</footer>\n</main></body></html>\n",
                            Version(), Commit());
}

}  // namespace yoke
