// Augment: draws the crops that are read in place of images, and changes their pixels.
#include "data/preprocess.h"

#include <cmath>

#include "base/check.h"
#include "base/random.h"
#include "data/image_changes.h"
#include "kernels/normalize.h"

namespace yoke {
namespace {

/// The changes of bytes, before the crop.
class PixelAugmentation {
 public:
  explicit PixelAugmentation(const Options& options)
      : flips_(options.Bool("flip_vertical")),
        rotation_(options.Float("rotation")),
        brightness_(options.Float("brightness")),
        contrast_(options.Float("contrast")),
        saturation_(options.Float("saturation")),
        cutout_(options.Int("cutout")),
        mixup_(options.Float("mixup")) {}

  bool ChangesAny() const {
    return flips_ || rotation_ > 0 || ChangesColours() || cutout_ > 0 || mixup_ > 0;
  }

  /// Changes the images of a batch that is stored in bytes.
  void Apply(const ReadRequest& request, const Reader& source, Batch& batch) const {
    const Shape& shape = source.Info().input;
    const auto count = static_cast<size_t>(shape.Count());
    for (size_t i = 0; i < request.examples.size(); ++i) {
      Random random = DrawsOf(request, request.examples[i], kPixels);
      Change({{batch.dense.As<uint8_t>() + i * count, count}, shape}, random);
    }
    if (mixup_ > 0) MixAll(request, source, batch);
  }

 private:
  enum Stream : uint64_t { kPixels = 1, kMix = 2 };

  static Random DrawsOf(const ReadRequest& request, int64_t example, Stream stream) {
    return Random({request.seed, Word(Draw::kAugment), static_cast<uint64_t>(request.epoch),
                   static_cast<uint64_t>(example), stream});
  }

  bool ChangesColours() const { return brightness_ > 0 || contrast_ > 0 || saturation_ > 0; }

  void Change(const BytesOfImage& image, Random& random) const {
    const auto factor = [&](double most) { return random.Uniform(1 - most, 1 + most); };
    if (flips_ && random.Below(2) == 1) FlipVertically(image);
    if (rotation_ > 0) Rotate(image, random.Uniform(-rotation_, rotation_));
    if (ChangesColours()) {
      const double brightness = factor(brightness_), contrast = factor(contrast_);
      ChangeColours(image, {brightness, contrast, factor(saturation_)});
    }
    if (cutout_ == 0) return;
    const auto y = static_cast<int64_t>(random.Below(static_cast<uint64_t>(image.shape[1])));
    const auto x = static_cast<int64_t>(random.Below(static_cast<uint64_t>(image.shape[2])));
    CutOut(image, cutout_, y, x);
  }

  /// A draw of Beta(a, a), a at most 1 (Joehnk, 1964).
  static double DrawBeta(double a, Random& random) {
    for (;;) {
      const double u = std::log(random.Uniform()) / a, v = std::log(random.Uniform()) / a;
      const double part =
          1 / (1 + std::exp(v - u));  // of powers that may be too small for a double
      if (std::exp(u) + std::exp(v) <= 1 && !std::isnan(part)) return part;
    }
  }

  /// Each image with any other one of the data. The class is drawn, as often the other's as its
  /// part is, which has the mean of the loss of both; targets are mixed.
  void MixAll(const ReadRequest& request, const Reader& source, Batch& batch) const {
    std::vector<int64_t> partners;
    for (const int64_t example : request.examples) {
      Random random = DrawsOf(request, example, kMix);
      partners.push_back(static_cast<int64_t>(random.Below(static_cast<uint64_t>(source.Size()))));
    }
    Batch other;
    source.Read({.examples = partners, .as_stored = true}, other);
    const auto count = static_cast<size_t>(source.Info().input.Count());
    SparseStorage sets;
    sets.Clear();
    for (size_t i = 0; i < partners.size(); ++i) {
      Random random = DrawsOf(request, request.examples[i], kMix);
      random.Skip(1);
      const double part = DrawBeta(mixup_, random);
      Mix({batch.dense.As<uint8_t>() + i * count, count},
          {other.dense.As<uint8_t>() + i * count, count}, part);
      const bool others = random.Uniform() >= part;
      if (others && !batch.classes.empty()) batch.classes[i] = other.classes[i];
      MixTargets(i, part, other, batch);
      AppendSet(others ? other.labels : batch.labels, i, sets);
    }
    if (source.Info().multi_label) std::swap(batch.labels, sets);
  }

  static void MixTargets(size_t i, double part, const Batch& other, Batch& batch) {
    const size_t outputs = batch.targets.size() / static_cast<size_t>(batch.size);
    for (size_t k = i * outputs; k < (i + 1) * outputs; ++k)
      batch.targets[k] =
          static_cast<float>(part * batch.targets[k] + (1 - part) * other.targets[k]);
  }

  static void AppendSet(const SparseStorage& from, size_t row, SparseStorage& to) {
    if (from.offsets.size() <= row + 1) return;
    to.width = from.width;
    to.ids.insert(to.ids.end(), from.ids.begin() + from.offsets[row],
                  from.ids.begin() + from.offsets[row + 1]);
    to.offsets.push_back(std::ssize(to.ids));
  }

  bool flips_;
  double rotation_;  // most degrees
  double brightness_, contrast_, saturation_;
  int64_t cutout_;  // pixels of a side
  double mixup_;    // of the beta distribution
};

class AugmentedReader : public Reader {
 public:
  AugmentedReader(std::shared_ptr<const Reader> source, const Options& options)
      : source_(std::move(source)),
        flip_(options.Bool("flip")),
        crop_(options.Int("crop")),
        least_area_(options.Float("resized_crop")),
        pixels_(options) {
    const DataInfo& info = Info();
    Require(!info.sparse && info.input.rank() == 3, "{}: only images can be augmented",
            options.section());
    Require(crop_ < info.input[1] && crop_ < info.input[2],
            "{}: expected less than the sides of the images ({}x{})", options.Where("crop"),
            info.input[1], info.input[2]);
    Require(crop_ == 0 || least_area_ == 1, "{}: crop and resized_crop exclude each other",
            options.section());
    Require(!pixels_.ChangesAny() || HoldsBytes(),
            "{}: images of numbers other than bytes are only flipped and cropped",
            options.section());
  }

  const DataInfo& Info() const override { return source_->Info(); }
  int64_t Size() const override { return source_->Size(); }

  void Read(const ReadRequest& request, Batch& batch) const override {
    batch.crops.clear();
    for (const int64_t example : request.examples) batch.crops.push_back(CropOf(request, example));
    ReadRequest of_source = request;
    of_source.crops = batch.crops;
    of_source.as_stored = request.as_stored || pixels_.ChangesAny();
    source_->Read(of_source, batch);
    if (!pixels_.ChangesAny()) return;
    pixels_.Apply(request, *source_, batch);
    if (!request.as_stored) Normalize(batch);
  }

 private:
  bool HoldsBytes() const {
    Batch batch;
    const int64_t first = 0;
    source_->Read({.examples = {&first, 1}, .as_stored = true}, batch);
    return batch.dense.type == DType::kU8;
  }

  /// Makes the bytes of a batch its input.
  void Normalize(Batch& batch) const {
    const auto* const from = batch.dense.As<uint8_t>();
    const std::vector<uint8_t> stored(from, from + batch.dense.Count());
    const Shape& shape = Info().input;
    const ChannelScales scales = {std::ssize(batch.scales) / 3, batch.scales.data()};
    batch.ResizeDense(shape);
    for (int64_t i = 0; i < batch.size; ++i)
      NormalizeExample(stored.data() + i * shape.Count(), shape, scales,
                       &batch.crops[static_cast<size_t>(i)],
                       batch.dense.As<float>() + i * shape.Count());
  }

  ImageCrop CropOf(const ReadRequest& request, int64_t example) const {
    Random random({request.seed, Word(Draw::kAugment), static_cast<uint64_t>(request.epoch),
                   static_cast<uint64_t>(example)});
    const int32_t mirrored = flip_ && random.Below(2) == 1 ? 1 : 0;
    const Shape& shape = Info().input;
    ImageCrop crop = {.height = static_cast<int32_t>(shape[1]),
                      .width = static_cast<int32_t>(shape[2])};
    if (crop_ > 0) crop.top = DrawShift(random);
    if (crop_ > 0) crop.left = DrawShift(random);
    if (least_area_ < 1) crop = DrawCrop(random, least_area_, shape[1], shape[2]);
    crop.mirrored = mirrored;
    return crop;
  }
  int32_t DrawShift(Random& random) const {
    return static_cast<int32_t>(crop_ - static_cast<int64_t>(random.Below(2 * crop_ + 1)));
  }

  std::shared_ptr<const Reader> source_;
  bool flip_;
  int64_t crop_;       // maximum shift in pixels
  double least_area_;  // of a resized crop; 1: none
  PixelAugmentation pixels_;
};

}  // namespace

static OptionSpec StrengthOption(const char* name, double most, const char* help) {
  return {.name = name,
          .type = OptionType::kFloat,
          .fallback = 0.0,
          .help = help,
          .minimum = 0,
          .maximum = most};
}

const std::vector<OptionSpec>& augment_options() {
  static const std::vector<OptionSpec> specs = {
      {.name = "flip",
       .type = OptionType::kBool,
       .fallback = false,
       .help = "Mirror half of the images left to right, drawn anew in each epoch."},
      {.name = "crop",
       .type = OptionType::kInt,
       .fallback = 0,
       .help = "Pad images by this many black pixels on each side and crop a random part of the "
               "original size.",
       .minimum = 0,
       .maximum = 1000},
      {.name = "resized_crop",
       .type = OptionType::kFloat,
       .fallback = 1.0,
       .help = "Crop a random rectangle of at least this fraction of the image's area, of sides in "
               "a ratio of 3/4 to 4/3, and stretch it to the original size; 1: no crop.",
       .minimum = 0,
       .maximum = 1,
       .exclusive_minimum = true},
      {.name = "flip_vertical",
       .type = OptionType::kBool,
       .fallback = false,
       .help = "Exchange top and bottom of half of the images."},
      StrengthOption("rotation", 180,
                     "Turn images by up to this many degrees to either side; black outside."),
      StrengthOption("brightness", 1, "Multiply pixels by 1 plus or minus up to this."),
      StrengthOption("contrast", 1, "The same of the differences from the image's mean."),
      StrengthOption("saturation", 1, "The same of the differences from a pixel's grey."),
      {.name = "cutout",
       .type = OptionType::kInt,
       .fallback = 0,
       .help = "Make a random square of this many pixels grey.",
       .minimum = 0,
       .maximum = 8192},
      StrengthOption(
          "mixup", 1,
          "Mix each image with another one in parts of a beta distribution with this parameter; "
          "the class is drawn by the parts.")};
  return specs;
}

std::unique_ptr<Reader> Augment(std::shared_ptr<const Reader> source, const Value& table) {
  return std::make_unique<AugmentedReader>(std::move(source),
                                           Options("data.augment", table, augment_options()));
}

}  // namespace yoke
