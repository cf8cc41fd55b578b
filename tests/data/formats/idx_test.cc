// idx files: images and labels in any order, other types, what does not fit together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/support/binary_files.h"
#include "data/support/memory_files.h"

namespace yoke::testing_support::idx_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

LoadCase Images() {
  return {.format = "idx",
          .content = {{"images", Idx(8, {3, 2, 2}, Pixels(12))},
                      {"labels", Idx(8, {3}, Pixels(3, 5))},
                      {"test-images", Idx(8, {1, 2, 2}, Pixels(4, 100))},
                      {"test-labels", Idx(8, {1}, Pixels(1, 6))}},
          .files = {.train = {"labels", "images"}, .test = {"test-images", "test-labels"}}};
}

TEST(Idx, ReadsImagesAndLabelsInAnyOrder) {
  const LoadedData data = LoadMemory(Images());
  EXPECT_EQ(data.info.input, (Shape{1, 2, 2}));
  EXPECT_EQ(data.info.outputs, 3);
  EXPECT_THAT(data.info.label_names, ElementsAre("5", "6", "7"));
  EXPECT_DOUBLE_EQ(data.info.normalization.scale, 1.0 / 255);
  EXPECT_EQ(data.train.size, 3);
  EXPECT_THAT(data.train.bytes.span(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(data.train.classes.span(), ElementsAre(0, 1, 2));
  EXPECT_THAT(data.test.classes.span(), ElementsAre(1));
}

TEST(Idx, JoinsFilesOfASet) {
  LoadCase load = Images();
  load.files.train = {"images", "labels", "test-images", "test-labels"};
  load.files.test = {};
  EXPECT_EQ(LoadMemory(load).train.size, 4);
}

TEST(Idx, ReadsOtherTypes) {
  LoadCase load{.format = "idx",
                .content = {{"vectors", Idx(0x0D, {1, 2}, {"\x3f\x80\0\0\xc0\0\0\0", 8})},
                            {"labels", Idx(0x0B, {1}, {"\xff\xfe", 2})}},
                .files = {.train = {"vectors", "labels"}}};
  const LoadedData data = LoadMemory(load);
  EXPECT_EQ(data.info.input, (Shape{2}));
  EXPECT_THAT(data.train.floats.span(), ElementsAre(1, -2));
  EXPECT_THAT(data.info.label_names, ElementsAre("-2"));
  EXPECT_EQ(data.info.normalization.scale, 1);
  load.content["vectors"] = Idx(0x0E, {1, 1}, {"\x3f\xf0\0\0\0\0\0\0", 8});
  EXPECT_THAT(LoadMemory(load).train.floats.span(), ElementsAre(1));
  load.content["vectors"] = Idx(0x0C, {1, 1}, {"\xff\xff\xff\xfd", 4});
  EXPECT_THAT(LoadMemory(load).train.floats.span(), ElementsAre(-3));
}

TEST(Idx, RefusesLabelsThatAreNotFinite) {
  LoadCase load = Images();
  for (const char* label : {"\x7f\xc0\0\0", "\x7f\x80\0\0"}) {
    load.content["labels"] = Idx(0x0D, {3}, {std::string(8, '\0') + std::string(label, 4)});
    EXPECT_THAT(LoadError(load), HasSubstr("labels: the label at byte 16 is "));
  }
}

TEST(Idx, RefusesWhatDoesNotFitTogether) {
  LoadCase load = Images();
  load.content["labels"] = Idx(8, {2}, Pixels(2, 5));
  EXPECT_THAT(LoadError(load), HasSubstr("3 examples but 2 labels"));
  load = Images();
  load.content["test-labels"] = Idx(8, {1}, Pixels(1, 9));
  EXPECT_THAT(LoadError(load),
              HasSubstr("test-labels: the label 9 at byte 8 is none of the training classes"));
  load = Images();
  load.content["test-images"] = Idx(8, {1, 1, 4}, Pixels(4));
  EXPECT_THAT(LoadError(load), HasSubstr("test-images: examples are 1x1x4; expected 1x2x2"));
  load = Images();
  load.files.train = {"labels"};
  EXPECT_THAT(LoadError(load), HasSubstr("labels: only labels"));
}

TEST(Idx, NeedsNoLabelsToPredict) {
  const DataInfo like{.input = {1, 2, 2}, .outputs = 3, .label_names = {"5", "6", "7"}};
  LoadCase load = Images();
  load.files = {.test = {"test-images"}, .like = &like, .labels_optional = true};
  const LoadedData data = LoadMemory(load);
  EXPECT_FALSE(data.info.labelled);
  EXPECT_EQ(data.test.size, 1);
  load.files.labels_optional = false;
  EXPECT_THAT(LoadError(load), HasSubstr("1 examples but 0 labels"));
}

}  // namespace yoke::testing_support::idx_test
