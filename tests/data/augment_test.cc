// Augment: flips and crops by hand, draws that depend on seed, epoch and example only.
#include "data/preprocess.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/check.h"
#include "data/image_changes.h"
#include "data/memory_reader.h"
#include "kernels/normalize.h"
#include "tensor/batch_arrays.h"
#include "tensor/emulated.h"
#include "tensor/support/arrays.h"

namespace yoke::augment_test {

constexpr int kSide = 6;
constexpr int64_t kPlane = kSide * kSide;

// Images of two channels; the pixel (y, x) of channel c is 1 + 10 y + x + 100 c.
std::unique_ptr<Reader> Images(int64_t size, const Normalization& normalization = {}) {
  DataInfo info;
  info.input = {2, kSide, kSide};
  info.outputs = 2;
  info.label_names = {"0", "1"};
  info.normalization = normalization;
  MemoryData data;
  data.size = size;
  for (int64_t i = 0; i < size; ++i) {
    data.classes.push_back(0);
    for (int c = 0; c < 2; ++c)
      for (int p = 0; p < kPlane; ++p)
        data.bytes.push_back(static_cast<uint8_t>(1 + 10 * (p / kSide) + p % kSide + 100 * c));
  }
  return std::make_unique<MemoryReader>(info, std::move(data));
}

std::vector<float> Read(const Reader& reader, std::vector<int64_t> examples, uint64_t seed = 1,
                        int64_t epoch = 0) {
  Batch batch;
  reader.Read({.examples = examples, .seed = seed, .epoch = epoch}, batch);
  return {batch.dense.As<float>(), batch.dense.As<float>() + batch.dense.Count()};
}

// What an image looks like when it is mirrored, then moved.
std::vector<float> Changed(bool flip, int down, int right, float outside = 0) {
  std::vector<float> image(2 * kPlane, outside);
  for (int c = 0; c < 2; ++c)
    for (int y = 0; y < kSide; ++y)
      for (int x = 0; x < kSide; ++x) {
        const int source_y = y - down, moved = x - right;
        const int source_x = flip ? kSide - 1 - moved : moved;
        if (source_y < 0 || source_y >= kSide || moved < 0 || moved >= kSide) continue;
        image[c * kPlane + y * kSide + x] =
            static_cast<float>(1 + 10 * source_y + source_x + 100 * c);
      }
  return image;
}

std::vector<float> Slice(const std::vector<float>& all, int64_t i) {
  return {all.begin() + i * 2 * kPlane, all.begin() + (i + 1) * 2 * kPlane};
}

TEST(Augment, NothingAskedNothingChanged) {
  EXPECT_EQ(Read(*Augment(Images(3), Table{}), {2, 0}), Read(*Images(3), {2, 0}));
}

TEST(Augment, FlipMirrorsAboutHalf) {
  const auto reader = Augment(Images(200), Table{{"flip", true}});
  std::vector<int64_t> examples(200);
  for (int64_t i = 0; i < 200; ++i) examples[i] = i;
  const auto all = Read(*reader, examples);
  int flipped = 0;
  for (int64_t i = 0; i < 200; ++i) {
    const auto image = Slice(all, i);
    flipped += image == Changed(true, 0, 0);
    EXPECT_TRUE(image == Changed(true, 0, 0) || image == Changed(false, 0, 0));
  }
  EXPECT_GT(flipped, 70);
  EXPECT_LT(flipped, 130);
}

TEST(Augment, CropMovesInAllDirectionsAndFillsWithBlack) {
  const auto reader = Augment(Images(1), Table{{"crop", 2}, {"flip", true}});
  std::set<std::vector<float>> possible, seen;
  for (const bool flip : {false, true})
    for (int down = -2; down <= 2; ++down)
      for (int right = -2; right <= 2; ++right) possible.insert(Changed(flip, down, right));
  for (int64_t epoch = 0; epoch < 1000; ++epoch) seen.insert(Read(*reader, {0}, 1, epoch));
  EXPECT_EQ(seen, possible);
}

TEST(Augment, BlackIsWhatAStoredZeroIsReadAs) {
  const auto reader =
      Augment(Images(1, {.scale = 1, .mean = {3, 5}, .deviation = {2, 4}}), Table{{"crop", 5}});
  std::set<float> darkest;
  for (int64_t epoch = 0; epoch < 50; ++epoch) {
    const auto image = Read(*reader, {0}, 1, epoch);
    darkest.insert(*std::min_element(image.begin(), image.begin() + kPlane));
  }
  EXPECT_EQ(*darkest.begin(), -1.5F);
}

TEST(Augment, DrawsDependOnSeedEpochAndExampleOnly) {
  const auto reader = Augment(Images(8), Table{{"crop", 2}, {"flip", true}});
  const auto all = Read(*reader, {0, 1, 2, 3, 4, 5, 6, 7}, 5, 2);
  EXPECT_EQ(Slice(Read(*reader, {6, 3}, 5, 2), 1), Slice(all, 3));
  EXPECT_NE(Read(*reader, {0, 1, 2, 3, 4, 5, 6, 7}, 6, 2), all);
  EXPECT_NE(Read(*reader, {0, 1, 2, 3, 4, 5, 6, 7}, 5, 3), all);
}

TEST(Augment, ResizedCropsStayWithinTheImageAndDiffer) {
  const auto reader = Augment(Images(1), Table{{"resized_crop", 0.08}});
  std::set<std::vector<float>> seen;
  for (int64_t epoch = 0; epoch < 100; ++epoch) {
    const auto image = Slice(Read(*reader, {0}, 1, epoch), 0);
    const auto [least, most] = std::minmax_element(image.begin(), image.begin() + kPlane);
    EXPECT_GE(*least, 1);
    EXPECT_LE(*most, 56);
    for (int p = 0; p < kPlane; ++p) EXPECT_NEAR(image[kPlane + p], image[p] + 100, 1e-3);
    seen.insert(image);
  }
  EXPECT_GT(seen.size(), 50);
}

TEST(Augment, ResizedCropsDependOnSeedEpochAndExampleOnly) {
  const auto reader = Augment(Images(8), Table{{"resized_crop", 0.08}, {"flip", true}});
  const auto all = Read(*reader, {0, 1, 2, 3, 4, 5, 6, 7}, 5, 2);
  EXPECT_EQ(Slice(Read(*reader, {6, 3}, 5, 2), 1), Slice(all, 3));
  EXPECT_NE(Read(*reader, {0, 1, 2, 3, 4, 5, 6, 7}, 6, 2), all);
}

/// What Read returns, of bytes that become floats on the device.
std::vector<float> ReadOn(Device& device, const Reader& reader, std::vector<int64_t> examples) {
  Batch batch;
  reader.Read({.examples = examples, .seed = 1, .as_stored = true}, batch);
  EXPECT_EQ(batch.dense.type, DType::kU8);
  const Target target = {.device = &device, .stream = &device.stream()};
  BatchArrays arrays(target);
  arrays.Take(batch);
  const Buffer input(device, batch.dense.Count() * SizeOf(DType::kF32));
  MakeNormalize(target)->Forward({.stored = arrays.dense(),
                                  .input = {.shape = batch.dense.shape, .data = input.data()},
                                  .scales = arrays.scales(),
                                  .crops = arrays.crops()});
  device.stream().Wait();
  return ValuesOf(AllOf<float>(input));
}

TEST(Augment, OnADeviceOfItsOwnAsHere) {
  const auto device = NewEmulatedDevice(0, {});
  const std::vector<int64_t> examples = {5, 0, 3, 1};
  const Normalization normalization = {.scale = 1.0 / 255, .mean = {.1, .2}, .deviation = {2, 3}};
  for (const Table& table : {Table{}, Table{{"flip", true}}, Table{{"flip", true}, {"crop", 2}},
                             Table{{"flip", true}, {"resized_crop", 0.08}}}) {
    const std::shared_ptr<const Reader> images = Images(8, normalization);
    const auto reader = Augment(Subset(images, {7, 6, 5, 4, 3, 2, 1, 0}), table);
    EXPECT_EQ(ReadOn(*device, *reader, examples), Read(*reader, examples));
  }
  EXPECT_EQ(ReadOn(*device, *Images(8), examples), Read(*Images(8), examples));
}

TEST(Augment, ChangesOfPixelsAlikeOnADeviceAndByAnyOrder) {
  const auto device = NewEmulatedDevice(0, {});
  const std::shared_ptr<const Reader> images = Images(8, {.scale = 1.0 / 255});
  for (const Table& table : {Table{{"flip_vertical", true}}, Table{{"rotation", 30.0}},
                             Table{{"brightness", 0.5}}, Table{{"contrast", 0.5}, {"flip", true}},
                             Table{{"saturation", 1.0}, {"crop", 1}}, Table{{"cutout", 3}}}) {
    const auto reader = Augment(images, table);
    const auto all = Read(*reader, {0, 1, 2, 3, 4, 5, 6, 7});
    EXPECT_NE(all, Read(*images, {0, 1, 2, 3, 4, 5, 6, 7}));
    EXPECT_EQ(Slice(Read(*reader, {6, 3}), 1), Slice(all, 3));
    EXPECT_EQ(ReadOn(*device, *reader, {5, 0, 3, 1}), Read(*reader, {5, 0, 3, 1}));
  }
}

TEST(Augment, MixesImagesAndDrawsTheirClasses) {
  DataInfo info{.input = {1, 1, 2}, .outputs = 2, .label_names = {"0", "1"}};
  MemoryData data;
  for (int i = 0; i < 2000; ++i, ++data.size) {
    data.classes.push_back(i % 2);
    for (int p = 0; p < 2; ++p) data.bytes.push_back(static_cast<uint8_t>(i % 2 ? 200 : 0));
  }
  const auto reader =
      Augment(std::make_unique<MemoryReader>(info, std::move(data)), Table{{"mixup", 1.0}});
  std::vector<int64_t> examples(2000);
  for (int64_t i = 0; i < 2000; ++i) examples[i] = i;
  Batch batch;
  reader->Read({.examples = examples, .seed = 1}, batch);
  int between = 0, ones = 0;
  double brightness = 0;
  for (int64_t i = 0; i < 2000; ++i) {
    const float value = batch.dense.As<float>()[2 * i];
    if (value <= 0 || value >= 200) continue;
    ++between, ones += batch.classes[i], brightness += value / 200;
  }
  EXPECT_NEAR(between, 1000, 100);    // the other half met their own class
  EXPECT_NEAR(ones, brightness, 60);  // a class is as probable as its part
}

TEST(PixelChanges, TurnAndCutByHand) {
  std::vector<uint8_t> bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Shape shape = {1, 3, 3};
  Rotate({bytes, shape}, 90);
  EXPECT_EQ(bytes, (std::vector<uint8_t>{3, 6, 9, 2, 5, 8, 1, 4, 7}));
  FlipVertically({bytes, shape});
  EXPECT_EQ(bytes, (std::vector<uint8_t>{1, 4, 7, 2, 5, 8, 3, 6, 9}));
  CutOut({bytes, shape}, 2, 0, 2);
  EXPECT_EQ(bytes, (std::vector<uint8_t>{1, 5, 5, 2, 5, 8, 3, 6, 9}));
  ChangeColours({bytes, shape}, {.brightness = 2});
  EXPECT_EQ(bytes, (std::vector<uint8_t>{2, 10, 10, 4, 10, 16, 6, 12, 18}));
  ChangeColours({bytes, shape}, {.contrast = 0});
  EXPECT_EQ(bytes, std::vector<uint8_t>(9, 10));
}

TEST(Augment, RefusesWhatItDoesNotKnow) {
  EXPECT_THROW(Augment(Images(1), Table{{"rotation", 181.0}}), UserError);
  EXPECT_THROW(Augment(Images(1), Table{{"resized_crop", 0.0}}), UserError);
  EXPECT_THROW(Augment(Images(1), Table{{"resized_crop", 0.5}, {"crop", 2}}), UserError);
  EXPECT_THROW(Augment(Images(1), Table{{"flipp", true}}), UserError);
  EXPECT_THROW(Augment(Images(1), Table{{"crop", kSide}}), UserError);
  EXPECT_THROW(Augment(Images(1), Table{{"crop", -1}}), UserError);
  DataInfo info;
  info.input = {4};
  info.labelled = false;
  MemoryData data;
  EXPECT_THROW(
      Augment(std::make_unique<MemoryReader>(info, std::move(data)), Table{{"flip", true}}),
      UserError);
}

}  // namespace yoke::augment_test
