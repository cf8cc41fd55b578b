// OutputTables: rows sorted by promise, hashed in blocks.
// Cost: three passes over the rows; K L inputs / 3 additions per row and per query.
#include "model/output_tables.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/check.h"
#include "base/registry.h"
#include "kernels/convert.h"
#include "kernels/vectors.h"
#include "model/ranking.h"

namespace yoke {
namespace {

constexpr double kFourthRoots = 32;  // outputs that all queries find: 32 times the fourth root of N
constexpr int64_t kLoad = 64;        // minimum mean load of a bucket in ids,
constexpr int kBucket = 64;          // and its capacity: the highest-ranked ids stay
constexpr int kTables = 32;
constexpr int64_t kRowsAtOnce = 1 << 14;
constexpr int64_t kBlock = 16;  // rows hashed together

double Squares(const std::vector<float>& values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

}  // namespace

/// The output layer's rows minus their mean.
struct OutputTables::Rows {
  ConstTensor weight;  ///< f32 or bf16.
  const float* bias;   ///< May be null.
  int64_t inputs, count;
  std::vector<float> mean;
  double mean_bias = 0;

  Rows(const ParamView& params, const OutputProduct& output)
      : weight(
            {.type = params.layout->slices()[output.weight].type,
             .data = params.values.Host().data() + params.layout->slices()[output.weight].offset}),
        bias(output.bias < 0
                 ? nullptr
                 : params.values.Host().data() + params.layout->slices()[output.bias].offset),
        inputs(output.inputs),
        count(output.outputs),
        mean(inputs) {
    std::vector<double> sums(inputs);
    std::vector<float> copy;
    for (int64_t o = 0; o < count; ++o) {
      const float* row = InF32(weight, o * inputs, inputs, copy);
      for (int64_t i = 0; i < inputs; ++i) sums[i] += row[i];
    }
    for (int64_t i = 0; i < inputs; ++i) mean[i] = static_cast<float>(sums[i] / double(count));
    if (bias) mean_bias = std::accumulate(bias, bias + count, 0.0) / double(count);
  }

  /// Writes row `o` without its component along `common`; returns the length of that component.
  double Across(int64_t o, const std::vector<float>& common, float* row) const {
    std::vector<float> copy;
    const float* whole = InF32(weight, o * inputs, inputs, copy);
    for (int64_t i = 0; i < inputs; ++i) row[i] = whole[i] - mean[i];
    const double along = Dot(row, common.data(), inputs);
    for (int64_t i = 0; i < inputs; ++i) row[i] -= static_cast<float>(along) * common[i];
    return along;
  }
  double Bias(int64_t o) const { return bias ? bias[o] - mean_bias : 0; }
};

OutputTables::OutputTables(const Graph& graph, const ParamView& params, const Batch& sample,
                           const OutputTableSettings& settings) {
  RequireRanked(graph);
  output_ = graph.Output().value();
  LookAt(graph, params, sample);
  Choose(settings);
  const Rows rows(params, output_);
  Rank(rows);
  Fill(rows);
}

/// Estimates the common direction of queries and their typical lengths.
void OutputTables::LookAt(const Graph& graph, const ParamView& params, const Batch& sample) {
  common_.resize(output_.inputs);
  if (sample.size == 0) return;
  const auto plan = graph.Compile({.batch = sample.size, .below_output = true});
  plan->PrepareAndForward(sample, params);
  const float* x = plan->Scores().As<float>();
  const int64_t inputs = output_.inputs;
  std::vector<double> mean(inputs);
  double squares = 0;
  for (int64_t k = 0; k < sample.size * inputs; ++k) {
    mean[k % inputs] += x[k] / double(sample.size);
    squares += double(x[k]) * x[k] / double(sample.size);
  }
  along_ = std::sqrt(std::inner_product(mean.begin(), mean.end(), mean.begin(), 0.0));
  across_ = std::sqrt(std::max(0.0, squares - along_ * along_));
  for (int64_t i = 0; i < inputs && along_ > 0; ++i)
    common_[i] = static_cast<float>(mean[i] / along_);
}

void OutputTables::Choose(const OutputTableSettings& settings) {
  const int64_t outputs = output_.outputs;
  const HashFamilyEntry& family = FindEntry(hash_families(), "hash family", settings.family);
  const int bits = int(std::bit_width(static_cast<uint64_t>(outputs / kLoad))) - 1;
  settings_ = settings;
  if (settings_.hashes == 0) settings_.hashes = std::max(1, bits / family.bits);
  Require(settings_.hashes <= kMaxKeyBits / family.bits,
          "hash tables: {} hashes of {} bits make a key of {} bits: expected at most {}",
          settings_.hashes, family.bits, int64_t{settings_.hashes} * family.bits, kMaxKeyBits);
  if (settings_.tables == 0) settings_.tables = kTables;
  if (settings_.bucket == 0) settings_.bucket = kBucket;
  always_ = std::min<int64_t>(outputs, std::lround(kFourthRoots * std::pow(double(outputs), 0.25)));
  hasher_ = family.make(
      {.inputs = output_.inputs + 1, .hashes = settings_.hashes, .tables = settings_.tables});
  tables_ = std::make_unique<HashTables>(TableShape{
      .tables = settings_.tables, .key_bits = hasher_->key_bits(), .bucket = settings_.bucket});
}

/// A row's promise: its score for the mean query, plus its perpendicular length times that of
/// queries.
void OutputTables::Rank(const Rows& rows) {
  std::vector<float> biases(rows.count), lengths(rows.count);
#pragma omp parallel
  {
    std::vector<float> row(rows.inputs);
#pragma omp for schedule(static)
    for (int64_t o = 0; o < rows.count; ++o) {
      const double along = rows.Across(o, common_, row.data());
      biases[o] = static_cast<float>(along * along_ + rows.Bias(o));
      lengths[o] = static_cast<float>(std::sqrt(Dot(row.data(), row.data(), rows.inputs)));
    }
  }
  // Minimizes the angle between a query and a row of typical lengths.
  const double unit = std::sqrt(across_ * std::sqrt(Squares(biases) / Squares(lengths)));
  if (unit > 0 && std::isfinite(unit)) unit_ = unit;
  order_.resize(rows.count);
  std::iota(order_.begin(), order_.end(), 0);
  std::ranges::stable_sort(order_, {}, [&](int32_t o) {
    const double promise = biases[o] + lengths[o] * across_;
    return std::isnan(promise) ? -HUGE_VAL : promise;
  });
}

void OutputTables::Fill(const Rows& rows) {
  const int64_t width = rows.inputs + 1, hashed = rows.count - always_;
  std::vector<uint32_t> keys(kRowsAtOnce * settings_.tables);
  for (int64_t first = 0; first < hashed; first += kRowsAtOnce) {
    const int64_t count = std::min(kRowsAtOnce, hashed - first);
#pragma omp parallel for schedule(dynamic)
    for (int64_t begin = 0; begin < count; begin += kBlock) {
      const int64_t size = std::min(kBlock, count - begin);
      std::vector<float> block(size * width);
      for (int64_t k = 0; k < size; ++k) {
        float* row = block.data() + k * width;
        const int32_t o = order_[first + begin + k];
        const double along = rows.Across(o, common_, row);
        row[width - 1] = static_cast<float>((along * along_ + rows.Bias(o)) / unit_);
      }
      hasher_->Keys(block.data(), size, width, keys.data() + begin * settings_.tables);
    }
    tables_->InsertMany(keys.data(), static_cast<int32_t>(first), count);
  }
}

void OutputTables::Keys(const float* hidden, int64_t count, std::vector<uint32_t>& keys) const {
  const int64_t inputs = output_.inputs, width = inputs + 1;
  std::vector<float> queries(count * width);
  for (int64_t n = 0; n < count; ++n) {
    const float* x = hidden + n * inputs;
    float* query = queries.data() + n * width;
    const auto along = static_cast<float>(Dot(x, common_.data(), inputs));
    for (int64_t i = 0; i < inputs; ++i) query[i] = x[i] - along * common_[i];
    query[inputs] = static_cast<float>(unit_);
  }
  keys.resize(count * settings_.tables);
  hasher_->Keys(queries.data(), count, width, keys.data());
}

void OutputTables::Find(const uint32_t* keys, Marks& marks, std::vector<int32_t>& ids) const {
  ids.clear();
  for (int table = 0; table < settings_.tables; ++table) tables_->PrefetchIds(table, keys[table]);
  marks.Begin(output_.outputs, ids);
  for (int table = 0; table < settings_.tables; ++table)
    for (const int32_t place : tables_->Bucket(table, keys[table])) marks.Append(place, ids);
  marks.End(ids);
  for (int32_t& id : ids) id = order_[id];
  ids.insert(ids.end(), order_.end() - always_, order_.end());
}

}  // namespace yoke
