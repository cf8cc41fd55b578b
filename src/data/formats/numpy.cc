// NumPy arrays: examples x and labels y, in two .npy files or one .npz.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "base/check.h"
#include "base/options.h"
#include "data/archive.h"
#include "data/classes.h"
#include "data/memory_reader.h"
#include "data/npy.h"
#include "data/preprocess.h"

namespace yoke {
namespace {

constexpr int64_t kMostWhole = 100;  // kinds of whole numbers that are classes

class NumpyLoader {
 public:
  NumpyLoader(const Options& options, const ReadFiles& files)
      : files_(files),
        classes_(files.like && !files.like->regression ? files.like : nullptr),
        task_(options.String("task")),
        regression_(files.like && files.like->regression),
        multi_label_(files.like && files.like->multi_label) {
    if (!files.like) return;
    shape_ = files.like->input;
    width_ = regression_ || multi_label_ ? files.like->outputs : 1;
    if (files.like->normalization.scale != 1) is_bytes_ = true;
  }

  LoadedData Load() {
    LoadedData loaded(files_.memory_limit);
    ReadSet(files_.train, loaded.train);
    if (!files_.like) Decide(loaded);
    Label(files_.train, loaded.train);
    classes_.Close(loaded.train.classes);
    ReadSet(files_.test, loaded.test);
    Label(files_.test, loaded.test);
    const auto classes = static_cast<int64_t>(classes_.names().size());
    loaded.info = files_.like ? *files_.like : DataInfo{};
    loaded.info.input = shape_;
    loaded.info.regression = regression_;
    loaded.info.multi_label = multi_label_;
    loaded.info.outputs = regression_ || multi_label_ ? width_ : classes;
    if (!multi_label_)
      loaded.info.label_names = regression_ ? std::vector<std::string>() : classes_.names();
    loaded.info.labelled = labelled_;
    loaded.table = !is_bytes_.value_or(false) && shape_.rank() == 1;
    loaded.info.normalization = is_bytes_.value_or(false) ? Normalization{.scale = 1.0 / 255}
                                                          : RescaledOnly(files_.rescaling);
    return loaded;
  }

 private:
  void ReadSet(const std::vector<std::string>& paths, MemoryData& data) {
    for (const std::string& path : paths) {
      if (path.ends_with(".npz")) {
        ReadArchive(path, data);
        continue;
      }
      const auto source = files_.open(path);
      NpyArray array(*source);
      const bool labels = array.axes().size() == 1 || IsNamedY(path);
      labels ? ReadLabels(array, data) : ReadExamples(array, data);
    }
    Require(paths.empty() || data.size > 0,
            "{}: no examples; expected an array of two axes or more",
            paths.empty() ? "" : paths[0]);
  }

  // "y.npy", "y_train.npy"
  static bool IsNamedY(const std::string& path) {
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    return name.starts_with('y') && name.find_first_of("._-") <= 1;
  }

  // `x` and `y` of an archive, in any order.
  void ReadArchive(const std::string& path, MemoryData& data) {
    std::string names;
    const int64_t before = data.size;
    ForEachEntry(path, [&](const ArchiveFile& file) {
      const std::string& name = file.names[0];
      names += (names.empty() ? "" : ", ") + name;
      if (name != "x.npy" && name != "y.npy") return;
      NpyArray array(file.content);
      name == "x.npy" ? ReadExamples(array, data) : ReadLabels(array, data);
    });
    Require(data.size > before, "{}: no array is named x; there are {}", path, names);
  }

  void ReadExamples(NpyArray& array, MemoryData& data) {
    const Shape shape = ExampleOf(array);
    if (shape_.rank() == 0) shape_ = shape;
    if (!is_bytes_) is_bytes_ = array.IsBytes();
    Require(shape == shape_, "{}: examples are {}; expected {} as before", array.Name(),
            shape.Text(), shape_.Text());
    Require(array.IsBytes() == *is_bytes_, "{}: expected the same type of numbers in all files",
            array.Name());
    const int64_t area = shape_.Count() / shape_[0];
    array.ReadNumbers([&](double number, int64_t position) {
      if (*is_bytes_) return data.bytes.push_back(static_cast<uint8_t>(number));
      const auto channel = static_cast<size_t>(data.floats.size() % shape_.Count() / area);
      const float value = files_.rescaling.Changes(channel)
                              ? files_.rescaling.Apply(number, channel)
                              : static_cast<float>(number);
      Require(std::isfinite(value), "{}: the number at byte {} is {}; expected a finite one",
              array.Name(), position, number);
      data.floats.push_back(value);
    });
    data.size += array.axes()[0];
  }

  // A channel axis is added to images without one.
  static Shape ExampleOf(const NpyArray& array) {
    const std::vector<int64_t>& axes = array.axes();
    Require(axes.size() > 1 && axes.size() < 5,
            "{}: examples have {} axes; expected [examples, features] or images", array.Name(),
            axes.size());
    if (axes.size() == 3) return {1, axes[1], axes[2]};
    return Shape(std::vector<int64_t>(axes.begin() + 1, axes.end()));
  }

  // Numbers, until it is known what they are.
  void ReadLabels(NpyArray& array, MemoryData& data) {
    const std::vector<int64_t>& axes = array.axes();
    const int64_t width = axes.size() > 1 ? axes[1] : 1;
    if (width_ == 0) width_ = width;
    Require(axes.size() <= 2 && width == width_, "{}: labels are {} wide; expected {}",
            array.Name(), width, width_);
    array.ReadNumbers([&](double number, int64_t position) {
      Require(std::isfinite(number), "{}: the label at byte {} is {}; expected a finite number",
              array.Name(), position, number);
      data.targets.push_back(number);
    });
  }

  void Decide(LoadedData& loaded) {
    multi_label_ = task_ == "multi_label";
    if (multi_label_) return;
    const auto labels = loaded.train.targets.span();
    const bool whole =
        std::ranges::all_of(labels, [](double label) { return label == std::floor(label); });
    std::set<double> kinds;
    for (size_t i = 0; whole && i < labels.size() && std::ssize(kinds) <= kMostWhole; ++i)
      kinds.insert(labels[i]);
    Require(task_ != "auto" || width_ > 1 || std::ssize(kinds) <= kMostWhole,
            "data.task: y holds more than {} different whole numbers; expected task = "
            "\"regression\" for amounts, or task = \"classes\"",
            kMostWhole);
    Require(task_ != "classes" || width_ <= 1,
            "data.task: {} numbers an example are targets of a regression, or labels of task "
            "\"multi_label\", not classes",
            width_);
    regression_ = task_ == "regression" || width_ > 1 || (task_ == "auto" && !whole);
  }

  // Makes numbers classes, unless they are targets.
  void Label(const std::vector<std::string>& paths, MemoryData& data) {
    if (paths.empty()) return;
    const bool missing = data.targets.empty();
    Require(!missing || files_.labels_optional, "{}: no labels; expected an array y of one axis",
            paths[0]);
    Require(missing || data.targets.size() == data.size * width_,
            "{}: {} examples but {} labels in these files; expected as many labels", paths[0],
            data.size, data.targets.size() / std::max<int64_t>(width_, 1));
    if (missing) labelled_ = false;
    if (regression_) return;
    if (multi_label_) return TakeSets(paths[0], data);
    for (const double label : data.targets.span()) {
      const std::string name = fmt::format("{}", label == 0 ? 0.0 : label);
      const int32_t index = classes_.Index(name);
      Require(index >= 0 || files_.labels_optional,
              "{}: the label {} is none of the training classes: {}", paths[0], name,
              classes_.Known());
      labelled_ = labelled_ && index >= 0;
      data.classes.push_back(index);
    }
    data.targets = GrowingArray<double>();
  }

  // An example has the labels whose numbers are 1.
  void TakeSets(const std::string& path, MemoryData& data) const {
    const auto numbers = data.targets.span();
    for (int64_t i = 0; i < std::ssize(numbers); ++i) {
      const double number = numbers[static_cast<size_t>(i)];
      Require(number == 0 || number == 1,
              "{}: example {} has the label {}; expected 0 or 1, whether it has this label", path,
              i / width_, number);
      if (number == 1) data.labels.ids.push_back(static_cast<int32_t>(i % width_));
      if (i % width_ == width_ - 1) data.labels.EndRow();
    }
    data.targets = GrowingArray<double>();
  }

  const ReadFiles& files_;
  ClassLabels classes_;
  std::string task_;
  bool regression_;
  bool multi_label_;
  Shape shape_;
  int64_t width_ = 0;             // labels of an example
  std::optional<bool> is_bytes_;  // of the examples, as the first file tells
  bool labelled_ = true;
};

LoadedData LoadNumpy(const Options& options, const ReadFiles& files) {
  return NumpyLoader(options, files).Load();
}

}  // namespace

FormatEntry numpy_format() {
  return {.name = "numpy",
          .kind = FormatKind::kArrays,
          .summary = "NumPy arrays: examples x and labels y in .npy files or one .npz",
          .options = {{.name = "task",
                       .fallback = "auto",
                       .help = "What labels are: classes, the target of a regression, or sets of "
                               "labels, a row of 0 and 1 each. auto: whole numbers of at most 100 "
                               "kinds are classes, decimals targets.",
                       .choices = {"auto", "classes", "regression", "multi_label"}}},
          .load = LoadNumpy};
}

}  // namespace yoke
