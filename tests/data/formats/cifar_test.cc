// CIFAR records with one label and with two.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/support/binary_files.h"
#include "data/support/memory_files.h"

namespace yoke::testing_support::cifar_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Cifar, ReadsRecords) {
  LoadCase load = TrainCase("cifar", CifarRecord({7}) + CifarRecord({2}, 50));
  load.piece = 1000;
  const LoadedData data = LoadMemory(load);
  EXPECT_EQ(data.info.input, (Shape{3, 32, 32}));
  EXPECT_EQ(data.train.size, 2);
  EXPECT_THAT(data.info.label_names, ElementsAre("2", "7"));
  EXPECT_THAT(data.train.classes.span(), ElementsAre(1, 0));
  EXPECT_EQ(data.train.bytes[3072], 50);
  EXPECT_EQ(data.train.bytes[3073], 51);
}

TEST(Cifar, TakesTheFineLabelOfTwo) {
  const LoadedData data =
      LoadMemory(TrainCase("cifar", CifarRecord({3, 99}), {{"label_bytes", 2}}));
  EXPECT_THAT(data.info.label_names, ElementsAre("99"));
  EXPECT_EQ(data.train.bytes[0], 0);
}

TEST(Cifar, NamesItsClasses) {
  const List names = {"plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "van"};
  const LoadedData loaded =
      LoadMemory(TrainCase("cifar", CifarRecord({7}) + CifarRecord({2}), {{"class_names", names}}));
  EXPECT_THAT(loaded.info.label_names, ElementsAre("bird", "horse"));
  EXPECT_EQ(loaded.train.classes[0], 1);
  EXPECT_THAT(LoadError(TrainCase("cifar", CifarRecord({7}), {{"class_names", List{"plane"}}})),
              HasSubstr("10 names"));
}

TEST(Cifar, NamesTheRecordOfAnUnknownLabel) {
  LoadCase load = TrainCase("cifar", CifarRecord({7}));
  load.content["test"] = CifarRecord({7}) + CifarRecord({8});
  load.files.test = {"test"};
  EXPECT_THAT(LoadError(load),
              HasSubstr("test: the label 8 of the record at byte 3073 is none of the training"));
}

}  // namespace yoke::testing_support::cifar_test
