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

namespace yoke {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
/// The beginning of every header, so that the checksum has a known position.
constexpr std::string_view kBegin = "{\n \"checksum\": \"";

Json ToJson(const Value& value) {
  if (value.AsBool()) return *value.AsBool();
  if (value.AsInt()) return *value.AsInt();
  if (value.AsFloat()) return *value.AsFloat();
  if (value.AsString()) return *value.AsString();
  if (const List* list = value.AsList()) {
    Json json = Json::array();
    for (const Value& item : *list) json.push_back(ToJson(item));
    return json;
  }
  if (!value.AsTable()) return nullptr;
  Json json = Json::object();
  for (const auto& [key, item] : *value.AsTable()) json[key] = ToJson(item);
  return json;
}

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

/// A field that must be a whole number; JSON's library converts others without a word.
int64_t WholeAt(const Json& json, const char* key) {
  const Json& value = json.at(key);
  Require(value.is_number_integer(), "{}: expected a whole number, got {}", key, value.dump());
  Require(!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX, "{}: {} is too large",
          key, value.dump());
  return value;
}

Json Finite(double value) { return std::isfinite(value) ? Json(value) : Json(); }

double NumberOrNan(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

Json ToJson(const BestEvaluation& best) {
  return {{"epoch", best.epoch}, {"value", best.value}, {"loss", best.loss}};
}

BestEvaluation ToBestEvaluation(const Json& json) {
  return {.epoch = WholeAt(json, "epoch"), .value = json.at("value"), .loss = json.at("loss")};
}

Collapse ToCollapse(const Json& json) {
  return {.metric = json.at("metric"),
          .value = NumberOrNan(json.at("value")),
          .epoch = WholeAt(json, "epoch"),
          .best = ToBestEvaluation(json.at("best"))};
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
  for (const Json& range : json.at("consumed")) {
    Require(range.is_array() && range.size() == 2 && range[0].is_number_integer() &&
                range[1].is_number_integer() && range[0] <= range[1],
            "position.consumed: expected pairs of whole numbers, got {}", range.dump());
    position.consumed.Add(range[0], range[1]);
  }
  position.loss_sum = json.at("loss_sum");
  position.loss_examples = WholeAt(json, "loss_examples");
  position.seconds = json.at("seconds");
  position.untrained_loss = json.value("untrained_loss", 0.0);
  position.has_best = json.contains("best");
  if (position.has_best) position.best = json["best"];
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
  Require(json.is_object(), "test: expected an object, got {}", json.dump());
  Metrics metrics;
  for (const auto& [name, value] : json.items()) metrics.emplace_back(name, NumberOrNan(value));
  return metrics;
}

Json ToJson(const DataChecksum& sum) {
  return {{"inputs", fmt::format("{:016x}", sum.inputs)},
          {"labels", fmt::format("{:016x}", sum.labels)}};
}

DataChecksum ToDataChecksum(const Json& header) {
  if (!header.contains("training")) return {};
  const auto number = [&](const char* key) {
    const std::string text = header["training"].at(key);
    uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, /*base=*/16);
    Require(error == std::errc() && end == text.data() + text.size(),
            "training.{}: expected a checksum, got '{}'", key, text);
    return value;
  };
  return {.labels = number("labels"), .inputs = number("inputs")};
}

/// Throws UserError unless the fields fit each other, which the checksum cannot tell.
void CheckFields(const CheckpointHeader& header) {
  for (const auto& [value, key] : {std::pair(&header.job, "job"),
                                   {&header.executor, "executor"},
                                   {&header.strategy, "strategy"}})
    Require(value->AsTable() != nullptr, "{}: expected an object", key);
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
  decoded.model = json.at("model");
  decoded.optimizer = json.at("optimizer");
  decoded.header = {.job = FromJson(json.at("job")),
                    .data = InfoFromValue(FromJson(json.at("data"))),
                    .position = ToPosition(json.at("position")),
                    .rule_steps = WholeAt(json, "rule_steps"),
                    .executor = FromJson(json.at("executor")),
                    .strategy = FromJson(json.at("strategy")),
                    .training = ToDataChecksum(json),
                    .test = ToMetrics(json.at("test")),
                    .reason = json.at("reason"),
                    .good = json.value("good", true),
                    .replicas = json.value("replicas", std::vector<std::string>())};
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
               {"job", ToJson(header.job)},
               {"data", ToJson(InfoAsValue(header.data))},
               {"position", ToJson(header.position)},
               {"rule_steps", header.rule_steps},
               {"executor", ToJson(header.executor)},
               {"strategy", ToJson(header.strategy)},
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
  const Json json = Json::parse(bytes, nullptr, /*allow_exceptions=*/false);
  RequireFormat(json, name);
  try {
    DecodedHeader decoded = FromJsonHead(json);
    CheckFields(decoded.header);
    return decoded;
  } catch (const nlohmann::json::exception& problem) {
    throw DamagedError(fmt::format("{} is damaged: {}", name, problem.what()));
  } catch (const UserError& problem) {
    throw DamagedError(fmt::format("{} is damaged: {}", name, problem.what()));
  }
}

}  // namespace yoke
