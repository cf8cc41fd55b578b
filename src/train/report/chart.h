// Chart: a line chart as inline SVG.
#pragma once

#include <string>
#include <vector>

namespace yoke {

struct ChartPoint {
  double x = 0;
  double y = 0;
};

struct ChartSeries {
  std::string name;    ///< Shown when the pointer is on a point.
  int colour = 0;      ///< CSS class c0, c1, ... of the page.
  bool faint = false;  ///< Dashed and thinner (training, when shown with test).
  std::vector<ChartPoint> points;
};

struct ChartSpec {
  std::string title;
  std::string x_label;
  bool whole_x = false;    ///< Ticks only at integers (epochs).
  bool from_zero = false;  ///< The vertical axis starts at 0.
  /// Use a logarithmic axis if values span more than a factor of 30.
  bool may_be_logarithmic = false;
  std::vector<ChartSeries> series;
};

/// An <svg> element that scales with its container; "" if no point is finite.
std::string DrawChart(const ChartSpec& spec);

/// Round numbers (1, 2, 5 times a power of ten) that cover [low, high] with at most `most` + 1
/// ticks. `whole`: integers only.
std::vector<double> RoundTicks(double low, double high, int most, bool whole = false);

/// Round numbers for a logarithmic axis over [low, high], 0 < low: powers of ten, with 2 and 5 in
/// between if there are few.
std::vector<double> LogarithmicTicks(double low, double high);

/// Text with &, <, > and quotes replaced, for HTML and SVG.
std::string Escape(const std::string& text);

}  // namespace yoke
