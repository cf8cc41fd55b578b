// Exchange table: one column per metric of train/exchange.h that any run has.
#include "train/report/exchange.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/value.h"
#include "train/human.h"
#include "train/report/chart.h"
#include "train/report/style.h"

namespace yoke {
namespace {

struct Column {
  const char* metric;
  const char* title;
  std::string (*text)(double);
};

const std::vector<Column>& Columns() {
  static const auto number = [](double value) { return fmt::format("{:.4g}", value); };
  static const auto count = [](double value) { return yoke::Count(std::llround(value)); };
  static const std::vector<Column> columns = {
      {"bytes", "sent", [](double value) { return Bytes(value); }},
      {"bytes_by_formula", "of these by formula", [](double value) { return Bytes(value); }},
      {"messages", "messages", count},
      {"communicating", "time communicating",
       [](double value) { return fmt::format("{:.1f} %", 100 * value); }},
      {"updates", "updates", count},
      {"effective_batch", "effective batch", number},
      {"staleness_mean", "staleness, mean", number},
      {"staleness_95", "95th percentile", number},
      {"consensus_distance", "distance between replicas", number}};
  return columns;
}

/// A key of the job's [cluster] as text.
std::string ClusterKey(const ReportRun& run, const char* key) {
  const Value* section = run.job.Find("cluster");
  const Value* value = section ? section->Find(key) : nullptr;
  if (!value) return "-";
  return value->AsString() ? *value->AsString() : FormatValue(*value);
}

bool HasColumn(const std::vector<ReportRun>& runs, const Column& column) {
  return std::any_of(runs.begin(), runs.end(), [&column](const ReportRun& run) {
    return run.exchange.count(column.metric) > 0;
  });
}

std::string Row(const std::vector<ReportRun>& runs, size_t i) {
  const ReportRun& run = runs[i];
  std::string html =
      fmt::format("<tr><th><i class='swatch c{}'></i>{}</th><td>{}</td><td class='number'>{}</td>",
                  static_cast<int>(i) % kReportColours, Escape(run.name),
                  Escape(ClusterKey(run, "strategy")), Escape(ClusterKey(run, "replicas")));
  for (const Column& column : Columns()) {
    if (!HasColumn(runs, column)) continue;
    const auto found = run.exchange.find(column.metric);
    html += fmt::format("<td class='number'>{}</td>",
                        found == run.exchange.end() ? "-" : column.text(found->second));
  }
  return html + "</tr>\n";
}

}  // namespace

std::string ExchangeTable(const std::vector<ReportRun>& runs) {
  std::string rows;
  for (size_t i = 0; i < runs.size(); ++i)
    if (!runs[i].exchange.empty()) rows += Row(runs, i);
  if (rows.empty()) return "";
  std::string html =
      "<h2>What replicas exchanged</h2>\n<div class='wide'><table><thead><tr><th>run</th>"
      "<th>strategy</th><th class='number'>replicas</th>";
  for (const Column& column : Columns())
    if (HasColumn(runs, column)) html += fmt::format("<th class='number'>{}</th>", column.title);
  return html + "</tr></thead><tbody>\n" + rows + "</tbody></table></div>\n";
}

}  // namespace yoke
