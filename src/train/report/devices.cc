// Devices: counts so far (node/device_work.h) in a table, and their growth from epoch to epoch in
// charts. A row and its lines have one colour.
#include "train/report/devices.h"

#include <fmt/core.h>

#include <cmath>

#include "train/human.h"
#include "train/report/chart.h"
#include "train/report/style.h"

namespace yoke {
namespace {

std::string Number(double value) { return fmt::format("{:.4g}", value); }
std::string Percent(double value) { return fmt::format("{:.1f} %", 100 * value); }
std::string Whole(double value) { return Count(std::llround(value)); }

// The table.

double Total(const std::vector<ReportDevice>& node, const char* metric) {
  double total = 0;
  for (const ReportDevice& device : node)
    if (const double value = device.Get(metric); std::isfinite(value)) total += value;
  return total;
}

std::string Cell(double value, std::string (*text)(double)) {
  return fmt::format("<td class='number'>{}</td>", std::isfinite(value) ? text(value) : "-");
}

std::string Row(const ReportRun& run, const ReportDevice& device, int colour) {
  const double examples = device.Get("examples"), updates = device.Get("updates");
  return fmt::format("<tr><th><i class='swatch c{}'></i>{}</th><td>{}</td>",
                     colour % kReportColours, Escape(run.name), Escape(device.name)) +
         Cell(examples, Whole) + Cell(examples / Total(run.node, "examples"), Percent) +
         Cell(updates, Whole) + Cell(updates / Total(run.node, "updates"), Percent) +
         Cell(examples / updates, Number) + Cell(device.Get("busy"), Percent) +
         Cell(device.Get("staleness"), Number) + Cell(device.Get("most_stale"), Whole) + "</tr>\n";
}

std::string Header() {
  std::string html = "<div class='wide'><table><thead><tr><th>run</th><th>device</th>";
  for (const char* title : {"examples", "of all examples", "updates", "of all updates",
                            "examples per update", "busy", "staleness, mean", "staleness, most"})
    html += fmt::format("<th class='number'>{}</th>", title);
  return html + "</tr></thead><tbody>\n";
}

// The charts.

/// The device at the end of the epoch before `i`; null if it counts from 0 since then: it is new,
/// the executor is another, or a count has fallen.
const ReportDevice* Before(const ReportRun& run, size_t i, const ReportDevice& device) {
  if (i == 0 || run.epochs[i - 1].executor != run.epochs[i].executor) return nullptr;
  const ReportDevice* const before = FindDevice(run.epochs[i - 1].node, device.name);
  for (const char* metric : {"examples", "updates"})
    if (before && before->Get(metric) > device.Get(metric)) return nullptr;
  return before;
}

/// A device's count in epoch `i` alone.
double Growth(const ReportRun& run, size_t i, const ReportDevice& device, const char* metric) {
  const ReportDevice* const before = Before(run, i, device);
  return device.Get(metric) - (before ? before->Get(metric) : 0);
}

double ExamplesPerUpdate(const ReportRun& run, size_t i, const ReportDevice& device) {
  return Growth(run, i, device, "examples") / Growth(run, i, device, "updates");
}

double FractionOfUpdates(const ReportRun& run, size_t i, const ReportDevice& device) {
  double all = 0;
  for (const ReportDevice& other : run.epochs[i].node) all += Growth(run, i, other, "updates");
  return Growth(run, i, device, "updates") / all;
}

using Measure = double (*)(const ReportRun& run, size_t epoch, const ReportDevice& device);

std::vector<ChartPoint> PointsOf(const ReportRun& run, const std::string& device, Measure measure) {
  std::vector<ChartPoint> points;
  for (size_t i = 0; i < run.epochs.size(); ++i)
    if (const ReportDevice* const found = FindDevice(run.epochs[i].node, device))
      points.push_back({run.epochs[i].epoch, measure(run, i, *found)});
  return points;
}

std::string Chart(const std::vector<ReportRun>& runs, const char* title, Measure measure,
                  bool may_be_logarithmic) {
  ChartSpec chart{.title = title,
                  .x_label = "epoch",
                  .whole_x = true,
                  .from_zero = true,
                  .may_be_logarithmic = may_be_logarithmic,
                  .series = {}};
  int row = 0;
  for (const ReportRun& run : runs)
    for (const ReportDevice& device : run.node)
      chart.series.push_back({.name = run.name + ", " + device.name,
                              .colour = row++ % kReportColours,
                              .points = PointsOf(run, device.name, measure)});
  const std::string svg = DrawChart(chart);
  return svg.empty() ? "" : "<figure>" + svg + "</figure>\n";
}

}  // namespace

std::string DevicesSection(const std::vector<ReportRun>& runs) {
  std::string rows;
  int row = 0;
  for (const ReportRun& run : runs)
    for (const ReportDevice& device : run.node) rows += Row(run, device, row++);
  if (rows.empty()) return "";
  const std::string charts = Chart(runs, "Examples per update", ExamplesPerUpdate, true) +
                             Chart(runs, "Fraction of the updates", FractionOfUpdates, false);
  return "<h2>Devices</h2>\n<p class='note'>Counts since the run began; busy and staleness since "
         "its last session began. Of several replicas, rank 0's devices.</p>\n" +
         Header() + rows + "</tbody></table></div>\n" +
         (charts.empty() ? "" : "<div class='charts'>\n" + charts + "</div>\n");
}

}  // namespace yoke
