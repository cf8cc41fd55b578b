// CIFAR binary records: one or two label bytes, then 3,072 pixels (32x32 red, green, blue planes).
#include <array>

#include "base/check.h"
#include "data/classes.h"
#include "data/memory_reader.h"

namespace yoke {
namespace {

constexpr int64_t kPixels = 3 * 32 * 32;

// The labels before the pixels: CIFAR-10 has a class, CIFAR-100 a coarse and a fine one.
struct Labels {
  explicit Labels(const Options& options)
      : bytes(options.Int("label_bytes")), names(options.Strings("class_names")) {
    Require(names.empty() || static_cast<int>(names.size()) == Count(),
            "{}: expected {} names, one for each class in order, got {}",
            options.Where("class_names"), Count(), names.size());
  }
  int Count() const { return bytes == 1 ? 10 : 100; }
  std::string Name(int label) const { return names.empty() ? std::to_string(label) : names[label]; }

  int64_t bytes;
  std::vector<std::string> names;
};

class CifarFile {
 public:
  CifarFile(ByteSource& source, const Labels& labels) : input_(source), labels_(labels) {}

  void Read(ClassLabels& classes, MemoryData& data) {
    const int64_t before = data.size;
    while (ReadRecord(classes, data)) ++data.size;
    Require(data.size > before, "{}: the file is empty; expected records of {} bytes",
            input_.Name(), labels_.bytes + kPixels);
  }

 private:
  bool ReadRecord(ClassLabels& classes, MemoryData& data) {
    const int64_t start = input_.Position();
    std::array<uint8_t, 2 + kPixels> record;
    const auto size = static_cast<size_t>(labels_.bytes + kPixels);
    const size_t got = input_.Read(record.data(), size);
    if (got == 0) return false;
    const int label = record[static_cast<size_t>(labels_.bytes) - 1];
    if (label >= labels_.Count()) {
      throw UserError(fmt::format("{}: record {} (byte {}): label {}; expected 0 to {}",
                                  input_.Name(), start / static_cast<int64_t>(size), start, label,
                                  labels_.Count() - 1));
    }
    Require(got == size,
            "{}: the file is truncated in the record at byte {}; expected records of {} bytes",
            input_.Name(), start, size);
    AddLabel(classes, label, start, data);
    data.bytes.Append({record.data() + labels_.bytes, static_cast<size_t>(kPixels)});
    return true;
  }

  void AddLabel(ClassLabels& classes, int label, int64_t start, MemoryData& data) const {
    const int32_t index = classes.Index(labels_.Name(label));
    Require(index >= 0,
            "{}: the label {} of the record at byte {} is none of the training classes: {}",
            input_.Name(), labels_.Name(label), start, classes.Known());
    data.classes.push_back(index);
  }

  BinaryInput input_;
  const Labels& labels_;
};

LoadedData LoadCifar(const Options& options, const ReadFiles& files) {
  LoadedData loaded(files.memory_limit);
  ClassLabels classes(files.like);
  const Labels labels(options);
  auto read = [&](const std::vector<std::string>& paths, MemoryData& data) {
    for (const std::string& path : paths) {
      const auto source = files.open(path);
      CifarFile(*source, labels).Read(classes, data);
    }
  };
  read(files.train, loaded.train);
  classes.Close(loaded.train.classes);
  read(files.test, loaded.test);
  loaded.info = {.input = {3, 32, 32},
                 .outputs = static_cast<int64_t>(classes.names().size()),
                 .label_names = classes.names(),
                 .normalization = {.scale = 1.0 / 255}};
  return loaded;
}

}  // namespace

FormatEntry cifar_format() {
  return {
      .name = "cifar",
      .kind = FormatKind::kImages,
      .summary = "CIFAR binary records: label bytes, then 3x32x32 pixels",
      .options =
          {{.name = "label_bytes",
            .type = OptionType::kInt,
            .fallback = 1,
            .help =
                "Label bytes before the pixels: 1 for CIFAR-10, 2 for CIFAR-100 (the second, fine "
                "one is the class).",
            .minimum = 1,
            .maximum = 2},
           {.name = "class_names",
            .type = OptionType::kStrings,
            .fallback = List{},
            .help = "Names of the classes 0, 1, ... in order; by default the numbers."}},
      .load = LoadCifar};
}

}  // namespace yoke
