// NumPy arrays: types, shapes, what labels are, and what does not fit together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "data/support/memory_files.h"

namespace yoke::testing_support::numpy_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A .npy file of these numbers.
template <typename T>
std::string Npy(const std::string& type, const std::string& shape, const std::vector<T>& numbers) {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size());
  file += '\0';
  file += header;
  std::string bytes(numbers.size() * sizeof(T), ' ');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return file + bytes;
}

LoadCase Pair(const std::string& x, const std::string& y, Table options = {}) {
  return {.format = "numpy",
          .options = std::move(options),
          .content = {{"x", x}, {"y", y}},
          .files = {.train = {"x", "y"}}};
}

const std::string kX = Npy<double>("<f8", "(3, 2)", {1, 2, 3, 4, 5, 6.5});

TEST(Numpy, ReadsExamplesAndClasses) {
  const LoadedData data = LoadMemory(Pair(kX, Npy<int64_t>("<i8", "(3,)", {7, -1, 7})));
  EXPECT_EQ(data.info.input, (Shape{2}));
  EXPECT_THAT(data.train.floats.span(), ElementsAre(1, 2, 3, 4, 5, 6.5));
  EXPECT_THAT(data.info.label_names, ElementsAre("-1", "7"));
  EXPECT_THAT(data.train.classes.span(), ElementsAre(1, 0, 1));
}

TEST(Numpy, ReadsTargets) {
  const LoadedData data = LoadMemory(Pair(kX, Npy<float>("<f4", "(3,)", {0.5, 1, 2})));
  EXPECT_TRUE(data.info.regression);
  EXPECT_EQ(data.info.outputs, 1);
  EXPECT_THAT(data.train.targets.span(), ElementsAre(0.5, 1, 2));
  const std::string whole = Npy<int32_t>("<i4", "(3,)", {1, 2, 3});
  EXPECT_TRUE(LoadMemory(Pair(kX, whole, {{"task", "regression"}})).info.regression);
}

TEST(Numpy, ReadsSetsOfLabels) {
  const auto load = [](const std::vector<uint8_t>& y) {
    return LoadCase{.format = "numpy",
                    .options = {{"task", "multi_label"}},
                    .content = {{"x", kX}, {"y_all.npy", Npy<uint8_t>("|u1", "(3, 2)", y)}},
                    .files = {.train = {"x", "y_all.npy"}}};
  };
  const LoadedData data = LoadMemory(load({1, 0, 0, 0, 1, 1}));
  EXPECT_TRUE(data.info.multi_label);
  EXPECT_EQ(data.info.outputs, 2);
  EXPECT_THAT(data.train.labels.offsets.span(), ElementsAre(0, 1, 1, 3));
  EXPECT_THAT(data.train.labels.ids.span(), ElementsAre(0, 0, 1));
  EXPECT_THAT(LoadError(load({1, 0, 0, 2, 1, 1})),
              HasSubstr("example 1 has the label 2; expected"));
}

TEST(Numpy, ReadsBytesAsImagesAndOtherByteOrders) {
  const std::string images = Npy<uint8_t>("|u1", "(2, 1, 2)", {0, 255, 3, 4});
  const LoadedData data = LoadMemory(Pair(images, Npy<uint8_t>("|b1", "(2,)", {0, 1})));
  EXPECT_EQ(data.info.input, (Shape{1, 1, 2}));
  EXPECT_THAT(data.train.bytes.span(), ElementsAre(0, 255, 3, 4));
  EXPECT_DOUBLE_EQ(data.info.normalization.scale, 1.0 / 255);
  const LoadedData swapped = LoadMemory(
      Pair(Npy<uint16_t>(">u2", "(2, 1)", {0x0100, 0x0200}), Npy<uint8_t>("|u1", "(2,)", {0, 1})));
  EXPECT_THAT(swapped.train.floats.span(), ElementsAre(1, 2));
}

TEST(Numpy, NeedsNoLabelsToPredict) {
  const DataInfo like{.input = {2}, .outputs = 2, .label_names = {"0", "1"}};
  const LoadedData data =
      LoadMemory({.format = "numpy",
                  .content = {{"x", kX}},
                  .files = {.test = {"x"}, .like = &like, .labels_optional = true}});
  EXPECT_FALSE(data.info.labelled);
  EXPECT_EQ(data.test.size, 3);
}

TEST(Numpy, ReadsBytesLikeDataThatWereNotScaled) {
  DataInfo like{.input = {1, 1, 2}, .outputs = 2, .label_names = {"0", "1"}};
  LoadCase load{.format = "numpy",
                .content = {{"x", Npy<uint8_t>("|u1", "(1, 1, 2)", {0, 255})}},
                .files = {.test = {"x"}, .like = &like, .labels_optional = true}};
  EXPECT_THAT(LoadMemory(load).test.bytes.span(), ElementsAre(0, 255));
  load.content["x"] = Npy<double>("<f8", "(1, 1, 2)", {0, 1});
  EXPECT_THAT(LoadMemory(load).test.floats.span(), ElementsAre(0, 1));
  like.normalization.scale = 1.0 / 255;
  EXPECT_THAT(LoadError(load), HasSubstr("x: expected the same type of numbers"));
}

TEST(Numpy, SaysWhatDoesNotFit) {
  const auto error = [](const std::string& x, const std::string& y, Table options = {}) {
    return LoadError(Pair(x, y, std::move(options)));
  };
  const std::string y = Npy<uint8_t>("|u1", "(3,)", {0, 1, 0});
  EXPECT_THAT(error("text", y), HasSubstr("x: expected a .npy file"));
  EXPECT_THAT(error(kX.substr(0, 40), y), HasSubstr("x: the file ends in its header"));
  EXPECT_THAT(error(kX.substr(0, kX.size() - 1), y), HasSubstr("its header promises 6 numbers"));
  EXPECT_THAT(error(kX + "x", y), HasSubstr("more bytes follow"));
  EXPECT_THAT(error(Npy<double>("<U5", "(3, 2)", {}), y), HasSubstr("its type is '<U5'"));
  EXPECT_THAT(error(Npy<double>("<f8", "(0, 2)", {}), y), HasSubstr("expected axes above 0"));
  EXPECT_THAT(error(Npy<double>("<f8", "(1, 1)", {NAN}), y), HasSubstr("is nan"));
  EXPECT_THAT(error(kX, Npy<uint8_t>("|u1", "(2,)", {0, 1})), HasSubstr("3 examples but 2 labels"));
  EXPECT_THAT(error(y, y), HasSubstr("no examples"));
  std::vector<int32_t> many(101);
  std::string x = Npy<uint8_t>("|u1", "(101, 1)", std::vector<uint8_t>(101));
  for (int i = 0; i < 101; ++i) many[i] = i;
  EXPECT_THAT(error(x, Npy("<i4", "(101,)", many)), HasSubstr("data.task: y holds more than 100"));
}

}  // namespace yoke::testing_support::numpy_test
