// image-folder: JPEG and PNG images in folders or in a tar archive; the folder around an image
// names its class.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "base/check.h"
#include "base/resources.h"
#include "base/thread.h"
#include "data/classes.h"
#include "data/folder_files.h"
#include "data/image.h"
#include "data/memory_reader.h"

namespace yoke {
namespace {

// Undecoded files held at a time: enough to keep all cores busy.
constexpr size_t kFilesAtOnce = 512;
constexpr size_t kBytesAtOnce = 64 << 20;

// The size of all images: set by the job or a checkpoint, or that of the first image.
struct CommonSize {
  int channels = 3;
  std::optional<ImageSize> size;
  bool stretch = false;  // whether images of another size are resized or refused
};

CommonSize FindCommonSize(const Options& options, const DataInfo* like) {
  if (like) {
    const Shape& input = like->input;
    Require(input.rank() == 3 && (input[0] == 1 || input[0] == 3),
            "images cannot be read for a model whose input is {}", input.Text());
    return {static_cast<int>(input[0]), ImageSize{input[1], input[2]}, true};
  }
  const auto channels = static_cast<int>(options.Int("channels"));
  Require(channels != 2, "{}: expected 3 (colour) or 1 (grey)", options.Where("channels"));
  if (!options.Has("size")) return {channels, std::nullopt, false};
  const std::vector<int64_t> sides = options.Ints("size");
  Require(sides.size() == 2, "{}: expected [height, width]", options.Where("size"));
  return {channels, ImageSize{sides[0], sides[1]}, true};
}

Image Decode(const FolderFile& file, const CommonSize& target) {
  const DecodeRequest request = {.channels = target.channels,
                                 .at_least = target.stretch ? *target.size : ImageSize{}};
  Image image = DecodeImage(file.bytes, file.name, request);
  return target.stretch ? Resize(image, *target.size) : image;
}

// Moves block order[i] of `size` bytes to place i, cycle by cycle, with one spare block.
void Reorder(uint8_t* blocks, size_t size, std::vector<int64_t> order) {
  std::vector<uint8_t> held(size);
  for (size_t start = 0; start < order.size(); ++start) {
    size_t to = start;
    std::memcpy(held.data(), blocks + start * size, size);
    while (static_cast<size_t>(order[to]) != start) {
      const auto from = static_cast<size_t>(order[to]);
      std::memcpy(blocks + to * size, blocks + from * size, size);
      order[to] = static_cast<int64_t>(to);
      to = from;
    }
    std::memcpy(blocks + to * size, held.data(), size);
    order[to] = static_cast<int64_t>(to);
  }
}

// Copies example i of one set to another.
void CopyExample(const MemoryData& from, int64_t i, MemoryData& to) {
  const int64_t bytes = from.bytes.size() / from.size;
  to.bytes.Append(from.bytes.span().subspan(i * bytes, bytes));
  to.classes.push_back(from.classes[i]);
  if (!from.files.empty()) to.files.push_back(from.files[static_cast<size_t>(i)]);
  ++to.size;
}

class Loader {
 public:
  Loader(const Options& options, const ReadFiles& files)
      : files_(&files), target_(FindCommonSize(options, files.like)), classes_(files.like) {}

  void ReadTraining(const std::vector<std::string>& paths, LoadedData& loaded) {
    if (paths.empty()) return;
    all_paths_.clear();
    for (const std::string& path : paths) ReadPath(path, loaded.train);
    classes_.Close(loaded.train.classes);
    const std::vector<FolderSplit> splits = SplitsOf(all_paths_);
    if (splits.empty()) return;
    Divide(splits, loaded);
    const auto count = [](int64_t images, const char* set) {
      return images > 0 ? fmt::format(", {} {}", images, set) : "";
    };
    notes_.push_back(fmt::format("images by folder: {} training{}{}", loaded.train.size,
                                 count(loaded.validation.size, "validation"),
                                 count(loaded.test.size, "test")));
    for (const MemoryData* data : {&loaded.validation, &loaded.test}) RequireTrained(*data, loaded);
  }

  // Of files that hold training images, too, those of their folder `test`; not in predictions.
  void ReadTest(const std::vector<std::string>& paths, MemoryData& data) {
    all_paths_.clear();
    for (const std::string& path : paths) ReadPath(path, data);
    const std::vector<FolderSplit> splits = SplitsOf(all_paths_);
    if (std::ranges::count(splits, FolderSplit::kTest) == 0 || files_->labels_optional) return;
    LoadedData divided(files_->memory_limit);
    divided.train = std::move(data);
    Divide(splits, divided);
    data = std::move(divided.test);
  }

  const std::vector<std::string>& notes() const { return notes_; }

  DataInfo Info() const {
    return {.input = {target_.channels, target_.size->height, target_.size->width},
            .outputs = static_cast<int64_t>(classes_.names().size()),
            .label_names = classes_.names(),
            .labelled = labelled_,
            .normalization = {.scale = 1.0 / 255}};
  }

 private:
  // Moves the examples of other splits out of `loaded.train`.
  void Divide(const std::vector<FolderSplit>& splits, LoadedData& loaded) const {
    MemoryData all = std::move(loaded.train);
    loaded.train = MemoryData(files_->memory_limit);
    for (int64_t i = 0; i < all.size; ++i) {
      const FolderSplit set = splits[static_cast<size_t>(i)];
      CopyExample(all, i,
                  set == FolderSplit::kTrain        ? loaded.train
                  : set == FolderSplit::kValidation ? loaded.validation
                                                    : loaded.test);
    }
  }

  // A class that no training image has would be an output that nothing trains.
  void RequireTrained(const MemoryData& data, const LoadedData& loaded) const {
    std::vector<bool> trained(classes_.names().size());
    for (const int32_t index : loaded.train.classes.span())
      if (index >= 0) trained[static_cast<size_t>(index)] = true;
    for (const int32_t index : data.classes.span())
      Require(index < 0 || files_->like || trained[static_cast<size_t>(index)],
              "data.train: class '{}' has images for validation or tests, and none for training",
              classes_.names()[static_cast<size_t>(index)]);
  }

  void ReadPath(const std::string& path, MemoryData& data) {
    const int64_t first = data.size;
    paths_.clear();
    const PassedOver passed_over =
        ForEachFile(path, files_->open, FileKind::kImages, [&](FolderFile file) {
          waiting_bytes_ += file.bytes.size();
          waiting_.push_back(std::move(file));
          if (waiting_.size() >= kFilesAtOnce || waiting_bytes_ >= kBytesAtOnce)
            DecodeWaiting(data);
        });
    DecodeWaiting(data);
    const std::vector<std::string> sentences = passed_over.Sentences();
    Require(data.size > first, "{}: holds no JPEG or PNG image{}{}", path,
            sentences.empty() ? "" : "; ", fmt::join(sentences, "; "));
    for (const std::string& sentence : sentences)
      notes_.push_back(fmt::format("{}: {}", path, sentence));
    SortByPath(first, data);
    std::ranges::sort(paths_);
    all_paths_.insert(all_paths_.end(), paths_.begin(), paths_.end());
  }

  void DecodeWaiting(MemoryData& data) {
    std::vector<Image> images(waiting_.size());
    ParallelFor(static_cast<int64_t>(images.size()), UsableCores(),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) images[i] = Decode(waiting_[i], target_);
                });
    for (size_t i = 0; i < images.size(); ++i) Add(waiting_[i], images[i], data);
    waiting_.clear();
    waiting_bytes_ = 0;
  }

  void Add(const FolderFile& file, const Image& image, MemoryData& data) {
    if (!target_.size) target_.size = image.size;
    Require(image.size == *target_.size,
            "{}: the image is {}x{}, others are {}x{}; expected data.size = [height, width] to "
            "resize them to",
            file.name, image.size.width, image.size.height, target_.size->width,
            target_.size->height);
    const int64_t pixels = image.size.height * image.size.width;
    uint8_t* planes = data.bytes.Extend(pixels * image.channels);
    for (int c = 0; c < image.channels; ++c)
      for (int64_t p = 0; p < pixels; ++p) *planes++ = image.pixels[p * image.channels + c];
    data.classes.push_back(ClassOf(file, classes_, files_->labels_optional));
    labelled_ = labelled_ && data.classes[data.size] >= 0;
    data.files.push_back(file.name);
    paths_.push_back(file.path);
    ++data.size;
  }

  // The order in an archive is arbitrary.
  void SortByPath(int64_t first, MemoryData& data) const {
    if (std::is_sorted(paths_.begin(), paths_.end())) return;
    std::vector<int64_t> order(paths_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return paths_[a] < paths_[b]; });
    if (!data.files.empty()) {
      const std::vector<std::string> files(data.files.begin() + first, data.files.end());
      for (size_t i = 0; i < order.size(); ++i) data.files[first + i] = files[order[i]];
    }
    const int64_t bytes = data.bytes.size() / data.size;
    Reorder(data.bytes.data() + first * bytes, bytes, order);
    Reorder(reinterpret_cast<uint8_t*>(data.classes.data() + first), sizeof(int32_t), order);
  }

  const ReadFiles* files_;
  CommonSize target_;
  ClassLabels classes_;
  bool labelled_ = true;
  std::vector<FolderFile> waiting_;  // read, not yet decoded
  size_t waiting_bytes_ = 0;
  std::vector<std::string> notes_;
  std::vector<std::string> paths_;      // paths of the current path's images, in the order added
  std::vector<std::string> all_paths_;  // of all examples of a set, in their order
};

LoadedData LoadImageFolder(const Options& options, const ReadFiles& files) {
  LoadedData loaded(files.memory_limit);
  Loader loader(options, files);
  loader.ReadTraining(files.train, loaded);
  if (!files.test.empty()) {
    Require(files.train.empty() || loaded.test.size == 0,
            "{}: its images have a folder test, and data.test names others; expected one of them",
            files.train.empty() ? "" : files.train[0]);
    MemoryData test(files.memory_limit);
    loader.ReadTest(files.test, test);
    loaded.test = std::move(test);
  }
  loaded.info = loader.Info();
  loaded.notes = loader.notes();
  return loaded;
}

}  // namespace

FormatEntry image_folder_format() {
  return {
      .name = "image-folder",
      .kind = FormatKind::kImages,
      .summary = "JPEG and PNG images in one folder per class, on disk or in a tar or zip archive",
      .options = {{.name = "size",
                   .type = OptionType::kInts,
                   .help = "[height, width] that images are resized to; may be left out when "
                           "all have the same size.",
                   .minimum = 1,
                   .maximum = 8192},
                  {.name = "channels",
                   .type = OptionType::kInt,
                   .fallback = 3,
                   .help = "3: colour, 1: grey; images are converted.",
                   .minimum = 1,
                   .maximum = 3}},
      .holds_splits = true,
      .load = LoadImageFolder};
}

}  // namespace yoke
