// The header of a checkpoint as JSON, with a checksum of itself.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/json.h"
#include "base/version.h"
#include "train/checkpoint/checkpoint.h"
#include "train/files.h"

namespace yoke {
namespace {

constexpr int kFormat = 1;
/// The beginning of every header, so that the checksum has a known position.
constexpr std::string_view kBegin = "{\n \"checksum\": \"";

double NumberOrNan(const Value& table, std::string_view key) {
  return FieldAt(table, key).IsNone() ? std::numeric_limits<double>::quiet_NaN()
                                      : NumberAt(table, key);
}

Table ToTable(const BestEvaluation& best) {
  return {{"epoch", best.epoch}, {"value", best.value}, {"loss", best.loss}};
}

BestEvaluation ToBestEvaluation(const Value& table) {
  return {.epoch = NumberAt(table, "epoch"),
          .value = NumberAt(table, "value"),
          .loss = NumberAt(table, "loss")};
}

Collapse ToCollapse(const Value& table) {
  return {.metric = TextAt(table, "metric"),
          .value = NumberOrNan(table, "value"),
          .epoch = NumberAt(table, "epoch"),
          .best = ToBestEvaluation(TableAt(table, "best"))};
}

Table ToTable(const Position& position) {
  List consumed;
  for (const auto& [begin, end] : position.consumed.list()) consumed.push_back(List{begin, end});
  Table table = {{"epoch", position.epoch},
                 {"step", position.step},
                 {"examples", position.examples},
                 {"consumed", std::move(consumed)},
                 {"loss_sum", position.loss_sum},
                 {"loss_examples", position.loss_examples},
                 {"seconds", position.seconds},
                 {"pauses", position.pauses},
                 {"untrained_loss", position.untrained_loss}};
  if (position.has_best) table.emplace_back("best", position.best);
  if (position.best_evaluation.epoch > 0)
    table.emplace_back("best_evaluation", ToTable(position.best_evaluation));
  if (const std::optional<Collapse>& collapse = position.collapse)
    table.emplace_back("collapse", Table{{"metric", collapse->metric},
                                         {"value", collapse->value},
                                         {"epoch", collapse->epoch},
                                         {"best", ToTable(collapse->best)}});
  return table;
}

Position ToPosition(const Value& table) {
  Position position;
  position.epoch = IntAt(table, "epoch");
  position.step = IntAt(table, "step");
  position.examples = IntAt(table, "examples");
  for (const Value& range : ListAt(table, "consumed")) {
    const List* ends = range.AsList();
    const bool pair = ends && ends->size() == 2 && ends->front().AsInt() && ends->back().AsInt() &&
                      *ends->front().AsInt() <= *ends->back().AsInt();
    if (!pair) WrongKind("consumed", "pairs of whole numbers", range);
    position.consumed.Add(*ends->front().AsInt(), *ends->back().AsInt());
  }
  position.loss_sum = NumberAt(table, "loss_sum");
  position.loss_examples = IntAt(table, "loss_examples");
  position.seconds = NumberAt(table, "seconds");
  if (table.Find("pauses")) position.pauses = NumberAt(table, "pauses");
  if (table.Find("untrained_loss")) position.untrained_loss = NumberAt(table, "untrained_loss");
  position.has_best = table.Find("best") != nullptr;
  if (position.has_best) position.best = NumberAt(table, "best");
  if (const Value* best = table.Find("best_evaluation"))
    position.best_evaluation = ToBestEvaluation(*best);
  if (const Value* collapse = table.Find("collapse")) position.collapse = ToCollapse(*collapse);
  return position;
}

Metrics ToMetrics(const Value& table) {
  Metrics metrics;
  for (const auto& [name, value] : *table.AsTable())
    metrics.emplace_back(name, NumberOrNan(table, name));
  return metrics;
}

Table ToTable(const DataChecksum& sum) {
  return {{"all_inputs", fmt::format("{:016x}", sum.inputs)},
          {"labels", fmt::format("{:016x}", sum.labels)}};
}

DataChecksum ToDataChecksum(const Value& header) {
  if (!header.Find("training")) return {};
  const Value& training = TableAt(header, "training");
  const auto number = [&](const char* key) {
    const std::string text = TextAt(training, key);
    uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, /*base=*/16);
    Require(error == std::errc() && end == text.data() + text.size(),
            "training.{}: expected a checksum, got '{}'", key, text);
    return value;
  };
  // Versions before had "inputs", of 64 examples.
  return {.labels = number("labels"),
          .inputs = training.Find("all_inputs") ? number("all_inputs") : 0};
}

/// The same of a table's columns and targets.
void CheckTable(const DataInfo& data) {
  int64_t features = 0;
  for (const ColumnEncoding& column : data.encodings) features += column.Features();
  Require(features == 0 || features == data.input.Count(),
          "data.encodings: expected {} features, got {}", data.input.Count(), features);
  const size_t targets = data.regression ? static_cast<size_t>(data.outputs) : 0;
  Require(data.target_mean.size() == targets && data.target_deviation.size() == targets,
          "data.target_mean: expected {} numbers", targets);
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
  CheckTable(data);
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

DecodedHeader FromTable(const Value& table) {
  DecodedHeader decoded;
  decoded.model = TextAt(table, "model");
  decoded.optimizer = TextAt(table, "optimizer");
  decoded.header = {.job = TableAt(table, "job"),
                    .data = InfoFromValue(TableAt(table, "data")),
                    .position = ToPosition(TableAt(table, "position")),
                    .rule_steps = IntAt(table, "rule_steps"),
                    .executor = TableAt(table, "executor"),
                    .strategy = TableAt(table, "strategy"),
                    .training = ToDataChecksum(table),
                    .test = ToMetrics(TableAt(table, "test")),
                    .reason = TextAt(table, "reason")};
  if (table.Find("good")) decoded.header.good = BoolAt(table, "good");
  if (table.Find("replicas")) decoded.header.replicas = TextsAt(table, "replicas");
  return decoded;
}

void RequireFormat(const Value& table, const std::string& name) {
  if (!table.Find("format") || !table.Find("yoke"))
    throw DamagedError(name + " is damaged: it lacks 'format' or 'yoke'");
  Require(*table.Find("format") == Value(kFormat), "{} was written by another version of yoke ({})",
          name, FormatJson(*table.Find("yoke")));
}

}  // namespace

std::string EncodeHeader(const CheckpointHeader& header, const std::string& model,
                         const std::string& optimizer) {
  Table table = {{"checksum", "0000000000000000"},
                 {"format", kFormat},
                 {"yoke", fmt::format("{} ({})", Version(), Commit())},
                 {"model", model},
                 {"optimizer", optimizer},
                 {"job", header.job},
                 {"data", InfoAsValue(header.data)},
                 {"position", ToTable(header.position)},
                 {"rule_steps", header.rule_steps},
                 {"executor", header.executor},
                 {"strategy", header.strategy},
                 {"training", ToTable(header.training)},
                 {"test", TableOf(header.test)},
                 {"reason", header.reason}};
  if (!header.good) table.emplace_back("good", false);
  if (!header.replicas.empty()) table.emplace_back("replicas", ListOf(header.replicas));
  std::string bytes = FormatJson(table, 1) + "\n";
  Seal(bytes, kBegin.size());
  return bytes;
}

DecodedHeader DecodeHeader(std::string bytes, const std::string& name) {
  if (!bytes.starts_with(kBegin) || !SealHolds(bytes, kBegin.size()))
    throw DamagedError(name + " is damaged: its checksum does not match");
  const Value table = ParseJson(bytes);
  RequireFormat(table, name);
  try {
    DecodedHeader decoded = FromTable(table);
    CheckFields(decoded.header);
    return decoded;
  } catch (const UserError& problem) {
    throw DamagedError(fmt::format("{} is damaged: {}", name, problem.what()));
  }
}

}  // namespace yoke
