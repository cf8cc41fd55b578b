// idx files (MNIST and similar): big-endian magic (type, axes), lengths of the axes, elements.
// Files with one axis hold labels, those with more hold examples.
#include <fmt/ranges.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "data/classes.h"
#include "data/memory_reader.h"
#include "data/preprocess.h"
#include "tensor/sizes.h"

namespace yoke {
namespace {

enum class ElementKind : uint8_t {
  kU8 = 0x08,
  kI8 = 0x09,
  kI16 = 0x0B,
  kI32 = 0x0C,
  kF32 = 0x0D,
  kF64 = 0x0E
};

// Bytes per element; 0 for an unknown kind.
int64_t SizeOf(ElementKind kind) {
  switch (kind) {
    case ElementKind::kU8:
    case ElementKind::kI8:
      return 1;
    case ElementKind::kI16:
      return 2;
    case ElementKind::kI32:
    case ElementKind::kF32:
      return 4;
    case ElementKind::kF64:
      return 8;
  }
  return 0;
}

uint64_t BigEndian(const uint8_t* bytes, int64_t size) {
  uint64_t bits = 0;
  for (int64_t i = 0; i < size; ++i) bits = bits << 8 | bytes[i];
  return bits;
}

double Number(ElementKind kind, const uint8_t* bytes) {
  const uint64_t bits = BigEndian(bytes, SizeOf(kind));
  switch (kind) {
    case ElementKind::kU8:
      return static_cast<uint8_t>(bits);
    case ElementKind::kI8:
      return static_cast<int8_t>(bits);
    case ElementKind::kI16:
      return static_cast<int16_t>(bits);
    case ElementKind::kI32:
      return static_cast<int32_t>(bits);
    case ElementKind::kF32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case ElementKind::kF64:
      return std::bit_cast<double>(bits);
  }
  return 0;
}

// An open file after its header.
class IdxFile {
 public:
  explicit IdxFile(ByteSource& source) : input_(source) {
    std::array<uint8_t, 4> magic;
    const size_t got = input_.Read(magic.data(), magic.size());
    Require(got > 0, "{}: the file is empty; expected an idx file", Name());
    kind_ = static_cast<ElementKind>(magic[2]);
    const int axes = magic[3];
    Require(
        got == 4 && magic[0] == 0 && magic[1] == 0 && SizeOf(kind_) > 0 && axes >= 1 && axes <= 4,
        "{}: wrong magic number at byte 0; expected an idx file (00 00, type 08 to 0e, 1 to 4 "
        "axes)",
        Name());
    for (int axis = 0; axis < axes; ++axis) axes_.push_back(ReadLength());
    CheckCount();
  }

  const std::string& Name() const { return input_.Name(); }
  ElementKind kind() const { return kind_; }
  bool IsLabels() const { return axes_.size() == 1; }
  int64_t examples() const { return axes_[0]; }

  /// The shape of one example; a channel axis is added to images without one.
  Shape Example() const {
    if (axes_.size() == 3) return {1, axes_[1], axes_[2]};
    return Shape(std::vector<int64_t>(axes_.begin() + 1, axes_.end()));
  }

  /// Calls visit(bytes, count, position) for the elements piece by piece, so that memory grows with
  /// the file and not with the sizes in its header.
  template <typename Visit>
  void ReadNumbers(Visit visit) {
    std::array<uint8_t, 1 << 16> piece;
    const int64_t size = SizeOf(kind_);
    for (int64_t left = count_; left > 0;) {
      const int64_t wanted = std::min<int64_t>(left, static_cast<int64_t>(piece.size()) / size);
      const int64_t position = input_.Position();
      const size_t got = input_.Read(piece.data(), static_cast<size_t>(wanted * size));
      Require(got == static_cast<size_t>(wanted * size),
              "{}: the file ends at byte {}; its header promises {} numbers, {} bytes more", Name(),
              input_.Position(), count_, left * size - static_cast<int64_t>(got));
      visit(piece.data(), wanted, position);
      left -= wanted;
    }
    const size_t more = input_.Read(piece.data(), 1);
    Require(more == 0,
            "{}: more bytes follow at byte {}; expected the end after the {} numbers its header "
            "promises",
            Name(), input_.Position() - 1, count_);
  }

 private:
  int64_t ReadLength() {
    std::array<uint8_t, 4> bytes;
    const size_t got = input_.Read(bytes.data(), bytes.size());
    Require(got == bytes.size(), "{}: the file ends in its header at byte {}", Name(),
            input_.Position());
    return static_cast<int64_t>(BigEndian(bytes.data(), 4));
  }

  void CheckCount() {
    bool good = true;
    for (const int64_t length : axes_)
      good = good && length > 0 && !__builtin_mul_overflow(count_, length, &count_);
    Require(good && count_ <= kMostElements,
            "{}: its header says {} numbers; expected axes above 0 that a file can hold", Name(),
            fmt::join(axes_, "x"));
  }

  BinaryInput input_;
  ElementKind kind_ = ElementKind::kU8;
  std::vector<int64_t> axes_;
  int64_t count_ = 1;
};

// Reads the files of a job.
class IdxLoader {
 public:
  explicit IdxLoader(const ReadFiles& files) : files_(files), classes_(files.like) {
    if (files.like) shape_ = files.like->input;
  }

  LoadedData Load() {
    LoadedData loaded(files_.memory_limit);
    ReadSet(files_.train, loaded.train);
    classes_.Close(loaded.train.classes);
    ReadSet(files_.test, loaded.test);
    loaded.info = {.input = shape_,
                   .outputs = static_cast<int64_t>(classes_.names().size()),
                   .label_names = classes_.names(),
                   .labelled = labelled_};
    loaded.info.normalization =
        is_bytes_ ? Normalization{.scale = 1.0 / 255} : RescaledOnly(files_.rescaling);
    return loaded;
  }

 private:
  void ReadSet(const std::vector<std::string>& paths, MemoryData& data) {
    for (const std::string& path : paths) {
      const auto source = files_.open(path);
      IdxFile file(*source);
      file.IsLabels() ? ReadLabels(file, data) : ReadExamples(file, data);
    }
    if (paths.empty()) return;
    Require(data.size > 0, "{}: only labels; expected a file of examples (2 axes or more) too",
            paths.front());
    if (data.classes.empty() && files_.labels_optional) labelled_ = false;
    Require(data.classes.size() == data.size || !labelled_,
            "{}: {} examples but {} labels in these files; expected as many labels", paths.back(),
            data.size, data.classes.size());
  }

  void ReadLabels(IdxFile& file, MemoryData& data) {
    const int64_t size = SizeOf(file.kind());
    file.ReadNumbers([&](const uint8_t* bytes, int64_t count, int64_t position) {
      for (int64_t i = 0; i < count; ++i) {
        const double number = Number(file.kind(), bytes + i * size);
        Require(std::isfinite(number),
                "{}: the label at byte {} is {}; expected a class: a finite number", file.Name(),
                position + i * size, number);
        const std::string label = fmt::format("{}", number);
        const int32_t index = classes_.Index(label);
        Require(index >= 0 || files_.labels_optional,
                "{}: the label {} at byte {} is none of the training classes: {}", file.Name(),
                label, position + i * size, classes_.Known());
        labelled_ = labelled_ && index >= 0;
        data.classes.push_back(index);
      }
    });
  }

  void ReadExamples(IdxFile& file, MemoryData& data) {
    if (shape_.rank() == 0) shape_ = file.Example();
    Require(shape_ == file.Example(), "{}: examples are {}; expected {} as before", file.Name(),
            file.Example().Text(), shape_.Text());
    const bool is_bytes = file.kind() == ElementKind::kU8;
    if (!kind_known_) is_bytes_ = is_bytes, kind_known_ = true;
    Require(is_bytes == is_bytes_, "{}: expected the same type of numbers in all files of a job",
            file.Name());
    file.ReadNumbers([&](const uint8_t* bytes, int64_t count, int64_t position) {
      if (is_bytes) return data.bytes.Append({bytes, static_cast<size_t>(count)});
      for (int64_t i = 0; i < count; ++i)
        data.floats.push_back(Finite(file, bytes, i, {position, ChannelAt(data.floats.size())}));
    });
    data.size += file.examples();
  }

  size_t ChannelAt(int64_t place) const {
    return static_cast<size_t>(place % shape_.Count() / (shape_.Count() / shape_[0]));
  }

  // Where a piece of numbers lies in its file, and the channel of the number.
  struct Place {
    int64_t position;
    size_t channel;
  };

  float Finite(const IdxFile& file, const uint8_t* bytes, int64_t i, const Place& place) const {
    const int64_t size = SizeOf(file.kind());
    const double exact = Number(file.kind(), bytes + i * size);
    const Rescaling& rescaling = files_.rescaling;
    const float number = rescaling.Changes(place.channel) ? rescaling.Apply(exact, place.channel)
                                                          : static_cast<float>(exact);
    Require(std::isfinite(number), "{}: the number at byte {} is {}; expected a finite one",
            file.Name(), place.position + i * size, number);
    return number;
  }

  const ReadFiles& files_;
  ClassLabels classes_;
  Shape shape_;
  bool kind_known_ = false;
  bool is_bytes_ = true;
  bool labelled_ = true;
};

LoadedData LoadIdx(const Options&, const ReadFiles& files) { return IdxLoader(files).Load(); }

}  // namespace

FormatEntry idx_format() {
  return {.name = "idx",
          .kind = FormatKind::kImages,
          .summary = "idx files as in MNIST: images or vectors, and labels in a separate file",
          .load = LoadIdx};
}

}  // namespace yoke
