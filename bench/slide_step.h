// SlideStep: the stages of a hashed layer's training step, as plain loops and by the kernels that
// training uses.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/registry.h"
#include "bench/rate.h"
#include "bench/slide_loops.h"
#include "data/xmc.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/rows.h"
#include "kernels/sparse_linear/sparse_linear.h"
#include "lsh/family.h"
#include "lsh/sampler.h"
#include "model/layers/lsh_linear/settings.h"
#include "optim/rule.h"

namespace yoke::bench {

inline constexpr int64_t kBatches = 16;

/// One stage of a step: what it costs on one batch, run by plain loops or by the kernels.
struct Stage {
  std::string name;
  double bytes = 0, operations = 0;  // from and to memory; 0: all in the cache
  std::function<void(int64_t batch, bool plain)> run;
};

inline std::vector<OptionSpec> AllOptions() {
  std::vector<OptionSpec> options = layer::LshOptions();
  options.push_back({.name = "outputs", .type = OptionType::kInt});
  return options;
}

/// The layers' weights, the tables, and what flows between the stages of each batch.
class Step {
 public:
  virtual ~Step() = default;
  Step(int64_t outputs, int64_t features, int64_t batch)
      : settings_(layer::SettingsOf(Options("layer", Table{{"outputs", outputs}}, AllOptions()),
                                    kHidden)),
        batch_(batch),
        groups_(batch / settings_.group),
        tables_({.tables = settings_.tables,
                 .key_bits = settings_.hashes,
                 .bucket = settings_.bucket}) {
    layout_.Add({.name = "in", .shape = {features, kHidden}, .kind = SliceKind::kRowSparse});
    layout_.Add({.name = "out", .shape = {outputs, kHidden}, .kind = SliceKind::kRowSparse});
    layout_.Pack();
    params_ = std::make_unique<ParamStore>(layout_, Cpu());
    const Buffer drawn = RandomValues(layout_.size(), 0.2, 1);
    std::copy_n(drawn.As<float>(), layout_.size(), params_->values().Host().data());
    gradients_ = std::make_unique<Gradients>(layout_, Cpu());
    const RuleEntry& adam = FindEntry(rules(), "rule", "adam");
    rule_ = adam.make(Options("train", Table{}, adam.options));
    state_ = std::make_unique<RuleState>(layout_, *rule_, Cpu());
    for (const bool plain : {false, true}) {
      hashers_.push_back(FindEntry(hash_families(), "hash family", settings_.family)
                             .make({.inputs = kHidden,
                                    .hashes = settings_.hashes,
                                    .tables = settings_.tables,
                                    .reference = plain}));
      input_.push_back(
          MakeSparseLinear({.features = features, .outputs = kHidden}, {.reference = plain}));
    }
    FillTables();
    GenerateXmc({.features = features, .labels = outputs}, false, kBatches * batch, data_);
    input_gradients_ = RandomValues(batch * kHidden, 0.01, 2);
    bias_ = RandomValues(kHidden, 0.1, 3);
    works_.resize(kBatches * groups_);
    keys_.resize(kBatches * batch * settings_.tables);
    hidden_ = Buffer(Cpu(), kBatches * batch * kHidden * 4);
    in_rows_.resize(kBatches), out_rows_.resize(kBatches);
  }

  std::vector<Stage> Stages() {
    const auto entries = static_cast<double>(data_.sparse.ids.size()) / kBatches;
    const double b = double(batch_), rows = double(groups_ * settings_.wanted());
    const double width = kHidden * 4.0, tables = settings_.tables;
    using Pass = void (Step::*)(int64_t, bool);
    const auto stage = [this](const char* name, double bytes, double operations, Pass pass) {
      return Stage{name, bytes, operations,
                   [this, pass](int64_t n, bool plain) { (this->*pass)(n, plain); }};
    };
    const double input = 2 * entries * kHidden;
    const double product = 2 * rows * double(settings_.group) * kHidden;
    return {stage("input layer, forward", entries * width, input, &Step::InputForward),
            stage("hash", 0, b * tables * settings_.hashes * kHidden / 3 * 2, &Step::Hash),
            stage("query", b * tables * settings_.bucket / 2.0 * 4, 0, &Step::Query),
            stage("forward", rows * width, product, &Step::Forward),
            stage("loss", 0, 0, &Step::Loss),
            stage("backward", 3 * rows * width, 2 * product, &Step::Backward),
            stage("input layer, backward", entries * width / 2, input, &Step::InputBackward),
            stage("update", 0, 0, &Step::Update)};
  }

  /// Bytes that a step's update moves: weight and two arrays of state, read and written, and the
  /// gradient; known after the stages have run.
  double UpdateBytes() const {
    double rows = 0;
    for (int64_t n = 0; n < kBatches; ++n)
      rows += double(in_rows_[n].ids.size() + out_rows_[n].ids.size()) / kBatches;
    return rows * kHidden * 28;
  }
  /// Rows of the output layer that a batch's groups take together.
  double OutputRows() const {
    double rows = 0;
    for (const Work& work : works_) rows += double(work.ids.size()) / kBatches;
    return rows;
  }
  double TouchedRows() const { return UpdateBytes() / kHidden / 28; }

  /// Adam on every row, touched or not: what a dense optimizer pays.
  void UpdateAll() {
    const UpdateSpan span{
        .values = params_->values().Host().data(),
        .gradient = params_->values().Host().data(),
        .state = {state_->array(0).Host().data(), state_->array(1).Host().data()}};
    ForEachOnTeam(layout_.size() / kHidden / 64, [&](int64_t block) {
      UpdateSpan part = span;
      const int64_t at = block * 64 * kHidden;
      part.values += at, part.gradient += at, part.count = 64 * kHidden;
      for (float*& array : part.state) array += at;
      rule_->Update(part, {.learning_rate = 1e-9});
    });
  }

  const layer::LshSettings& settings() const { return settings_; }

  /// Hands a batch's gradient on to the input layer.
  void PassInputGradient(int64_t n) {
    const int64_t count = settings_.group * kHidden;
    for (int64_t g = 0; g < groups_; ++g)
      std::copy_n(works_[n * groups_ + g].input_gradient.As<float>(), count,
                  input_gradients_.As<float>() + g * count);
  }
  double MeanLoss() const {
    double sum = 0;
    for (const Work& work : works_)
      for (const float loss : work.losses) sum += loss;
    return sum / double(kBatches * batch_);
  }

  float rate = 1e-9F;  ///< Of Adam.

 protected:
  struct Work {
    std::vector<int32_t> ids;
    std::vector<float> losses;
    Buffer rows, values, gradient, row_gradient, input_gradient, scratch;
    // By threads (0: plain) and columns.
    std::map<std::pair<int64_t, int64_t>, std::unique_ptr<LinearKernel>> kernels;
    Batch labels;
  };

  void FillTables() {
    const int64_t outputs = settings_.outputs, rows = 1 << 12;
    std::vector<uint32_t> keys(rows * settings_.tables);
    for (int64_t first = 0; first < outputs; first += rows) {
      const int64_t count = std::min(rows, outputs - first);
      hashers_[0]->Keys(Weight(first), count, kHidden, keys.data());
      tables_.InsertMany(keys.data(), static_cast<int32_t>(first), count);
    }
  }
  const float* Weight(int64_t row) const {
    return params_->values().Host().data() + layout_.slices()[1].offset + row * kHidden;
  }
  float* Hidden(int64_t n) const { return hidden_.As<float>() + n * batch_ * kHidden; }
  SparseRows Rows(int64_t n) const {
    return {.rows = batch_,
            .width = layout_.slices()[0].shape[0],
            .offsets = data_.sparse.offsets.data() + n * batch_,
            .ids = data_.sparse.ids.data(),
            .values = data_.sparse.values.data()};
  }
  SparseLinearCall InputCall(int64_t n) {
    return {.input = Rows(n),
            .weight = params_->values().Host().data(),
            .bias = bias_.As<float>(),
            .output = Hidden(n),
            .output_gradient = input_gradients_.As<float>(),
            .bias_gradient = bias_gradient_};
  }
  virtual void InputForward(int64_t n, bool plain) { input_[plain]->Forward(InputCall(n)); }
  virtual void InputBackward(int64_t n, bool plain) {
    SparseLinearCall call = InputCall(n);
    RowGradient& rows = in_rows_[n];
    call.touched = touched_.Find(call.input, call.input.width, rows.ids);
    rows.values.resize(call.touched.count * kHidden);
    call.row_values = rows.values.data();
    input_[plain]->Backward(call);
  }

  void Hash(int64_t n, bool plain) {
    const int64_t tables = settings_.tables;
    ForEachOnTeam(batch_ / 16, [&](int64_t block) {
      hashers_[plain]->Keys(Hidden(n) + block * 16 * kHidden, 16, kHidden,
                            keys_.data() + (n * batch_ + block * 16) * tables);
    });
  }

  void ForGroups(int64_t n, const std::function<void(Work&, int64_t)>& body) {
    ForEachOnTeam(groups_, [&](int64_t g) { body(works_[n * groups_ + g], g); });
  }

  void Query(int64_t n, bool plain) {
    for (size_t i = samplers_.size(); i < 2 * static_cast<size_t>(KernelThreads()); ++i)
      samplers_.push_back(FindEntry(samplers(), "sampler", i % 2 ? "uniform" : "top_k").make());
    ForGroups(n, [&](Work& work, int64_t g) {
      const SampleRequest request{
          .tables = &tables_,
          .keys = keys_.data() + (n * batch_ + g * settings_.group) * settings_.tables,
          .examples = settings_.group,
          .rows = settings_.outputs,
          .wanted = settings_.hard};
      AddLabels(n, g, work);
      if (plain)
        PlainQuery(request, work.ids);
      else
        samplers_[2 * TeamThread()]->Sample(request, Random{1}, work.ids);
      samplers_[2 * TeamThread() + 1]->Sample(
          {.rows = settings_.outputs, .wanted = settings_.random}, Random{2}, work.ids);
    });
  }

  void AddLabels(int64_t n, int64_t g, Work& work) const {
    const int64_t first = n * batch_ + g * settings_.group;
    work.ids.assign(data_.labels.ids.data() + data_.labels.offsets.data()[first],
                    data_.labels.ids.data() + data_.labels.offsets.data()[first + settings_.group]);
    std::ranges::sort(work.ids);
    work.ids.erase(std::unique(work.ids.begin(), work.ids.end()), work.ids.end());
    work.labels.size = settings_.group;
    work.labels.labels.Clear();
    for (int64_t i = first; i < first + settings_.group; ++i) {
      for (int64_t k = data_.labels.offsets.data()[i]; k < data_.labels.offsets.data()[i + 1]; ++k)
        work.labels.labels.ids.push_back(static_cast<int32_t>(
            std::ranges::lower_bound(work.ids, data_.labels.ids.data()[k]) - work.ids.begin()));
      work.labels.labels.offsets.push_back(static_cast<int64_t>(work.labels.labels.ids.size()));
    }
  }

  /// A map from id to count, and a sort.
  virtual void PlainQuery(const SampleRequest& request, std::vector<int32_t>& ids) {
    const int tables = request.tables->shape().tables;
    std::unordered_map<int32_t, int> counts;
    for (int64_t i = 0; i < request.examples; ++i)
      for (int t = 0; t < tables; ++t)
        for (const int32_t id : request.tables->Bucket(t, request.keys[i * tables + t]))
          ++counts[id];
    for (const int32_t id : ids) counts.erase(id);
    std::vector<std::pair<int, int32_t>> order;
    order.reserve(counts.size());
    for (const auto& [id, count] : counts) order.emplace_back(-count, id);
    std::ranges::sort(order);
    const auto found = std::min<int64_t>(request.wanted, static_cast<int64_t>(order.size()));
    for (int64_t i = 0; i < found; ++i) ids.push_back(order[i].second);
  }

  /// Of a group, rounded up as the layer does.
  static int64_t Columns(const Work& work) {
    return (static_cast<int64_t>(work.ids.size()) + 63) / 64 * 64;
  }
  LinearKernel& Product(Work& work, bool plain) const {
    auto& kernel = work.kernels[{plain ? 0 : KernelThreads(), Columns(work)}];
    if (!kernel)
      kernel = MakeLinear({.batch = settings_.group,
                           .inputs = kHidden,
                           .outputs = Columns(work),
                           .bias = false,
                           .training = true,
                           .input_gradient = true},
                          {.reference = plain});
    return *kernel;
  }
  static void Grow(Buffer& buffer, int64_t bytes) {
    if (buffer.bytes() < bytes) buffer = Buffer(Cpu(), bytes);
  }

  virtual void Forward(int64_t n, bool plain) {
    ForGroups(n, [&](Work& work, int64_t g) {
      const int64_t columns = Columns(work);
      LinearKernel& product = Product(work, plain);
      Grow(work.rows, columns * kHidden * 4), Grow(work.row_gradient, columns * kHidden * 4);
      Grow(work.values, settings_.group * columns * 4);
      Grow(work.gradient, settings_.group * columns * 4);
      Grow(work.input_gradient, settings_.group * kHidden * 4);
      Grow(work.scratch, std::max<int64_t>(64, product.scratch_bytes()));
      auto* rows = work.rows.As<float>();
      if (plain)
        for (size_t r = 0; r < work.ids.size(); ++r)
          std::copy_n(Weight(work.ids[r]), kHidden, rows + r * kHidden);
      else
        GatherRows({.table = Weight(0),
                    .width = kHidden,
                    .rows = work.ids,
                    .padded_rows = columns,
                    .padded_columns = kHidden,
                    .block = rows});
      product.Forward({.input = Hidden(n) + g * settings_.group * kHidden,
                       .weight = rows,
                       .output = work.values.data(),
                       .scratch = work.scratch.data()});
    });
  }

  virtual void Loss(int64_t n, bool plain) {
    ForGroups(n, [&](Work& work, int64_t) {
      const auto loss = MakeCrossEntropy({.batch = settings_.group, .outputs = Columns(work)},
                                         {.reference = plain});
      work.losses.resize(settings_.group);
      const CrossEntropyCall call{.scores = work.values.As<float>(),
                                  .labels = work.labels.Targets(),
                                  .losses = work.losses.data(),
                                  .gradient = work.gradient.As<float>()};
      loss->Forward(call);
      loss->Backward(call);
    });
  }

  virtual void Backward(int64_t n, bool plain) {
    ForGroups(n, [&](Work& work, int64_t g) {
      Product(work, plain)
          .Backward({.input = Hidden(n) + g * settings_.group * kHidden,
                     .weight = work.rows.data(),
                     .output = work.values.data(),
                     .output_gradient = work.gradient.data(),
                     .input_gradient = work.input_gradient.data(),
                     .weight_gradient = work.row_gradient.As<float>(),
                     .scratch = work.scratch.data()});
    });
    if (plain) return PlainMerge(n);
    std::vector<RowBlock> blocks;
    for (int64_t g = 0; g < groups_; ++g) {
      const Work& work = works_[n * groups_ + g];
      blocks.push_back(
          {.rows = work.ids, .values = work.row_gradient.As<float>(), .stride = kHidden});
    }
    merge_.Run(blocks, kHidden, out_rows_[n].ids, out_rows_[n].values);
  }

  void PlainMerge(int64_t n) {
    std::map<int32_t, std::vector<float>> sums;
    for (int64_t g = 0; g < groups_; ++g) {
      const Work& work = works_[n * groups_ + g];
      for (size_t r = 0; r < work.ids.size(); ++r) {
        std::vector<float>& sum = sums[work.ids[r]];
        sum.resize(kHidden);
        for (int64_t i = 0; i < kHidden; ++i)
          sum[i] += work.row_gradient.As<float>()[r * kHidden + i];
      }
    }
    RowGradient& rows = out_rows_[n];
    rows.ids.clear(), rows.values.clear();
    for (const auto& [id, sum] : sums) {
      rows.ids.push_back(id);
      rows.values.insert(rows.values.end(), sum.begin(), sum.end());
    }
  }

  void Update(int64_t n, bool plain) {
    std::swap(gradients_->rows(0), in_rows_[n]);
    std::swap(gradients_->rows(1), out_rows_[n]);
    if (plain)
      PlainUpdate();
    else
      Apply(*params_,
            {.rule = *rule_, .state = *state_, .gradients = *gradients_, .learning_rate = rate});
    std::swap(gradients_->rows(0), in_rows_[n]);
    std::swap(gradients_->rows(1), out_rows_[n]);
  }

  /// A row after the other, a number after the other.
  [[gnu::optimize("no-tree-vectorize")]] virtual void PlainUpdate() {
    for (int slice = 0; slice < 2; ++slice) {
      const RowGradient& rows = gradients_->rows(slice);
      for (size_t r = 0; r < rows.ids.size(); ++r) {
        const int64_t at = layout_.slices()[slice].offset + int64_t{rows.ids[r]} * kHidden;
        const int t = ++state_->row_steps(slice).data[rows.ids[r]];
        const double first = 1 - std::pow(0.9, t), second = std::sqrt(1 - std::pow(0.999, t));
        float* const w = params_->values().Host().data() + at;
        float* const first_moment = state_->array(0).Host().data() + at;
        float* const second_moment = state_->array(1).Host().data() + at;
        for (int64_t i = 0; i < kHidden; ++i) {
          const float g = rows.values[r * kHidden + i];
          float &m = first_moment[i], &v = second_moment[i];
          m = 0.9F * m + 0.1F * g;
          v = 0.999F * v + 0.001F * g * g;
          w[i] -= rate / float(first) * m / (std::sqrt(v) / float(second) + 1e-8F);
        }
      }
    }
  }

  layer::LshSettings settings_;
  int64_t batch_, groups_;
  ParamLayout layout_;
  std::unique_ptr<ParamStore> params_;
  std::unique_ptr<Gradients> gradients_;
  std::unique_ptr<UpdateRule> rule_;
  std::unique_ptr<RuleState> state_;
  std::vector<std::unique_ptr<Hasher>> hashers_;  // fast, plain
  std::vector<std::unique_ptr<SparseLinearKernel>> input_;
  HashTables tables_;
  MemoryData data_;
  Buffer input_gradients_, bias_, hidden_;
  float bias_gradient_[kHidden] = {};
  std::vector<uint32_t> keys_;
  std::vector<std::unique_ptr<Sampler>> samplers_;  // two for each thread
  std::vector<Work> works_;
  RowMerge merge_;
  std::vector<RowGradient> in_rows_, out_rows_;
  TouchedRowList touched_;
};

}  // namespace yoke::bench
