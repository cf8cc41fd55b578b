// Augment: draws the crops that are read in place of images.
#include "data/preprocess.h"

#include "base/check.h"
#include "base/random.h"
#include "data/resized_crop.h"

namespace yoke {
namespace {

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
    batch.crops.clear();
    for (const int64_t example : request.examples) batch.crops.push_back(CropOf(request, example));
    ReadRequest of_source = request;
    of_source.crops = batch.crops;
    source_->Read(of_source, batch);
  }

 private:
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
