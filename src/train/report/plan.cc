// Plan: a row for each priced candidate, with a bar as long as its predicted time.
#include "train/report/plan.h"

#include <fmt/core.h>

#include <algorithm>

#include "train/human.h"
#include "train/report/chart.h"

namespace yoke {
namespace {

constexpr int kMostRows = 24, kBarWidth = 160;

double NumberOf(const Value& candidate, const char* key) {
  const Value* value = candidate.Find(key);
  return value && value->AsFloat() ? *value->AsFloat() : 0;
}

std::string TextOf(const Value& table, const char* key) {
  const Value* value = table.Find(key);
  return value && value->AsString() ? *value->AsString() : "";
}

std::string Cell(double value, const std::string& text) {
  return fmt::format("<td class='number'>{}</td>", value > 0 ? text : "-");
}

std::string Bar(double part) {
  return fmt::format(
      "<td><svg width='{0}' height='10' viewBox='0 0 {0} 10'><rect width='{1:.1f}' height='10' "
      "rx='2' fill='currentColor' class='c0'/></svg></td>",
      kBarWidth, kBarWidth * std::clamp(part, 0.0, 1.0));
}

std::string Row(const Value& candidate, const std::string& chosen, double longest) {
  const std::string name = TextOf(candidate, "name");
  const double update = NumberOf(candidate, "seconds_per_update");
  const double measured = NumberOf(candidate, "measured");
  const double seconds = NumberOf(candidate, "seconds");
  const double loss = NumberOf(candidate, "trial_loss");
  return fmt::format("<tr><th>{}</th>", Escape(name)) +
         Cell(update, fmt::format("{:.3g} ms", 1000 * update)) +
         Cell(measured, fmt::format("{:.3g} ms", 1000 * measured)) +
         Cell(seconds, Duration(seconds)) + Bar(seconds / longest) + Cell(loss, Metric(loss)) +
         fmt::format("<td>{}</td></tr>\n",
                     Escape(name == chosen ? "chosen" : TextOf(candidate, "dropped")));
}

std::string Rows(const Value& plan) {
  const Value* compared = plan.Find("compared");
  const Value* list = compared ? compared->Find("candidates") : plan.Find("candidate");  // of old
  if (!list || !list->AsList()) return "";
  std::vector<const Value*> priced;
  double longest = 0;
  for (const Value& one : *list->AsList())
    if (NumberOf(one, "seconds") > 0 && std::ssize(priced) < kMostRows) {
      priced.push_back(&one);
      longest = std::max(longest, NumberOf(one, "seconds"));
    }
  std::string html;
  for (const Value* one : priced) html += Row(*one, TextOf(plan, "chosen"), longest);
  return html;
}

/// What a trial of rates and momenta found.
std::string TriedRow(const Value& tried) {
  const double loss = NumberOf(tried, "loss"), momentum = NumberOf(tried, "momentum");
  const Value* steps = tried.Find("steps");
  return fmt::format("<tr><th>{:g}</th>", NumberOf(tried, "learning_rate")) +
         Cell(tried.Find("momentum") ? 1 : 0, fmt::format("{:g}", momentum)) +
         Cell(steps ? 1 : 0, steps && steps->AsInt() ? Count(*steps->AsInt()) : "-") +
         fmt::format("<td class='number'>{}</td></tr>\n",
                     tried.Find("diverged") ? "diverged" : Metric(loss));
}

/// The table of the settings tried; "" if there are none.
std::string TriedTable(const ReportRun& run) {
  const Value* list = run.plan ? run.plan->Find("tried") : nullptr;
  if (!list || !list->AsList()) return "";
  std::string rows;
  for (const Value& one : *list->AsList()) rows += TriedRow(one);
  return fmt::format(
      "<div class='wide after'><table><thead><tr><th>{}: learning rate tried</th>"
      "<th class='number'>momentum</th><th class='number'>steps</th>"
      "<th class='number'>loss of its trials</th></tr></thead><tbody>\n{}</tbody></table></div>\n",
      Escape(run.name), rows);
}

}  // namespace

std::string PlanSection(const std::vector<ReportRun>& runs) {
  std::string tables, tried;
  for (const ReportRun& run : runs) {
    tried += TriedTable(run);
    const std::string rows = run.plan ? Rows(*run.plan) : "";
    if (rows.empty()) continue;
    tables +=
        fmt::format("<div class='wide after'><table><thead><tr><th>{}</th>", Escape(run.name));
    for (const char* title : {"an update, predicted", "measured", "in all, predicted"})
      tables += fmt::format("<th class='number'>{}</th>", title);
    tables +=
        "<th></th><th class='number'>loss of its trials</th><th>why not</th></tr></thead>"
        "<tbody>\n" +
        rows + "</tbody></table></div>\n";
  }
  if (tables.empty() && tried.empty()) return "";
  if (!tables.empty())
    tables =
        "<p class='note'>The candidates with the shortest predicted times. An update is a batch on "
        "each replica.</p>\n" +
        tables;
  return "<h2>How the configuration was chosen</h2>\n" + tables + tried;
}

}  // namespace yoke
