// The header of a checkpoint as JSON, with a checksum of itself.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/version.h"
#include "train/checkpoint/checkpoint.h"
#include "train/files.h"
#include "train/json_of.h"

namespace yoke {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr int kDeepest = 100;  // of lists and objects in each other; reading them is recursive
/// The beginning of every header, so that the checksum has a known position.
constexpr std::string_view kBegin = "{\n \"checksum\": \"";

Value FromJson(const Json& json) {
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_array()) {
    List list;
    for (const Json& item : json) list.push_back(FromJson(item));
    return list;
  }
  if (!json.is_object()) return {};
  Table table;
  for (const auto& [key, item] : json.items()) table.emplace_back(key, FromJson(item));
  return table;
}

// Fields are checked for their kind by name: JSON's library converts some kinds without a word.

const Json& At(const Json& json, const char* key) {
  Require(json.is_object() && json.contains(key), "it has no '{}'", key);
  return json[key];
}

[[noreturn]] void WrongKind(const char* key, const char* expected, const Json& value) {
  constexpr size_t kShown = 40;
  const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  throw UserError(fmt::format("{}: expected {}, got {}{}", key, expected, text.substr(0, kShown),
                              text.size() > kShown ? "..." : ""));
}

int64_t WholeAt(const Json& json, const char* key) {
  const Json& value = At(json, key);
  if (!value.is_number_integer()) WrongKind(key, "a whole number", value);
  Require(!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX, "{}: {} is too large",
          key, value.dump());
  return value;
}

double NumberAt(const Json& json, const char* key) {
  const Json& value = At(json, key);
  if (!value.is_number()) WrongKind(key, "a number", value);
  return value;
}

std::string TextIn(const Json& value, const char* key) {
  if (!value.is_string()) WrongKind(key, "a string", value);
  return value;
}

std::string TextAt(const Json& json, const char* key) { return TextIn(At(json, key), key); }

const Json& ObjectAt(const Json& json, const char* key) {
  const Json& value = At(json, key);
  if (!value.is_object()) WrongKind(key, "an object", value);
  return value;
}

const Json& ListAt(const Json& json, const char* key) {
  const Json& value = At(json, key);
  if (!value.is_array()) WrongKind(key, "a list", value);
  return value;
}

Json Finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

double NumberOrNan(const Json& json, const char* key) {
  return At(json, key).is_null() ? std::numeric_limits<double>::quiet_NaN() : NumberAt(json, key);
}

Json ToJson(const BestEvaluation& best) {
  return {{"epoch", best.epoch}, {"value", best.value}, {"loss", best.loss}};
}

BestEvaluation ToBestEvaluation(const Json& json) {
  return {.epoch = WholeAt(json, "epoch"),
          .value = NumberAt(json, "value"),
          .loss = NumberAt(json, "loss")};
}

Collapse ToCollapse(const Json& json) {
  return {.metric = TextAt(json, "metric"),
          .value = NumberOrNan(json, "value"),
          .epoch = WholeAt(json, "epoch"),
          .best = ToBestEvaluation(ObjectAt(json, "best"))};
}

Json ToJson(const Position& position) {
  Json json = {{"epoch", position.epoch},       {"step", position.step},
               {"examples", position.examples}, {"consumed", position.consumed.list()},
               {"loss_sum", position.loss_sum}, {"loss_examples", position.loss_examples},
               {"seconds", position.seconds},   {"untrained_loss", position.untrained_loss}};
  if (position.has_best) json["best"] = position.best;
  if (position.best_evaluation.epoch > 0)
    json["best_evaluation"] = ToJson(position.best_evaluation);
  if (const std::optional<Collapse>& collapse = position.collapse)
    json["collapse"] = {{"metric", collapse->metric},
                        {"value", Finite(collapse->value)},
                        {"epoch", collapse->epoch},
                        {"best", ToJson(collapse->best)}};
  return json;
}

Position ToPosition(const Json& json) {
  Position position;
  position.epoch = WholeAt(json, "epoch");
  position.step = WholeAt(json, "step");
  position.examples = WholeAt(json, "examples");
  for (const Json& range : ListAt(json, "consumed")) {
    const bool pair = range.is_array() && range.size() == 2 && range[0].is_number_integer() &&
                      range[1].is_number_integer() && range[0] <= range[1];
    if (!pair) WrongKind("consumed", "pairs of whole numbers", range);
    position.consumed.Add(range[0], range[1]);
  }
  position.loss_sum = NumberAt(json, "loss_sum");
  position.loss_examples = WholeAt(json, "loss_examples");
  position.seconds = NumberAt(json, "seconds");
  if (json.contains("untrained_loss")) position.untrained_loss = NumberAt(json, "untrained_loss");
  position.has_best = json.contains("best");
  if (position.has_best) position.best = NumberAt(json, "best");
  if (json.contains("best_evaluation"))
    position.best_evaluation = ToBestEvaluation(json["best_evaluation"]);
  if (json.contains("collapse")) position.collapse = ToCollapse(json["collapse"]);
  return position;
}

Json ToJson(const Metrics& metrics) {
  Json json = Json::object();
  for (const auto& [name, value] : metrics) json[name] = Finite(value);
  return json;
}

Metrics ToMetrics(const Json& json) {
  Metrics metrics;
  for (const auto& [name, value] : json.items())
    metrics.emplace_back(name, NumberOrNan(json, name.c_str()));
  return metrics;
}

Json ToJson(const DataChecksum& sum) {
  return {{"all_inputs", fmt::format("{:016x}", sum.inputs)},
          {"labels", fmt::format("{:016x}", sum.labels)}};
}

DataChecksum ToDataChecksum(const Json& header) {
  if (!header.contains("training")) return {};
  const auto number = [&](const char* key) {
    const std::string text = TextAt(ObjectAt(header, "training"), key);
    uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, /*base=*/16);
    Require(error == std::errc() && end == text.data() + text.size(),
            "training.{}: expected a checksum, got '{}'", key, text);
    return value;
  };
  // Versions before had "inputs", of 64 examples.
  const bool all = header["training"].contains("all_inputs");
  return {.labels = number("labels"), .inputs = all ? number("all_inputs") : 0};
}

/// Throws UserError unless the fields fit each other, which the checksum cannot tell.
void CheckFields(const CheckpointHeader& header) {
  const DataInfo& data = header.data;
  const auto axes = data.input.axes();
  Require(std::ranges::all_of(axes, [](int64_t axis) { return axis > 0; }),
          "data.input: expected sizes above 0, got {}", data.input.Text());
  Require(data.outputs > 0, "data.outputs: expected a number above 0, got {}", data.outputs);
  const auto names = std::ssize(data.label_names);
  Require(names == 0 || names == data.outputs, "data.label_names: expected {} names, got {}",
          data.outputs, names);
  const Position& at = header.position;
  for (const auto& [number, key] : {std::pair(at.epoch, "epoch"),
                                    {at.step, "step"},
                                    {at.examples, "examples"},
                                    {at.loss_examples, "loss_examples"}})
    Require(number >= 0, "position.{}: expected at least 0, got {}", key, number);
  for (const auto& [begin, end] : at.consumed.list())
    Require(begin >= 0 && end <= at.examples, "position.consumed: {} to {} is outside the data",
            begin, end);
}

DecodedHeader FromJsonHead(const Json& json) {
  DecodedHeader decoded;
  decoded.model = TextAt(json, "model");
  decoded.optimizer = TextAt(json, "optimizer");
  decoded.header = {.job = FromJson(ObjectAt(json, "job")),
                    .data = InfoFromValue(FromJson(ObjectAt(json, "data"))),
                    .position = ToPosition(ObjectAt(json, "position")),
                    .rule_steps = WholeAt(json, "rule_steps"),
                    .executor = FromJson(ObjectAt(json, "executor")),
                    .strategy = FromJson(ObjectAt(json, "strategy")),
                    .training = ToDataChecksum(json),
                    .test = ToMetrics(ObjectAt(json, "test")),
                    .reason = TextAt(json, "reason")};
  if (json.contains("good")) {
    if (!json["good"].is_boolean()) WrongKind("good", "true or false", json["good"]);
    decoded.header.good = json["good"];
  }
  if (json.contains("replicas"))
    for (const Json& sum : ListAt(json, "replicas"))
      decoded.header.replicas.push_back(TextIn(sum, "replicas"));
  return decoded;
}

void RequireFormat(const Json& json, const std::string& name) {
  if (!json.is_object() || !json.contains("format") || !json.contains("yoke"))
    throw DamagedError(name + " is damaged: it lacks 'format' or 'yoke'");
  Require(json["format"] == kFormat, "{} was written by another version of yoke ({})", name,
          json["yoke"].dump());
}

}  // namespace

std::string EncodeHeader(const CheckpointHeader& header, const std::string& model,
                         const std::string& optimizer) {
  Json json = {{"checksum", "0000000000000000"},
               {"format", kFormat},
               {"yoke", fmt::format("{} ({})", Version(), Commit())},
               {"model", model},
               {"optimizer", optimizer},
               {"job", JsonOf(header.job)},
               {"data", JsonOf(InfoAsValue(header.data))},
               {"position", ToJson(header.position)},
               {"rule_steps", header.rule_steps},
               {"executor", JsonOf(header.executor)},
               {"strategy", JsonOf(header.strategy)},
               {"training", ToJson(header.training)},
               {"test", ToJson(header.test)},
               {"reason", header.reason}};
  if (!header.good) json["good"] = false;
  if (!header.replicas.empty()) json["replicas"] = header.replicas;
  std::string bytes = json.dump(1) + "\n";
  Seal(bytes, kBegin.size());
  return bytes;
}

DecodedHeader DecodeHeader(std::string bytes, const std::string& name) {
  if (!bytes.starts_with(kBegin) || !SealHolds(bytes, kBegin.size()))
    throw DamagedError(name + " is damaged: its checksum does not match");
  const auto shallow = [&](int depth, Json::parse_event_t, const Json&) {
    if (depth > kDeepest) throw DamagedError(name + " is damaged: it is nested too deeply");
    return true;
  };
  const Json json = Json::parse(bytes, shallow, /*allow_exceptions=*/false);
  RequireFormat(json, name);
  try {
    DecodedHeader decoded = FromJsonHead(json);
    CheckFields(decoded.header);
    return decoded;
  } catch (const UserError& problem) {
    throw DamagedError(fmt::format("{} is damaged: {}", name, problem.what()));
  }
}

}  // namespace yoke
