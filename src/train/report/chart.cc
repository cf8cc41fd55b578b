// Chart: maps data to a fixed frame of SVG units; the browser scales it.
#include "train/report/chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "train/human.h"

namespace yoke {
namespace {

constexpr double kWidth = 460, kHeight = 270;
constexpr double kLeft = 56, kRight = 14, kTop = 34, kBottom = 42;
constexpr size_t kMostDots = 40;     ///< Beyond that, dots would merge into a thick line.
constexpr size_t kMostTitles = 400;  ///< Beyond that, points are too close to select.

/// One axis: data values from low to high map to pixels from begin to end.
struct Axis {
  double low = 0, high = 1;
  double begin = 0, end = 1;
  bool logarithmic = false;
  std::vector<double> ticks;

  double At(double value) const {
    const double share =
        logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
    return begin + share * (end - begin);
  }
};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  void Add(double value) { low = std::min(low, value), high = std::max(high, value); }
  bool IsEmpty() const { return low > high; }
};

/// Larger numbers would overflow in the axes.
bool IsDrawable(double value) { return std::abs(value) < 1e300; }
bool IsDrawn(const ChartPoint& point) { return IsDrawable(point.x) && IsDrawable(point.y); }

/// Widens a range of a single value.
Range Widened(Range range) {
  const double size = std::max(std::abs(range.low), std::abs(range.high));
  if (size == 0) return {0, 1};
  if (range.high - range.low > 1e-9 * size) return range;
  return {range.low - size * 0.1, range.high + size * 0.1};
}

/// Drops ticks outside the axis.
void KeepInside(Axis& axis) {
  const double slack = 1e-9 * (axis.high - axis.low);
  std::erase_if(axis.ticks,
                [&](double tick) { return tick < axis.low - slack || tick > axis.high + slack; });
}

/// From 0 to the last value; a single epoch is in the middle.
Axis HorizontalAxis(const ChartSpec& spec, const Range& range) {
  Axis axis{.begin = kLeft, .end = kWidth - kRight, .ticks = {}};
  axis.high = spec.whole_x ? std::max(range.high, 2.0) : Widened({0, range.high}).high;
  axis.ticks = RoundTicks(0, axis.high, 7, spec.whole_x);
  KeepInside(axis);
  return axis;
}

Axis LogarithmicAxis(const Range& range) {
  Axis axis{.low = range.low / 1.1, .high = range.high * 1.1, .logarithmic = true, .ticks = {}};
  axis.ticks = LogarithmicTicks(range.low, range.high);
  KeepInside(axis);
  return axis;
}

Axis LinearAxis(Range range, bool from_zero) {
  if (from_zero) range.low = std::min(range.low, 0.0);
  range = Widened(range);
  Axis axis{.ticks = RoundTicks(range.low, range.high, 5)};
  axis.low = axis.ticks.front();
  axis.high = axis.ticks.back();
  return axis;
}

Axis VerticalAxis(const ChartSpec& spec, const Range& range) {
  const bool logarithmic =
      spec.may_be_logarithmic && range.low > 1e-300 && range.high / range.low > 30;
  Axis axis = logarithmic ? LogarithmicAxis(range) : LinearAxis(range, spec.from_zero);
  axis.begin = kHeight - kBottom;
  axis.end = kTop;
  return axis;
}

/// A tick's number with the digits that its neighbours need; thousands if the axis exceeds 10,000.
std::string TickText(double value, double step, double greatest) {
  if (greatest >= 1e4) {
    const double unit = greatest >= 1e10 ? 1e9 : greatest >= 1e7 ? 1e6 : 1e3;
    const char* suffix = unit == 1e9 ? "G" : unit == 1e6 ? "M" : "k";
    return value == 0 ? "0" : fmt::format("{:.6g}{}", value / unit, suffix);
  }
  if (value != 0 && step < 1e-4) return fmt::format("{:.2g}", value);
  const int digits = std::clamp(static_cast<int>(-std::floor(std::log10(step) + 1e-9)), 0, 6);
  return value == 0 ? "0" : fmt::format("{:.{}f}", value, digits);
}

double StepAt(const Axis& axis, size_t i) {
  if (axis.logarithmic || axis.ticks.size() < 2) return std::max(std::abs(axis.ticks[i]), 1e-12);
  return axis.ticks[1] - axis.ticks[0];
}

std::string DrawFrame(const ChartSpec& spec, const Axis& x, const Axis& y) {
  std::string svg = fmt::format("<text class='title' x='{}' y='18'>{}{}</text>", kLeft - 42,
                                Escape(spec.title), y.logarithmic ? " (logarithmic)" : "");
  for (size_t i = 0; i < y.ticks.size(); ++i) {
    const double at = y.At(y.ticks[i]);
    svg += fmt::format(
        "<path class='grid' d='M{} {:.1f}H{}'/><text class='tick' text-anchor='end' x='{}' "
        "y='{:.1f}'>{}</text>",
        kLeft, at, kWidth - kRight, kLeft - 7, at + 4, TickText(y.ticks[i], StepAt(y, i), y.high));
  }
  for (size_t i = 0; i < x.ticks.size(); ++i) {
    const double at = x.At(x.ticks[i]);
    svg += fmt::format(
        "<path class='axis' d='M{:.1f} {}v5'/><text class='tick' text-anchor='middle' x='{:.1f}' "
        "y='{}'>{}</text>",
        at, kHeight - kBottom, at, kHeight - kBottom + 18,
        TickText(x.ticks[i], StepAt(x, i), x.high));
  }
  svg +=
      fmt::format("<path class='axis' d='M{} {}H{}'/>", kLeft, kHeight - kBottom, kWidth - kRight);
  return svg + fmt::format("<text class='label' text-anchor='end' x='{}' y='{}'>{}</text>",
                           kWidth - kRight, kHeight - 6, Escape(spec.x_label));
}

/// The line; a value that is not finite leaves a gap.
std::string LinePath(const std::vector<ChartPoint>& points, const Axis& x, const Axis& y) {
  std::string path;
  bool pen_down = false;
  for (const ChartPoint& point : points) {
    if (IsDrawn(point))
      path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", x.At(point.x), y.At(point.y));
    pen_down = IsDrawn(point);
  }
  return path;
}

std::string DrawDot(const ChartSpec& spec, const ChartSeries& series, const ChartPoint& point,
                    const std::string& place) {
  const bool visible = series.points.size() <= kMostDots;
  const char* radius = !visible ? "5" : series.faint ? "2.4" : "2.8";
  return fmt::format("<circle class='{}' {} r='{}'><title>{}\n{} {:.6g}: {:.5g}</title></circle>",
                     visible ? "dot" : "hit", place, radius, Escape(series.name),
                     Escape(spec.x_label), point.x, point.y);
}

std::string DrawSeries(const ChartSpec& spec, const ChartSeries& series, const Axis& x,
                       const Axis& y) {
  std::string svg =
      fmt::format("<g class='series c{}{}'><path class='line' d='{}'/>", series.colour,
                  series.faint ? " faint" : "", LinePath(series.points, x, y));
  if (series.points.size() <= kMostTitles)
    for (const ChartPoint& point : series.points)
      if (IsDrawn(point))
        svg += DrawDot(spec, series, point,
                       fmt::format("cx='{:.1f}' cy='{:.1f}'", x.At(point.x), y.At(point.y)));
  return svg + "</g>";
}

}  // namespace

std::string DrawChart(const ChartSpec& spec) {
  Range horizontal, vertical;
  for (const ChartSeries& series : spec.series)
    for (const ChartPoint& point : series.points)
      if (IsDrawn(point)) horizontal.Add(point.x), vertical.Add(point.y);
  if (horizontal.IsEmpty()) return "";
  const Axis x = HorizontalAxis(spec, horizontal);
  const Axis y = VerticalAxis(spec, vertical);
  std::string svg = fmt::format("<svg viewBox='0 0 {} {}' role='img' aria-label='{}'>", kWidth,
                                kHeight, Escape(spec.title + " over " + spec.x_label));
  svg += DrawFrame(spec, x, y);
  for (bool faint : {true, false})  // important series last, on top
    for (const ChartSeries& series : spec.series)
      if (series.faint == faint) svg += DrawSeries(spec, series, x, y);
  return svg + "</svg>\n";
}

std::vector<double> RoundTicks(double low, double high, int most, bool whole) {
  const double rough = std::max((high - low) / most, 1e-300);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (double factor : {5.0, 2.0, 1.0})
    if (factor * power >= rough * (1 - 1e-9)) step = factor * power;
  if (whole) step = std::max(1.0, step);
  const double first = std::floor(low / step + 1e-9);
  const double last = std::ceil(high / step - 1e-9);
  std::vector<double> ticks;
  for (double i = first; i <= last; ++i) ticks.push_back(i * step);
  return ticks;
}

std::vector<double> LogarithmicTicks(double low, double high) {
  const auto first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  const auto last = static_cast<int>(std::ceil(std::log10(high) - 1e-9));
  const int every = std::max(1, (last - first + 5) / 6);
  const bool fine = high / low < 300;
  std::vector<double> ticks;
  for (int power = first; power <= last; ++power) {
    if ((power - first) % every == 0) ticks.push_back(std::pow(10, power));
    for (double factor : {2.0, 5.0})
      if (fine && power < last) ticks.push_back(factor * std::pow(10, power));
  }
  // Keep one tick beyond the data on either side.
  while (ticks.size() > 2 && ticks[1] <= low) ticks.erase(ticks.begin());
  while (ticks.size() > 2 && ticks[ticks.size() - 2] >= high) ticks.pop_back();
  return ticks;
}

std::string Escape(const std::string& text) {
  std::string safe;
  for (char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

}  // namespace yoke
