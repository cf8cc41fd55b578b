// The header of a checkpoint as JSON, with a checksum of itself.
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

Json ToJson(const Position& position) {
  Json json = {{"epoch", position.epoch},       {"step", position.step},
               {"examples", position.examples}, {"consumed", position.consumed.list()},
               {"loss_sum", position.loss_sum}, {"loss_examples", position.loss_examples},
               {"seconds", position.seconds},   {"untrained_loss", position.untrained_loss}};
  if (position.has_best) json["best"] = position.best;
  return json;
}

Position ToPosition(const Json& json) {
  Position position;
  position.epoch = json.at("epoch");
  position.step = json.at("step");
  position.examples = json.at("examples");
  for (const Json& range : json.at("consumed")) position.consumed.Add(range.at(0), range.at(1));
  position.loss_sum = json.at("loss_sum");
  position.loss_examples = json.at("loss_examples");
  position.seconds = json.at("seconds");
  position.untrained_loss = json.value("untrained_loss", 0.0);
  position.has_best = json.contains("best");
  if (position.has_best) position.best = json["best"];
  return position;
}

Json ToJson(const Metrics& metrics) {
  Json json = Json::object();
  for (const auto& [name, value] : metrics)
    json[name] = std::isfinite(value) ? Json(value) : Json();
  return json;
}

Metrics ToMetrics(const Json& json) {
  Metrics metrics;
  for (const auto& [name, value] : json.items())
    metrics.emplace_back(
        name, value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
  return metrics;
}

DecodedHeader FromJsonHead(const Json& json) {
  DecodedHeader decoded;
  decoded.model = json.at("model");
  decoded.optimizer = json.at("optimizer");
  decoded.header = {.job = FromJson(json.at("job")),
                    .data = InfoFromValue(FromJson(json.at("data"))),
                    .position = ToPosition(json.at("position")),
                    .rule_steps = json.at("rule_steps"),
                    .executor = FromJson(json.at("executor")),
                    .strategy = FromJson(json.at("strategy")),
                    .test = ToMetrics(json.at("test")),
                    .reason = json.at("reason"),
                    .replicas = json.value("replicas", std::vector<std::string>())};
  return decoded;
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
               {"test", ToJson(header.test)},
               {"reason", header.reason}};
  if (!header.replicas.empty()) json["replicas"] = header.replicas;
  std::string bytes = json.dump(1) + "\n";
  Seal(bytes, kBegin.size());
  return bytes;
}

DecodedHeader DecodeHeader(std::string bytes, const std::string& name) {
  if (!bytes.starts_with(kBegin) || !SealHolds(bytes, kBegin.size()))
    throw DamagedError(name + " is damaged: its checksum does not match");
  const Json json = Json::parse(bytes, nullptr, /*allow_exceptions=*/false);
  try {
    Require(json.at("format") == kFormat, "{} was written by another version of yoke ({})", name,
            json.at("yoke").get<std::string>());
    return FromJsonHead(json);
  } catch (const nlohmann::json::exception& problem) {
    throw DamagedError(fmt::format("{} is damaged: {}", name, problem.what()));
  }
}

}  // namespace yoke
