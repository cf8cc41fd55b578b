// Examples: checks arrays, and lets readers adopt them.
#include "api/examples.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace yoke {
namespace {

/// Lets an array of examples be what a program has.
template <typename T>
void Adopt(std::span<const T> values, const ArrayOwner& owner, GrowingArray<T>& into) {
  static const ArrayOwner caller = std::make_shared<int>();
  if (!values.empty()) into.Adopt(values, owner ? owner : caller);
}

int64_t CountRows(int64_t elements, const Shape& example) {
  const int64_t count = example.Count();
  Require(count > 0, "the examples have no features");
  return elements / count;
}

/// Throws UserError with say(index, value) for the first value that is not good.
template <typename T, typename Good, typename Say>
void RequireEach(std::span<const T> values, const Good& good, const Say& say) {
  const auto bad = std::ranges::find_if_not(values, good);
  if (bad != values.end()) throw UserError(say(bad - values.begin(), *bad));
}

bool IsFinite(double value) { return std::isfinite(value); }

/// `what`: "feature".
void RequireRow(const CsrRows& rows, int64_t row, const char* what) {
  const int64_t begin = rows.offsets[row], end = rows.offsets[row + 1];
  Require(begin <= end && end <= std::ssize(rows.ids), "example {}: its row ends before it begins",
          row);
  for (int64_t at = begin; at < end; ++at) {
    const int32_t id = rows.ids[at];
    Require(id >= 0 && id < rows.width, "example {} has the {} {}: expected 0 to {}", row, what, id,
            rows.width - 1);
    Require(at == begin || rows.ids[at - 1] < id,
            "example {}: its {} ids do not ascend; sort them and sum what is there twice", row,
            what);
  }
}

void RequireRows(const CsrRows& rows, const char* what) {
  Require(!rows.offsets.empty() && rows.offsets[0] == 0, "the rows do not begin at 0");
  for (int64_t row = 0; row + 1 < std::ssize(rows.offsets); ++row) RequireRow(rows, row, what);
  Require(rows.offsets.back() == std::ssize(rows.ids), "the rows do not end with the {} ids", what);
}

void Adopt(const CsrRows& rows, SparseArrays& into) {
  Adopt(rows.offsets, rows.owner, into.offsets);
  Adopt(rows.ids, rows.owner, into.ids);
  Adopt(rows.values, rows.owner, into.values);
}

const char* Storage(const DataInfo& info) { return info.sparse ? "sparse" : "dense"; }

void RequireLike(const DataInfo& given, const DataInfo& like, const char* what) {
  Require(given.sparse == like.sparse, "{} are {}; expected {} ones", what, Storage(given),
          Storage(like));
  Require(given.input == like.input, "{} are {}; expected {}", what, given.input.Text(),
          like.input.Text());
  if (!given.labelled) return;
  Require(given.multi_label == like.multi_label && given.regression == like.regression &&
              given.outputs == like.outputs,
          "{} have {} {}; expected {} {}", what, given.outputs, given.LabelKind(), like.outputs,
          like.LabelKind());
}

}  // namespace

Examples::Examples(std::span<const float> numbers, const Shape& example, const ArrayOwner& owner)
    : info_{.input = example, .labelled = false} {
  data_.size = CountRows(std::ssize(numbers), example);
  RequireEach(numbers, IsFinite, [&](int64_t at, float number) {
    return fmt::format("example {} has a value of {}: expected finite numbers",
                       at / example.Count(), number);
  });
  Adopt(numbers, owner, data_.floats);
}

Examples::Examples(std::span<const uint8_t> bytes, const Shape& example, const ArrayOwner& owner)
    : info_{.input = example, .labelled = false} {
  data_.size = CountRows(std::ssize(bytes), example);
  Adopt(bytes, owner, data_.bytes);
}

Examples::Examples(const CsrRows& rows)
    : info_{.input = {rows.width}, .sparse = true, .labelled = false} {
  Require(rows.width > 0, "the examples have no features");
  RequireRows(rows, "feature");
  Require(rows.values.size() == rows.ids.size(), "there are {} values of {} features",
          rows.values.size(), rows.ids.size());
  RequireEach(rows.values, IsFinite, [](int64_t, float value) {
    return fmt::format("the examples have a value of {}: expected finite numbers", value);
  });
  data_.size = std::ssize(rows.offsets) - 1;
  Adopt(rows, data_.sparse);
}

void Examples::Append(const Examples& more) {
  if (size() == 0) {
    info_ = more.info_;
    info_.labelled = false;
  } else {
    RequireLike(more.info_, info_, "the next examples");
    Require(more.is_bytes() == is_bytes() || more.size() == 0,
            "the next examples are {}; expected {}", more.is_bytes() ? "bytes" : "floats",
            is_bytes() ? "bytes" : "floats");
  }
  const int64_t entries = data_.sparse.ids.size();
  data_.bytes.Append(more.data_.bytes.span());
  data_.floats.Append(more.data_.floats.span());
  if (info_.sparse) {
    for (const int64_t end : more.data_.sparse.offsets.span().subspan(1))
      data_.sparse.offsets.push_back(entries + end);
    data_.sparse.ids.Append(more.data_.sparse.ids.span());
    data_.sparse.values.Append(more.data_.sparse.values.span());
  }
  data_.size += more.size();
}

void Examples::SetClasses(std::span<const int32_t> classes, std::vector<std::string> names,
                          const ArrayOwner& owner) {
  Require(std::ssize(classes) == size(), "there are {} classes of {} examples", classes.size(),
          size());
  const auto count = static_cast<int64_t>(names.size());
  RequireEach(
      classes, [&](int32_t c) { return c >= 0 && c < count; },
      [&](int64_t at, int32_t c) {
        return fmt::format("example {} is of class {}: expected 0 to {}", at, c, count - 1);
      });
  Adopt(classes, owner, data_.classes);
  info_.outputs = count;
  info_.label_names = std::move(names);
  info_.labelled = true;
}

void Examples::SetLabels(const CsrRows& labels) {
  Require(std::ssize(labels.offsets) == size() + 1, "there are labels of {} examples; expected {}",
          std::ssize(labels.offsets) - 1, size());
  RequireRows(labels, "label");
  Adopt(labels, data_.labels);
  info_.outputs = labels.width;
  info_.multi_label = true;
  info_.labelled = true;
}

void Examples::SetTargets(std::span<const double> targets, int64_t outputs,
                          const ArrayOwner& owner) {
  Require(outputs > 0 && std::ssize(targets) == size() * outputs,
          "there are {} targets of {} examples", targets.size(), size());
  RequireEach(targets, IsFinite, [&](int64_t at, double target) {
    return fmt::format("example {} has the target {}: expected finite numbers", at / outputs,
                       target);
  });
  Adopt(targets, owner, data_.targets);
  info_.outputs = outputs;
  info_.regression = true;
  info_.labelled = true;
}

void Examples::SetTargetUnit(std::vector<double> mean, std::vector<double> deviation) {
  const auto outputs = static_cast<size_t>(info_.outputs);
  Require(info_.regression && mean.size() == outputs && deviation.size() == outputs,
          "the unit of the targets has {} numbers; expected {}", mean.size(), outputs);
  info_.target_mean = std::move(mean);
  info_.target_deviation = std::move(deviation);
}

void Examples::SetWeights(std::span<const float> weights, const ArrayOwner& owner) {
  Require(std::ssize(weights) == size(), "there are {} weights of {} examples", weights.size(),
          size());
  RequireEach(
      weights, [](float v) { return std::isfinite(v) && v >= 0; },
      [](int64_t at, float weight) {
        return fmt::format("example {} has the weight {}: expected 0 or more", at, weight);
      });
  Adopt(weights, owner, data_.weights);
}

LoadedData LoadedFrom(Examples train, Examples* test) {
  LoadedData loaded;
  loaded.info = train.info();
  Require(train.size() > 0, "there are no training examples");
  Require(loaded.info.labelled, "the training examples have no labels");
  const bool images = loaded.info.input.rank() == 3 && train.is_bytes();
  if (images) loaded.info.normalization.scale = 1.0 / 255;
  loaded.train = train.Take();
  if (!test) return loaded;
  RequireLike(test->info(), loaded.info, "the test examples");
  Require(test->info().labelled, "the test examples have no labels");
  loaded.test = test->Take();
  return loaded;
}

std::unique_ptr<Reader> ReaderOf(Examples examples, const DataInfo& like) {
  DataInfo info = examples.info();
  if (!info.sparse && info.input.Count() == like.input.Count()) info.input = like.input;
  RequireLike(info, like, "the examples");
  info.outputs = like.outputs;
  info.target_mean = like.target_mean;
  info.target_deviation = like.target_deviation;
  info.normalization = like.normalization;
  info.normalization.rescaling = {};  // nothing has read them before
  return std::make_unique<MemoryReader>(std::move(info), examples.Take());
}

}  // namespace yoke
