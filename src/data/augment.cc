// Augment: changes the images of a batch in place.
#include "data/preprocess.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "data/resized_crop.h"

namespace yoke {
namespace {

struct Plane {
  float* pixels = nullptr;
  int64_t height = 0;
  int64_t width = 0;
};

void Flip(const Plane& plane) {
  for (int64_t y = 0; y < plane.height; ++y) {
    float* row = plane.pixels + y * plane.width;
    std::reverse(row, row + plane.width);
  }
}

// Row y becomes row y - down, moved right by `right`; pixels from outside the image get `outside`.
void ShiftRow(const Plane& plane, int64_t y, int64_t down, int64_t right, float outside) {
  float* to = plane.pixels + y * plane.width;
  const int64_t source = y - down;
  if (source < 0 || source >= plane.height) {
    std::fill_n(to, plane.width, outside);
    return;
  }
  const float* from = plane.pixels + source * plane.width;
  const int64_t kept = plane.width - std::abs(right);
  std::memmove(to + std::max<int64_t>(right, 0), from + std::max<int64_t>(-right, 0),
               kept * sizeof(float));
  std::fill_n(right > 0 ? to : to + kept, std::abs(right), outside);
}

// Moves the content down and right (up and left if negative), in an order in which no row is
// overwritten before it is read.
void Shift(const Plane& plane, int64_t down, int64_t right, float outside) {
  for (int64_t i = 0; i < plane.height; ++i)
    ShiftRow(plane, down > 0 ? plane.height - 1 - i : i, down, right, outside);
}

void Stretch(const Plane& plane, const Crop& crop) {
  const std::vector<float> before(plane.pixels, plane.pixels + plane.height * plane.width);
  StretchCrop(crop, before.data(), plane.height, plane.width, plane.pixels);
}

class AugmentedReader : public Reader {
 public:
  AugmentedReader(std::shared_ptr<const Reader> source, const Options& options)
      : source_(std::move(source)),
        flip_(options.Bool("flip")),
        crop_(options.Int("crop")),
        least_area_(options.Float("resized_crop")) {
    const DataInfo& info = Info();
    Require(!info.sparse && info.input.rank() == 3, "{}: only images can be augmented",
            options.section());
    Require(crop_ < info.input[1] && crop_ < info.input[2],
            "{}: expected less than the sides of the images ({}x{})", options.Where("crop"),
            info.input[1], info.input[2]);
    Require(crop_ == 0 || least_area_ == 1, "{}: crop and resized_crop exclude each other",
            options.section());
  }

  const DataInfo& Info() const override { return source_->Info(); }
  int64_t Size() const override { return source_->Size(); }

  void Read(const ReadRequest& request, Batch& batch) const override {
    source_->Read(request, batch);
    const int64_t elements = Info().input.Count();
    for (int64_t i = 0; i < batch.size; ++i)
      Change(request, request.examples[i], batch.dense.As<float>() + i * elements);
  }

 private:
  void Change(const ReadRequest& request, int64_t example, float* image) const {
    Random random({request.seed, Word(Draw::kAugment), static_cast<uint64_t>(request.epoch),
                   static_cast<uint64_t>(example)});
    const bool flip = flip_ && random.Below(2) == 1;
    const int64_t down = crop_ > 0 ? static_cast<int64_t>(random.Below(2 * crop_ + 1)) - crop_ : 0;
    const int64_t right = crop_ > 0 ? static_cast<int64_t>(random.Below(2 * crop_ + 1)) - crop_ : 0;
    const Shape& shape = Info().input;
    const Crop whole = {.height = shape[1], .width = shape[2]};
    const Crop crop = least_area_ < 1 ? DrawCrop(random, least_area_, shape[1], shape[2]) : whole;
    for (int64_t c = 0; c < shape[0]; ++c) {
      const Plane plane = {image + c * shape[1] * shape[2], shape[1], shape[2]};
      if (flip) Flip(plane);
      if (down != 0 || right != 0) Shift(plane, down, right, Black(c));
      if (crop != whole) Stretch(plane, crop);
    }
  }

  // The value that a stored 0 has after normalization.
  float Black(int64_t channel) const {
    const Normalization& normalization = Info().normalization;
    return static_cast<float>(-ByChannel(normalization.mean, channel, 0) /
                              ByChannel(normalization.deviation, channel, 1));
  }

  std::shared_ptr<const Reader> source_;
  bool flip_;
  int64_t crop_;       // maximum shift in pixels
  double least_area_;  // of a resized crop; 1: none
};

}  // namespace

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
       .exclusive_minimum = true}};
  return specs;
}

std::unique_ptr<Reader> Augment(std::shared_ptr<const Reader> source, const Value& table) {
  return std::make_unique<AugmentedReader>(std::move(source),
                                           Options("data.augment", table, augment_options()));
}

}  // namespace yoke
