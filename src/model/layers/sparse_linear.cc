// The layer `sparse_linear`: like linear, for sparse input. Stores one row of weights per feature;
// only rows of features in the batch are read or have a gradient. Always computes in f32.
#include "kernels/sparse_linear/sparse_linear.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/algorithms.h"
#include "base/check.h"
#include "kernels/convert.h"
#include "model/layer.h"
#include "model/layers/weighted.h"
#include "tensor/growing_buffer.h"

namespace yoke::layer {
namespace {

/// Features of so many examples; their number is unknown here: a hundred an example, or all if
/// there are fewer.
double EntriesOf(int64_t batch, int64_t features) {
  return double(batch) * std::min(100.0, double(features));
}

/// The touched rows of passes on another device: staging memory for each pass that may be under
/// way, and one copy there, which passes use in the order of the stream. It stays in its place as
/// long as no batch touches more rows than the largest so far, and the device reads their number.
class TouchedRowsThere {
 public:
  explicit TouchedRowsThere(const Target& target)
      : ids_(target), starts_(target), entries_(target), values_(target) {
    if (target.device->IsHost()) return;
    for (int i = 0; i < kMostUnderWay; ++i) staged_.emplace_back(target.device->staging());
  }

  /// Starts the copies; true if the memory there has moved.
  bool Send(const TouchedRows& touched, int64_t width) {
    next_ = (next_ + 1) % kMostUnderWay;
    StagingBuffers& staged = staged_[next_];
    const int64_t entries = touched.starts[touched.count];
    const int64_t* const starts =
        starts_.Of(Counted(touched.count, touched.starts, touched.count + 1, staged.starts),
                   touched.count + 2);
    const TouchedRows before = rows_;
    rows_ = {.ids = ids_.Of(Copied(touched.ids, touched.count, staged.ids), touched.count),
             .starts = starts + 1,
             .entries = entries_.Of(Copied(touched.entries, entries, staged.entries), entries),
             .counted = starts};
    rows_.count = ids_.Capacity<int32_t>();
    if (touched.count == 0) rows_.ids = before.ids;  // there may be more at another time
    if (entries == 0) rows_.entries = before.entries;
    float* const values = std::exchange(values_there_, values_.Reserve<float>(rows_.count * width));
    return values != values_there_ || rows_.ids != before.ids || rows_.starts != before.starts ||
           rows_.entries != before.entries;
  }
  /// With `count` as their largest number.
  const TouchedRows& rows() const { return rows_; }
  float* values() const { return values_there_; }  ///< Memory for their gradients.

 private:
  struct StagingBuffers {
    explicit StagingBuffers(Device& staging)
        : ids({.device = &staging}), starts({.device = &staging}), entries({.device = &staging}) {}
    GrowingBuffer ids, starts, entries;
  };
  template <typename T>
  static const T* Copied(const T* from, int64_t count, GrowingBuffer& memory) {
    T* const to = memory.Reserve<T>(count);
    std::copy_n(from, count, to);
    return to;
  }
  /// The number of rows in front of them.
  static const int64_t* Counted(int64_t rows, const int64_t* from, int64_t count,
                                GrowingBuffer& memory) {
    auto* const to = memory.Reserve<int64_t>(count + 1);
    to[0] = rows;
    std::copy_n(from, count, to + 1);
    return to;
  }

  std::vector<StagingBuffers> staged_;
  TouchedRows rows_;
  float* values_there_ = nullptr;
  int next_ = 0;
  GrowingBuffer ids_, starts_, entries_, values_;
};

/// The host lists the touched rows; the target computes their gradients.
class SparseLinearPlan : public LayerPlan, public WorkingMemory {
 public:
  SparseLinearPlan(const SparseLinearShape& shape, int64_t batch, const Target& target)
      : shape_(shape),
        entries_of_batch_(EntriesOf(batch, shape.features)),
        target_(target),
        kernel_(MakeSparseLinear(shape, target)),
        convert_(MakeConvert(target)),
        there_(target) {
    output = {.shape = {shape.outputs}};
    reads_output = shape.relu;
    scratch_bytes = shape.outputs * SizeOf(DType::kF32);
    kernel = kernel_->name();
  }

  void CheckBatch(const Batch& batch) const override {
    CheckIds(batch.sparse.View(), shape_.features);
  }

  bool Send(const Batch& batch) override {
    return there_.Send(list_.Find(batch.sparse.View(), shape_.features, ids_), shape_.outputs);
  }
  void LeaveRows(RowGradient& rows) const override {
    const TouchedRows& there = there_.rows();
    rows.ids = ids_;
    rows.ids_there = {target_.device, there.ids, std::ssize(ids_)};
    rows.values_there = {target_.device, there_.values(), std::ssize(ids_) * shape_.outputs};
    rows.counted_there = there.counted;
    rows.most_there = there.count;
  }

  void Forward(const LayerCall& call) override {
    SparseLinearCall arguments = Arguments(call);
    if (shape_.bias) arguments.bias = BiasOf(call);
    kernel_->Forward(arguments);
  }

  void Backward(const LayerCall& call) override {
    RowGradient& rows = *call.params[0].rows;
    SparseLinearCall arguments = Arguments(call);
    if (!target_.device->IsHost()) return BackwardThere(arguments, rows);
    arguments.touched = list_.Find(call.batch.sparse.View(), shape_.features, rows.ids);
    ResizeWithRoom(rows.values, arguments.touched.count * shape_.outputs);
    arguments.row_values = rows.values.data();
    kernel_->Backward(arguments);
  }

  int64_t WorkingBytes() const override {
    return static_cast<int64_t>(entries_of_batch_) * TouchedRowList::kBytesAnEntry;
  }
  int64_t RowGradientBytes() const override {
    const double rows = DifferentOf(double(shape_.features), entries_of_batch_);
    return static_cast<int64_t>(rows * double(shape_.outputs + 1) * sizeof(float));
  }

 private:
  SparseLinearCall Arguments(const LayerCall& call) const {
    const ConstTensor& weight = call.params[0].value;
    const bool bf16 = weight.type == DType::kBf16;
    return {.input = call.sparse,
            .weight = bf16 ? nullptr : weight.As<float>(),
            .bf16_weight = bf16 ? weight.As<Bf16>() : nullptr,
            .output = call.output.As<float>(),
            .output_gradient = call.output_gradient.As<float>(),
            .bias_gradient = shape_.bias ? call.params[1].gradient : nullptr};
  }

  void BackwardThere(SparseLinearCall& arguments, RowGradient& rows) {
    arguments.touched = there_.rows();
    arguments.row_values = there_.values();
    kernel_->Backward(arguments);
    LeaveRows(rows);
  }

  const float* BiasOf(const LayerCall& call) const {
    const ConstTensor& bias = call.params[1].value;
    if (bias.type == DType::kF32) return bias.As<float>();
    convert_->Forward({bias, {.shape = bias.shape, .data = call.scratch}});
    return static_cast<const float*>(call.scratch);
  }

  SparseLinearShape shape_;
  double entries_of_batch_;
  Target target_;
  std::unique_ptr<SparseLinearKernel> kernel_;
  std::unique_ptr<ConvertKernel> convert_;
  TouchedRowList list_;
  std::vector<int32_t> ids_;  // on another device: of the batch that was sent
  TouchedRowsThere there_;
};

class SparseLinear : public Layer {
 public:
  SparseLinear(const SparseLinearShape& shape, const Options& options)
      : shape_(shape), initializers_(options) {}

  Edge Output() const override { return {.shape = {shape_.outputs}}; }

  std::vector<ParamSpec> Params() const override {
    return WeightAndBias({.shape = {shape_.features, shape_.outputs},
                          .kind = SliceKind::kRowSparse,
                          .fan_in = shape_.features,
                          .fan_out = shape_.outputs},
                         shape_.bias ? shape_.outputs : 0, initializers_);
  }

  Cost Price(int64_t batch) const override {
    const double entries = EntriesOf(batch, shape_.features);
    return {.operations = 4 * entries * double(shape_.outputs),
            .bytes = 4 * (2 * entries + 3 * double(batch)) * double(shape_.outputs)};
  }

  std::unique_ptr<LayerPlan> Plan(const PlanRequest& request) const override {
    return std::make_unique<SparseLinearPlan>(shape_, request.batch, request.target);
  }

  bool Fuse(Fusion what) override {
    return what == Fusion::kRelu && !std::exchange(shape_.relu, true);
  }

 private:
  SparseLinearShape shape_;
  WeightInitializers initializers_;
};

std::unique_ptr<Layer> MakeSparseLinearLayer(const Options& options, const LayerContext& context) {
  Require(context.input.sparse,
          "layer '{}' (sparse_linear) needs the data's sparse rows as its input: use linear for "
          "dense input",
          context.name);
  const SparseLinearShape shape{.features = context.input.shape.Count(),
                                .outputs = options.Int("outputs"),
                                .bias = options.Bool("bias")};
  return std::make_unique<SparseLinear>(shape, options);
}

}  // namespace

LayerEntry sparse_linear() {
  return {.name = "sparse_linear",
          .summary = "linear for sparse input; touches only the rows of features that occur",
          .options = WithWeightOptions({CountOption("outputs", {}, "Number of outputs.")},
                                       "xavier_uniform", "zeros"),
          .make = MakeSparseLinearLayer};
}

}  // namespace yoke::layer
