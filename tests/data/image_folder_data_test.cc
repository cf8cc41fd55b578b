// Real images behind YOKE_DATA: two archives of JPEG files, with and without resizing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "base/check.h"
#include "base/clock.h"
#include "data/reader.h"

namespace yoke::image_folder_data_test {

std::string Root() {
  const char* root = std::getenv("YOKE_DATA");
  return root ? root : "";
}

// The mean of all numbers that a reader gives.
double MeanOf(const Reader& reader) {
  double sum = 0;
  Batch batch;
  for (int64_t i = 0; i < reader.Size(); ++i) {
    reader.Read({.examples = std::span(&i, 1)}, batch);
    const float* numbers = batch.dense.As<float>();
    sum += std::accumulate(numbers, numbers + batch.dense.Count(), 0.0) /
           static_cast<double>(batch.dense.Count());
  }
  return sum / static_cast<double>(reader.Size());
}

TEST(ImageFolderData, SignDigitsOfAnySize) {
  if (Root().empty()) GTEST_SKIP() << "YOKE_DATA names no folder of real data (shared/data)";
  const double start = Now();
  const DataSets data = OpenData(Table{{"format", "image-folder"},
                                       {"train", Root() + "/sign-digits-jpeg/sign-digits.tar.xz"},
                                       {"test_share", 0.2},
                                       {"size", List{64, 64}}},
                                 1);
  EXPECT_LT(Now() - start, 60);
  EXPECT_EQ(data.train->Size() + data.test->Size(), 2062);
  EXPECT_EQ(data.train->Info().input, (Shape{3, 64, 64}));
  EXPECT_EQ(data.train->Info().label_names,
            (std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}));
  const double mean = MeanOf(*data.train);
  EXPECT_GT(mean, 0.3);
  EXPECT_LT(mean, 0.8);
}

// Three of its images are 3024x3024.
TEST(ImageFolderData, SignDigitsWithoutASizeAreRefused) {
  if (Root().empty()) GTEST_SKIP() << "YOKE_DATA names no folder of real data (shared/data)";
  const Table section = {{"format", "image-folder"},
                         {"train", Root() + "/sign-digits-jpeg/sign-digits.tar.xz"}};
  try {
    OpenData(section, 1);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("data.size"), std::string::npos) << error.what();
  }
}

TEST(ImageFolderData, CifarTestSet) {
  if (Root().empty()) GTEST_SKIP() << "YOKE_DATA names no folder of real data (shared/data)";
  const std::string archive = Root() + "/cifar10-jpeg/cifar10-jpeg-test.tar.xz";
  const DataSets data = OpenData(Table{{"format", "image-folder"}, {"train", archive}}, 1);
  EXPECT_EQ(data.train->Size(), 10000);
  EXPECT_EQ(data.train->Info().input, (Shape{3, 32, 32}));
  EXPECT_EQ(data.train->Info().outputs, 10);
  EXPECT_NEAR(MeanOf(*data.train), 0.475, 0.01);  // CIFAR-10's known mean
}

}  // namespace yoke::image_folder_data_test
