// LossSettings: keys of the loss layers.
#include "train/job/parts.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "model/output_layers.h"

namespace yoke {
namespace {

constexpr const char* kKey = "class_weights";

std::vector<int64_t> CountClasses(const Reader& reader) {
  constexpr int64_t kAtOnce = 1024;
  std::vector<int64_t> counts(static_cast<size_t>(reader.Info().outputs)), examples;
  Batch batch;
  for (int64_t at = 0; at < reader.Size(); at += kAtOnce) {
    examples.resize(static_cast<size_t>(std::min(kAtOnce, reader.Size() - at)));
    std::iota(examples.begin(), examples.end(), at);
    reader.Read({.examples = examples}, batch);
    for (const int32_t c : batch.classes) ++counts[static_cast<size_t>(c)];
  }
  return counts;
}

std::vector<double> Balanced(const Reader& reader) {
  std::vector<double> weights;
  const std::vector<int64_t> counts = CountClasses(reader);
  const double mean = static_cast<double>(reader.Size()) / static_cast<double>(counts.size());
  for (const int64_t count : counts)
    weights.push_back(mean / static_cast<double>(std::max<int64_t>(1, count)));
  return weights;
}

/// Of a table by name; 1 for classes that it leaves out.
std::vector<double> ByName(const Job& job, const std::vector<std::string>& names) {
  std::vector<double> weights(names.size(), 1.0);
  for (const auto& [name, weight] : *job.train.Raw(kKey).AsTable()) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end())
      throw UserError(job.train.Where(kKey) + ": " + UnknownName("class", name, names));
    Require(weight.AsNumber().value_or(-1) >= 0, "{}.{}: expected a number of at least 0",
            job.train.Where(kKey), name);
    weights[static_cast<size_t>(found - names.begin())] = *weight.AsNumber();
  }
  return weights;
}

void RequireClasses(const Job& job, const char* key, bool classes) {
  Require(classes, "{}: expected data with one class for each example", job.train.Where(key));
}

}  // namespace

std::vector<double> ClassWeightsOf(const Job& job, const Reader& train) {
  if (!job.train.Has(kKey)) return {};
  const DataInfo& data = train.Info();
  RequireClasses(job, kKey, !data.multi_label && !data.regression);
  const Value& given = job.train.Raw(kKey);
  if (given.AsString()) return Balanced(train);
  if (given.AsTable()) return ByName(job, data.label_names);
  std::vector<double> weights = job.train.Floats(kKey);
  Require(std::ssize(weights) == data.outputs, "{}: {} weights, and the data has {} classes",
          job.train.Where(kKey), weights.size(), data.outputs);
  return weights;
}

List WithLossSettings(List layers, const Job& job, const std::vector<double>& class_weights,
                      const ModelTask& task) {
  const double smoothing = job.train.Float("label_smoothing");
  if (smoothing == 0 && class_weights.empty()) return layers;
  RequireClasses(job, "label_smoothing", !task.multi_label && !task.regression);
  if (!LossOf(layers.back())) layers.emplace_back(Table{{"type", "softmax_cross_entropy"}});
  List weights;
  for (const double weight : class_weights) weights.emplace_back(weight);
  for (Value& layer : layers) {
    if (!LossOf(layer)) continue;
    layer.Set("label_smoothing", smoothing);
    if (!weights.empty()) layer.Set(kKey, weights);
  }
  return layers;
}

}  // namespace yoke
