// Timeline file: an object of JSON. Intervals are lists [begin, end, begin, end, ...].
#include "train/record/timeline.h"

#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "train/files.h"

namespace yoke {
namespace {

using Json = nlohmann::ordered_json;

std::string TimelinePath(const std::string& run) { return run + "/timeline.json"; }

/// With six digits.
double Shortened(double value) { return std::stod(fmt::format("{:.6g}", value)); }

Json ToObject(const TimelineLane& lane) {
  Json object = {{"rank", lane.drawn.rank}, {"group", lane.drawn.group}};
  for (size_t a = 0; a < kActivities; ++a)
    object["fractions"][kActivityNames[a]] = Shortened(lane.fractions[a]);
  for (size_t a = 0; a < kActivities; ++a) {
    Json& times = object[kActivityNames[a]] = Json::array();
    for (const TimelineInterval& interval : lane.intervals[a]) {
      times.push_back(Shortened(interval.begin));
      times.push_back(Shortened(interval.end));
    }
  }
  Json& steps = object["steps"] = Json::array();
  for (const double end : lane.steps) steps.push_back(Shortened(end));
  return object;
}

Json ToObject(const ActivitySpread& spread) {
  return {{"minimum", Shortened(spread.minimum)},
          {"minimum_rank", spread.minimum_rank},
          {"median", Shortened(spread.median)},
          {"maximum", Shortened(spread.maximum)},
          {"maximum_rank", spread.maximum_rank}};
}

double FiniteNumber(const Json& object, const char* key) {
  const double value = object.at(key).get<double>();
  if (!std::isfinite(value)) throw std::out_of_range(key);
  return value;
}

TimelineLane LaneOf(const Json& object) {
  TimelineLane lane;
  lane.drawn = {.rank = object.at("rank").get<int>(), .group = object.at("group").get<int>()};
  for (size_t a = 0; a < kActivities; ++a) {
    lane.fractions[a] = FiniteNumber(object.at("fractions"), kActivityNames[a]);
    const auto times = object.at(kActivityNames[a]).get<std::vector<double>>();
    for (size_t i = 0; i + 1 < times.size(); i += 2)
      lane.intervals[a].push_back({.begin = times[i], .end = times[i + 1]});
  }
  lane.steps = object.at("steps").get<std::vector<double>>();
  return lane;
}

ActivitySpread SpreadIn(const Json& object) {
  return {.minimum = FiniteNumber(object, "minimum"),
          .median = FiniteNumber(object, "median"),
          .maximum = FiniteNumber(object, "maximum"),
          .minimum_rank = object.at("minimum_rank").get<int>(),
          .maximum_rank = object.at("maximum_rank").get<int>()};
}

TimelinePicture PictureOf(const Json& object) {
  TimelinePicture picture = {.from = FiniteNumber(object, "from"),
                             .to = FiniteNumber(object, "to"),
                             .seconds = FiniteNumber(object, "seconds"),
                             .ranks = object.at("ranks").get<int>(),
                             .sends = object.at("sends").get<bool>()};
  for (size_t a = 0; a < kActivities; ++a)
    picture.spreads[a] = SpreadIn(object.at("fractions").at(kActivityNames[a]));
  for (const Json& lane : object.at("lanes")) picture.lanes.push_back(LaneOf(lane));
  return picture;
}

}  // namespace

void WriteTimeline(const std::string& run, const TimelinePicture& picture) {
  Json object = {{"from", picture.from},
                 {"to", picture.to},
                 {"seconds", picture.seconds},
                 {"ranks", picture.ranks},
                 {"sends", picture.sends}};
  for (size_t a = 0; a < kActivities; ++a)
    object["fractions"][kActivityNames[a]] = ToObject(picture.spreads[a]);
  Json& lanes = object["lanes"] = Json::array();
  for (const TimelineLane& lane : picture.lanes) lanes.push_back(ToObject(lane));
  ReplaceFile(TimelinePath(run), object.dump() + "\n");
}

std::optional<std::string> ReadTimeline(const std::string& run) {
  std::string text = ReadOwn(TimelinePath(run));
  return ParseTimeline(text) ? std::optional(std::move(text)) : std::nullopt;
}

std::optional<TimelinePicture> ParseTimeline(const std::string& text) {
  const Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  try {
    return PictureOf(object);
  } catch (const std::exception&) {  // no file, no JSON, or a value of another kind
    return {};
  }
}

}  // namespace yoke
