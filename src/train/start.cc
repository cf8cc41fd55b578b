// Start: copies weights by name from a checkpoint or an ONNX file.
#include "train/start.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "kernels/convert.h"
#include "model/onnx/onnx.h"
#include "model/output_layers.h"
#include "train/checkpoint/checkpoint.h"
#include "train/job/parts.h"

namespace yoke {
namespace {

bool IsOnnx(const std::string& path) { return path.ends_with(".onnx"); }

const std::string& PathOf(const Value& model) {
  const Value& start = *model.Find("start");
  Require(start.AsString(), "model.start: expected a path in quotes");
  return *start.AsString();
}

/// What holds the weights.
class Source {
 public:
  virtual ~Source() = default;
  /// Throws UserError if its model is for other data than these.
  virtual void CheckData(const DataInfo& data, bool replaces_head) const = 0;
  virtual bool Has(const std::string& name) const = 0;
  /// Copies a parameter that it has. Throws UserError if that has another shape.
  virtual void Copy(const Slice& slice, void* to) const = 0;
  /// Copies the part of an output layer's parameter that is of classes with the same names in
  /// `data`; returns how many there are.
  virtual int64_t CopyClasses(const Slice& /*slice*/, const DataInfo& /*data*/,
                              void* /*to*/) const {
    return 0;
  }
};

void RequireShape(bool same, const std::string& path, const Slice& slice, const std::string& has) {
  Require(same, "model.start: '{}' is {} in {} and {} in this model", slice.name, has, path,
          slice.shape.Text());
}

class CheckpointSource : public Source {
 public:
  explicit CheckpointSource(const std::string& path)
      : path_(path), checkpoint_(Checkpoint::Open(CheckpointFolder(path))) {
    for (const StoredTensor& tensor : checkpoint_.model().tensors())
      by_name_[tensor.name] = &tensor;
  }

  void CheckData(const DataInfo& data, bool replaces_head) const override {
    const DataInfo& own = checkpoint_.header().data;
    RequireSameFeatures(own, data);
    if (replaces_head) return;
    const char* kind = data.LabelKind();
    Require(
        own.regression == data.regression,
        "model.start: {} has {}, and the data has {}: model.replace_head = true draws its output "
        "layer anew for these",
        path_, own.LabelKind(), kind);
    RequireSameOutputs(path_, own.outputs, TaskOf(data));
    Require(data.regression || own.label_names.empty() || data.label_names.empty() ||
                own.label_names == data.label_names,
            "model.start: {} was trained on other classes ({}) than those of the data ({}): "
            "model.replace_head = true draws its output layer anew for these",
            path_, Some(own.label_names), Some(data.label_names));
  }

  bool Has(const std::string& name) const override { return by_name_.contains(name); }

  void Copy(const Slice& slice, void* to) const override {
    const StoredTensor& own = *by_name_.at(slice.name);
    RequireShape(own.shape == slice.shape, path_, slice, own.shape.Text());
    checkpoint_.model().CopyTo({slice.name, slice.type, slice.shape, to});
  }

  int64_t CopyClasses(const Slice& slice, const DataInfo& data, void* to) const override {
    const std::vector<std::string>& own = checkpoint_.header().data.label_names;
    if (!Has(slice.name)) return 0;
    const Shape& shape = by_name_.at(slice.name)->shape;
    if (shape[0] != std::ssize(own) || shape.Count() / shape[0] != slice.RowWidth()) return 0;
    const int64_t bytes = slice.RowWidth() * SizeOf(slice.type);
    std::vector<char> rows(static_cast<size_t>(shape[0] * bytes));
    checkpoint_.model().CopyTo({slice.name, slice.type, shape, rows.data()});
    int64_t kept = 0;
    for (size_t c = 0; c < data.label_names.size(); ++c) {
      const auto found = std::ranges::find(own, data.label_names[c]);
      if (found == own.end()) continue;
      std::copy_n(rows.data() + (found - own.begin()) * bytes, bytes,
                  static_cast<char*>(to) + static_cast<int64_t>(c) * bytes);
      ++kept;
    }
    return kept;
  }

 private:
  void RequireSameFeatures(const DataInfo& own, const DataInfo& data) const {
    Require(own.columns.empty() || data.columns.empty() || own.columns == data.columns,
            "model.start: {} was trained on other columns than those of the data, or in another "
            "order",
            path_);
    if (own.encodings.size() != data.encodings.size()) return;  // the shapes tell
    for (size_t i = 0; i < own.encodings.size(); ++i)
      Require(HasSameFeatures(own.encodings[i], data.encodings[i]),
              "model.start: {} was trained on other categories or missing numbers of {} than those "
              "of the data",
              path_, own.columns.empty() ? fmt::format("column {}", i + 1) : own.columns[i]);
  }

  static bool HasSameFeatures(const ColumnEncoding& a, const ColumnEncoding& b) {
    return a.categories == b.categories && a.indicator == b.indicator && a.by_id == b.by_id &&
           a.words == b.words && a.hashes == b.hashes;
  }

  /// The first of them.
  static std::string Some(const std::vector<std::string>& names) {
    constexpr size_t kShown = 4;
    const bool all = names.size() <= kShown;
    return fmt::format("{}{}",
                       fmt::join(names.begin(), all ? names.end() : names.begin() + kShown, ", "),
                       all ? "" : ", ...");
  }

  std::string path_;
  Checkpoint checkpoint_;
  std::map<std::string, const StoredTensor*> by_name_;
};

class OnnxSource : public Source {
 public:
  explicit OnnxSource(const std::string& path) : path_(path), model_(ReadOnnx(path)) {
    for (const OnnxWeight& weight : model_.weights) by_name_[weight.name] = &weight;
  }

  void CheckData(const DataInfo& data, bool replaces_head) const override {
    if (!replaces_head) RequireSameOutputs(path_, model_.outputs, TaskOf(data));
  }

  bool Has(const std::string& name) const override { return by_name_.contains(name); }

  void Copy(const Slice& slice, void* to) const override {
    const std::vector<float>& own = by_name_.at(slice.name)->values;
    RequireShape(std::ssize(own) == slice.Count(), path_, slice,
                 fmt::format("{} numbers", own.size()));
    Convert({.shape = slice.shape, .type = DType::kF32, .data = own.data()},
            {.shape = slice.shape, .type = slice.type, .data = to});
  }

 private:
  std::string path_;
  OnnxModel model_;
  std::map<std::string, const OnnxWeight*> by_name_;
};

std::unique_ptr<Source> Open(const std::string& path) {
  if (IsOnnx(path)) return std::make_unique<OnnxSource>(path);
  return std::make_unique<CheckpointSource>(path);
}

std::string Sentence(const std::string& path, size_t taken, const std::vector<std::string>& anew) {
  std::string text = fmt::format("{} parameters start from {}", taken, path);
  if (anew.empty()) return text;
  return fmt::format("{}; drawn anew: {}", text, fmt::join(anew, ", "));
}

}  // namespace

Value WithModelOfStart(Value model) {
  if (!model.Find("start") || model.Find("name") || model.Find("layer") || model.Find("file"))
    return model;
  const std::string path = PathOf(model);
  if (IsOnnx(path)) {
    model.Set("file", path);
    model.Erase("start");
    return model;
  }
  const CheckpointHeader start = ReadHeader(CheckpointFolder(path));
  const bool other_loss = model.Find("loss") || model.Find("replace_head");
  for (const auto& [key, value] : *start.job.Find("model")->AsTable())
    if (!model.Find(key) && !(other_loss && key.starts_with("loss"))) model.Set(key, value);
  return model;
}

namespace {

/// Weights that were trained on a table's numbers as they are go on so.
void LeaveRaw(Value& data) {
  const bool measures = IsOfKind(data, FormatKind::kTable) || IsOfKind(data, FormatKind::kArrays);
  if (measures && !data.Find("mean") && !data.Find("deviation")) data.Set("normalize", "none");
}

}  // namespace

Value WithNormalizationOfStart(const Value& model, Value data) {
  data.Erase("start");  // of an earlier start, in a run's job
  const Value *file = model.Find("file"), *anew = model.Find("initialize");
  const Value* normalize = data.Find("normalize");
  const bool says =
      data.Find("mean") || data.Find("deviation") || (normalize && *normalize != Value("auto"));
  if (says || (!file && !model.Find("start")) || (anew && *anew == Value(true))) return data;
  const std::string path = file ? *file->AsString() : PathOf(model);
  if (IsOnnx(path)) {
    try {
      const auto facts = ReadOnnxMetadata(path);
      for (const auto& [fact, key] :
           {std::pair("input_mean", "mean"), {"input_deviation", "deviation"}})
        if (const auto found = facts.find(fact); found != facts.end())
          data.Set(key, ParseJson(found->second));
      LeaveRaw(data);
    } catch (const UserError&) {  // who makes the model says what is wrong with the file
    }
    return data;
  }
  const DataInfo own = ReadHeader(CheckpointFolder(path)).data;
  if (!own.encodings.empty()) {
    data.Set("start", InfoAsValue(own));
    return data;
  }
  if (!own.normalization.rescaling.origin.empty())
    return data;  // f32 keys hold less than a rescaling
  if (!own.normalization.mean.empty()) data.Set("mean", ListOf(own.normalization.mean));
  if (!own.normalization.deviation.empty())
    data.Set("deviation", ListOf(own.normalization.deviation));
  LeaveRaw(data);
  return data;
}

std::string CopyStart(const StartRequest& request) {
  const std::string& path = PathOf(request.model);
  const Value* replace = request.model.Find("replace_head");
  const bool replaces = replace && *replace == Value(true);
  const std::unique_ptr<Source> source = Open(path);
  source->CheckData(request.data, replaces);
  const std::vector<std::string> outputs = OutputLayerNames(request.layers);
  const Value* keep = request.model.Find("keep_classes");
  const bool keeps = keep && *keep == Value(true);
  size_t taken = 0;
  int64_t kept = -1;  // classes; -1: no output has been seen
  std::vector<std::string> anew;
  for (const Slice& slice : request.layout.slices()) {
    const bool is_output = replaces && IsOf(slice.name, outputs);
    if (is_output && keeps) {
      const int64_t copied =
          source->CopyClasses(slice, request.data, request.values + slice.offset);
      kept = kept < 0 ? copied : std::min(kept, copied);
    }
    if (is_output || !source->Has(slice.name)) {
      anew.push_back(slice.name);
      continue;
    }
    source->Copy(slice, request.values + slice.offset);
    ++taken;
  }
  Require(taken > 0, "model.start: no parameter of {} has the name of one of this model ({}, ...)",
          path, request.layout.slices()[0].name);
  if (!keeps) return Sentence(path, taken, anew);
  return fmt::format("{}, but for {} classes of the same name", Sentence(path, taken, anew),
                     std::max(kept, int64_t{0}));
}

}  // namespace yoke
