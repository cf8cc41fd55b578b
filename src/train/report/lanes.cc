// Lanes: a bar says whether the rank computes or waits, a strip under it whether its messages leave
// the card. Dark, hatched and thin, they differ without colours, too.
#include "train/report/lanes.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "train/human.h"
#include "train/record/timeline.h"
#include "train/report/chart.h"

namespace yoke {
namespace {

constexpr double kLanesWidth = 1060, kLanesLeft = 76, kLanesRight = 16, kLanesTop = 36;
constexpr double kLanesBottom = 44;
constexpr double kGroupGap = 7;  ///< More space between two groups of ranks.
constexpr size_t kFewLanes = 12;

/// Heights in units of the picture.
struct LaneShape {
  double bar = 0, gap = 0, strip = 0, pitch = 0;
};

LaneShape ShapeFor(size_t lanes) {
  if (lanes <= kFewLanes) return {.bar = 15, .gap = 1.5, .strip = 4.5, .pitch = 29};
  return {.bar = 10, .gap = 1, .strip = 3.5, .pitch = 19};
}

/// Of the time axis.
struct LaneUnit {
  const char* name = "seconds";
  double seconds = 1;
};

LaneUnit LaneUnitFor(double span) {
  if (span >= 2) return {};
  if (span >= 2e-3) return {"milliseconds", 1e-3};
  return {"microseconds", 1e-6};
}

/// Where things are.
struct LanesFrame {
  double span = 1;  ///< Seconds.
  LaneShape shape = {};
  std::vector<double> tops = {};  ///< Of the lanes.
  double end = 0;                 ///< Under the last lane.

  double At(double seconds) const {
    return kLanesLeft + seconds / span * (kLanesWidth - kLanesRight - kLanesLeft);
  }
};

LanesFrame FrameOf(const TimelinePicture& picture) {
  LanesFrame frame = {.span = picture.to - picture.from, .shape = ShapeFor(picture.lanes.size())};
  frame.end = kLanesTop;
  for (size_t i = 0; i < picture.lanes.size(); ++i) {
    if (i > 0 && picture.lanes[i].drawn.group != picture.lanes[i - 1].drawn.group)
      frame.end += kGroupGap;
    frame.tops.push_back(frame.end);
    frame.end += frame.shape.pitch;
  }
  return frame;
}

std::string LaneRectangles(const LanesFrame& frame, const TimelineLane& lane, Activity activity,
                           double top) {
  const bool sends = activity == Activity::kSending;
  const double y = sends ? top + frame.shape.bar + frame.shape.gap : top;
  const double height = sends ? frame.shape.strip : frame.shape.bar;
  std::string path;
  for (const auto& [begin, end] : lane.intervals[static_cast<size_t>(activity)]) {
    const double from = frame.At(std::clamp(begin, 0.0, frame.span));
    const double width = frame.At(std::clamp(end, 0.0, frame.span)) - from;
    if (width > 0)
      path += fmt::format("M{:.1f} {:.1f}h{:.2f}v{}h-{:.2f}z", from, y, width, height, width);
  }
  if (path.empty()) return "";
  return fmt::format("<path class='{}' d='{}'/>", kActivityNames[static_cast<size_t>(activity)],
                     path);
}

std::string LaneTitle(const TimelinePicture& picture, const TimelineLane& lane) {
  std::string text = fmt::format("rank {}, of the whole run:", lane.drawn.rank);
  for (size_t a = 0; a < kActivities; ++a)
    if (picture.sends || a != static_cast<size_t>(Activity::kSending))
      text += fmt::format("\n{} {:.1f} %", kActivityNames[a], 100 * lane.fractions[a]);
  return text;
}

std::string DrawLane(const TimelinePicture& picture, const LanesFrame& frame, size_t i) {
  const TimelineLane& lane = picture.lanes[i];
  const double top = frame.tops[i], bar = frame.shape.bar;
  std::string svg =
      fmt::format("<g><title>{}</title><text text-anchor='end' x='{}' y='{:.1f}'>{}{}</text>",
                  LaneTitle(picture, lane), kLanesLeft - 8, top + bar / 2 + 4.5,
                  i == 0 ? "rank " : "", Count(lane.drawn.rank));
  svg += fmt::format("<path class='hit' d='M{} {:.1f}H{}v{}H{}z'/>", kLanesLeft, top,
                     kLanesWidth - kLanesRight, frame.shape.pitch, kLanesLeft);
  for (const Activity activity : {Activity::kWaiting, Activity::kComputing, Activity::kSending})
    svg += LaneRectangles(frame, lane, activity, top);
  std::string ticks;
  for (const double end : lane.steps)
    if (end >= 0 && end <= frame.span)
      ticks += fmt::format("M{:.1f} {:.1f}v{}", frame.At(end), top - 2.5, bar + 4);
  if (!ticks.empty()) svg += fmt::format("<path class='step' d='{}'/>", ticks);
  return svg + "</g>\n";
}

std::string DrawLanesAxis(const TimelinePicture& picture, const LanesFrame& frame) {
  const LaneUnit unit = LaneUnitFor(frame.span);
  const std::vector<double> ticks = RoundTicks(0, frame.span / unit.seconds, 10);
  const int digits =
      ticks.size() < 2
          ? 0
          : std::clamp(static_cast<int>(-std::floor(std::log10(ticks[1]) + 1e-9)), 0, 6);
  std::string svg;
  for (const double tick : ticks) {
    const double at = frame.At(tick * unit.seconds);
    if (at > kLanesWidth - kLanesRight + 1) continue;
    svg += fmt::format(
        "<path class='grid' d='M{:.1f} {}V{:.1f}'/><text text-anchor='middle' x='{:.1f}' "
        "y='{:.1f}'>{:.{}f}</text>",
        at, kLanesTop - 6, frame.end, at, frame.end + 17, tick, digits);
  }
  return svg + fmt::format(
                   "<path class='axis' d='M{} {:.1f}H{}'/><text text-anchor='end' x='{}' "
                   "y='{:.1f}'>{} after {:.4g} s of the run</text>\n",
                   kLanesLeft, frame.end, kLanesWidth - kLanesRight, kLanesWidth - kLanesRight,
                   frame.end + 36, unit.name, picture.from);
}

std::string LanesKeyItem(const char* path, const char* text) {
  return fmt::format("<li><svg viewBox='0 0 26 10'>{}</svg>{}</li>\n", path, text);
}

}  // namespace

std::string DrawLanes(const std::string& title, const TimelinePicture& picture) {
  if (!(picture.to > picture.from) || picture.lanes.empty()) return "";
  const LanesFrame frame = FrameOf(picture);
  std::string svg = fmt::format(
      "<svg viewBox='0 0 {} {:.1f}' role='img' aria-label='{}'><text class='title' x='14' "
      "y='18'>{}</text>\n",
      kLanesWidth, frame.end + kLanesBottom, Escape(title), Escape(title));
  svg += DrawLanesAxis(picture, frame);
  for (size_t i = 0; i < picture.lanes.size(); ++i) svg += DrawLane(picture, frame, i);
  return svg + "</svg>\n";
}

std::string LanesKey(bool sends) {
  return "<svg class='patterns' width='0' height='0'><defs><pattern id='hatching' width='5' "
         "height='5' patternUnits='userSpaceOnUse' patternTransform='rotate(45)'><path "
         "d='M0 0H5V5H0z'/><path class='stripe' d='M1 0V5'/></pattern></defs></svg>\n"
         "<ul class='key'>\n" +
         LanesKeyItem("<path class='computing' d='M2 0H24V10H2z'/>", "computing") +
         LanesKeyItem("<path class='waiting' d='M2 0H24V10H2z'/>", "waiting") +
         (sends ? LanesKeyItem("<path class='sending' d='M2 6H24V10H2z'/>", "sending") : "") +
         LanesKeyItem("<path class='step' d='M13 0V10'/>", "end of a step") + "</ul>\n";
}

}  // namespace yoke
