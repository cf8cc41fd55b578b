// The options of layers that move a window over an image.
#include "model/layers/window.h"

#include <algorithm>

#include "base/check.h"
#include "base/options.h"

namespace yoke::layer {

Pair PairOption(const Options& options, std::string_view name, int64_t minimum) {
  const std::vector<int64_t> values = options.Ints(name);
  Require(values.size() == 1 || values.size() == 2,
          "{}: expected one number or [height, width], got {} numbers", options.Where(name),
          values.size());
  const Pair pair{values.front(), values.back()};
  const int64_t least = std::min(pair.height, pair.width);
  Require(least >= minimum, "{}: expected at least {}, got {}", options.Where(name), minimum,
          least);
  return pair;
}

Border BorderOption(const Options& options) {
  const std::vector<int64_t> given = options.Ints("padding");
  Require(given.size() == 1 || given.size() == 2 || given.size() == 4,
          "{}: expected one number, [height, width] or [top, left, bottom, right], got {} numbers",
          options.Where("padding"), given.size());
  const int64_t top = given[0], left = given.size() == 1 ? top : given[1];
  if (given.size() < 4) return {top, left, top, left};
  return {top, left, given[2], given[3]};
}

WindowPair WindowOptions(const Options& options) {
  const Pair kernel = PairOption(options, "kernel", 1);
  const Pair stride = options.Has("stride") ? PairOption(options, "stride", 1) : kernel;
  const Border border = BorderOption(options);
  return {.rows = {.size = kernel.height,
                   .stride = stride.height,
                   .padding = border.top,
                   .more_padding = border.bottom - border.top},
          .columns = {.size = kernel.width,
                      .stride = stride.width,
                      .padding = border.left,
                      .more_padding = border.right - border.left}};
}

OptionSpec AxesOption(const std::string& name, Value fallback, const std::string& help) {
  const bool required = fallback.IsNone();
  return {.name = name,
          .type = OptionType::kInts,
          .fallback = std::move(fallback),
          .help = help + ": one number or [height, width].",
          .minimum = 1,
          .maximum = kMostPixels,
          .required = required};
}

OptionSpec BorderOptionSpec(const std::string& help) {
  return {.name = "padding",
          .type = OptionType::kInts,
          .fallback = List{0},
          .help = help + ": one number, [height, width] or [top, left, bottom, right].",
          .minimum = 0,
          .maximum = kMostPixels};
}

}  // namespace yoke::layer
