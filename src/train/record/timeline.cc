// Timeline file: an object of JSON. Intervals are lists [begin, end, begin, end, ...].
#include "train/record/timeline.h"

#include <fmt/core.h>

#include <cmath>
#include <filesystem>

#include "base/json.h"
#include "train/files.h"

namespace yoke {
namespace {

std::string TimelinePath(const std::string& run) { return run + "/timeline.json"; }

/// With six digits.
double Shortened(double value) { return std::stod(fmt::format("{:.6g}", value)); }

Table ByName(const std::function<Value(size_t activity)>& of) {
  Table table;
  for (size_t a = 0; a < kActivities; ++a) table.emplace_back(kActivityNames[a], of(a));
  return table;
}

Table ToTable(const TimelineLane& lane) {
  Table table = {{"rank", lane.drawn.rank},
                 {"group", lane.drawn.group},
                 {"fractions", ByName([&](size_t a) { return Shortened(lane.fractions[a]); })}};
  for (size_t a = 0; a < kActivities; ++a) {
    List times;
    for (const TimelineInterval& interval : lane.intervals[a]) {
      times.emplace_back(Shortened(interval.begin));
      times.emplace_back(Shortened(interval.end));
    }
    table.emplace_back(kActivityNames[a], std::move(times));
  }
  List steps;
  for (const double end : lane.steps) steps.emplace_back(Shortened(end));
  table.emplace_back("steps", std::move(steps));
  return table;
}

Table ToTable(const ActivitySpread& spread) {
  return {{"minimum", Shortened(spread.minimum)},
          {"minimum_rank", spread.minimum_rank},
          {"median", Shortened(spread.median)},
          {"maximum", Shortened(spread.maximum)},
          {"maximum_rank", spread.maximum_rank}};
}

double FiniteNumber(const Value& table, const char* key) {
  const double value = NumberAt(table, key);
  if (!std::isfinite(value)) throw std::out_of_range(key);
  return value;
}

int SmallAt(const Value& table, const char* key) { return static_cast<int>(IntAt(table, key)); }

TimelineLane LaneOf(const Value& table) {
  TimelineLane lane;
  lane.drawn = {.rank = SmallAt(table, "rank"), .group = SmallAt(table, "group")};
  for (size_t a = 0; a < kActivities; ++a) {
    lane.fractions[a] = FiniteNumber(FieldAt(table, "fractions"), kActivityNames[a]);
    const std::vector<double> times = NumbersAt(table, kActivityNames[a]);
    for (size_t i = 0; i + 1 < times.size(); i += 2)
      lane.intervals[a].push_back({.begin = times[i], .end = times[i + 1]});
  }
  lane.steps = NumbersAt(table, "steps");
  return lane;
}

ActivitySpread SpreadIn(const Value& table) {
  return {.minimum = FiniteNumber(table, "minimum"),
          .median = FiniteNumber(table, "median"),
          .maximum = FiniteNumber(table, "maximum"),
          .minimum_rank = SmallAt(table, "minimum_rank"),
          .maximum_rank = SmallAt(table, "maximum_rank")};
}

TimelinePicture PictureOf(const Value& table) {
  TimelinePicture picture = {.from = FiniteNumber(table, "from"),
                             .to = FiniteNumber(table, "to"),
                             .seconds = FiniteNumber(table, "seconds"),
                             .ranks = SmallAt(table, "ranks"),
                             .sends = BoolAt(table, "sends")};
  for (size_t a = 0; a < kActivities; ++a)
    picture.spreads[a] = SpreadIn(FieldAt(FieldAt(table, "fractions"), kActivityNames[a]));
  for (const Value& lane : ListAt(table, "lanes")) picture.lanes.push_back(LaneOf(lane));
  return picture;
}

}  // namespace

void WriteTimeline(const std::string& run, const TimelinePicture& picture) {
  List lanes;
  for (const TimelineLane& lane : picture.lanes) lanes.emplace_back(ToTable(lane));
  const Value table =
      Table{{"from", picture.from},
            {"to", picture.to},
            {"seconds", picture.seconds},
            {"ranks", picture.ranks},
            {"sends", picture.sends},
            {"fractions", ByName([&](size_t a) { return ToTable(picture.spreads[a]); })},
            {"lanes", std::move(lanes)}};
  ReplaceFile(TimelinePath(run), FormatJson(table) + "\n");
}

std::optional<std::string> ReadTimeline(const std::string& run) {
  std::string text = ReadOwn(TimelinePath(run));
  return ParseTimeline(text) ? std::optional(std::move(text)) : std::nullopt;
}

std::optional<TimelinePicture> ParseTimeline(const std::string& text) {
  try {
    return PictureOf(ParseJson(text));
  } catch (const std::exception&) {  // no file, no JSON, or a value of another kind
    return {};
  }
}

}  // namespace yoke
