// Chart: lines in a pair of axes, as inline SVG.
#pragma once

#include <string>
#include <vector>

namespace yoke {

struct ChartPoint {
  double x = 0;
  double y = 0;
};

struct ChartSeries {
  std::string name;    ///< Told when the pointer rests on a point.
  int colour = 0;      ///< CSS class c0, c1, ... of the page.
  bool faint = false;  ///< Dashed and thinner: training beside test.
  std::vector<ChartPoint> points;
};

struct ChartSpec {
  std::string title;
  std::string x_label;
  bool whole_x = false;             ///< Ticks at whole numbers only (epochs).
  bool from_zero = false;           ///< The vertical axis begins at 0.
  bool may_be_logarithmic = false;  ///< It is when values span more than a factor of 30.
  std::vector<ChartSeries> series;
};

/// An <svg> element that scales with its container; "" when no point is finite.
std::string DrawChart(const ChartSpec& spec);

/// Round numbers (1, 2, 5 times a power of ten) that cover [low, high] with at most `most` + 1
/// ticks. Whole: no fractions.
std::vector<double> RoundTicks(double low, double high, int most, bool whole = false);

/// Round numbers for a logarithmic axis over [low, high], 0 < low: powers of ten, with 2 and 5
/// between when there are few.
std::vector<double> LogarithmicTicks(double low, double high);

/// Text with &, <, > and quotes replaced, for HTML and SVG.
std::string Escape(const std::string& text);

}  // namespace yoke
