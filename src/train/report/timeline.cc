// Timeline section: a picture for each simulated run, then what part of its time each spent.
#include "train/report/timeline.h"

#include <fmt/core.h>

#include "train/human.h"
#include "train/report/chart.h"
#include "train/report/lanes.h"

namespace yoke {
namespace {

std::string RanksDrawn(const TimelinePicture& picture) {
  const auto lanes = static_cast<int64_t>(picture.lanes.size());
  if (lanes < picture.ranks) return fmt::format("{} of {} ranks", lanes, Count(picture.ranks));
  return lanes == 1 ? "1 rank" : fmt::format("all {} ranks", lanes);
}

std::string TimelineFigure(const ReportRun& run) {
  const std::string svg =
      DrawLanes(fmt::format("{}: {}", run.name, RanksDrawn(*run.timeline)), *run.timeline);
  return svg.empty() ? "" : "<figure class='lanes'>" + svg + "</figure>\n";
}

std::string FractionCell(double fraction, int rank) {
  std::string text = fmt::format("{:.1f} %", 100 * fraction);
  if (rank >= 0) text += fmt::format(" (rank {})", Count(rank));
  return "<td class='number'>" + text + "</td>";
}

std::string TimelineRows(const ReportRun& run) {
  const size_t count = run.timeline->sends ? kActivities : kActivities - 1;  // sending is the last
  std::string html;
  for (size_t a = 0; a < count; ++a) {
    const ActivitySpread& spread = run.timeline->spreads[a];
    html += "<tr>";
    if (a == 0) html += fmt::format("<th rowspan='{}'>{}</th>", count, Escape(run.name));
    html += fmt::format("<td>{}</td>", kActivityNames[a]) +
            FractionCell(spread.minimum, spread.minimum_rank) + FractionCell(spread.median, -1) +
            FractionCell(spread.maximum, spread.maximum_rank) + "</tr>\n";
  }
  return html;
}

}  // namespace

std::string TimelineSection(const std::vector<ReportRun>& runs) {
  std::string figures, rows;
  bool sends = false;
  for (const ReportRun& run : runs) {
    if (!run.timeline) continue;
    figures += TimelineFigure(run);
    rows += TimelineRows(run);
    sends = sends || run.timeline->sends;
  }
  if (rows.empty()) return "";
  return "<h2>Who computes, waits and sends</h2>\n<p class='note'>A few steps of the simulated "
         "cluster, a lane for each rank. The table has fractions of the whole run's time, over all "
         "ranks.</p>\n" +
         (figures.empty() ? "" : LanesKey(sends) + figures) +
         "<div class='wide after'><table><thead><tr><th>run</th><th></th>"
         "<th class='number'>minimum</th><th class='number'>median</th>"
         "<th class='number'>maximum</th></tr></thead><tbody>\n" +
         rows + "</tbody></table></div>\n";
}

}  // namespace yoke
