// Mean and deviation by channel: measured, or as a job says.
#include "data/preprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "data/memory_reader.h"

namespace yoke::normalize_test {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

Options Section(Table section) {
  section.emplace_back("format", "idx");
  return {"data", section, common_data_options()};
}

TEST(Normalize, MeasuresByChannelBehindTheScale) {
  MemoryData data;
  data.size = 300;  // more than a block
  for (int64_t i = 0; i < data.size; ++i)
    for (const int value : {0, 20, 7, 7}) data.bytes.push_back(static_cast<uint8_t>(value));
  const MemoryReader reader(
      {.input = {2, 1, 2}, .labelled = false, .normalization = {.scale = 0.1}}, std::move(data));
  const auto [measured, needed] = MeasureChannels(reader);
  EXPECT_EQ(needed.origin[0], 0);
  EXPECT_NEAR(needed.origin[1], 0.7, 1e-6);  // perhaps rounded from others
  EXPECT_EQ(measured.scale, 0.1);
  EXPECT_THAT(measured.mean[0], DoubleEq(1));
  EXPECT_THAT(measured.deviation[0], DoubleEq(1));
  EXPECT_NEAR(measured.mean[1], 0.7, 1e-6);
  EXPECT_EQ(measured.deviation[1], 1);
}

TEST(Normalize, DoesWhatTheJobSays) {
  const DataInfo bytes{.input = {3, 4, 4}, .normalization = {.scale = 1.0 / 255}};
  EXPECT_EQ(ChosenNormalization(Section({}), bytes).scale, 1.0 / 255);
  EXPECT_EQ(ChosenNormalization(Section({{"normalize", "none"}}), bytes).scale, 1);
  const Normalization told =
      ChosenNormalization(Section({{"mean", List{0.5}}, {"deviation", List{1, 2, 3}}}), bytes);
  EXPECT_THAT(told.mean, ElementsAre(0.5));
  EXPECT_THAT(told.deviation, ElementsAre(1, 2, 3));
  EXPECT_THROW(ChosenNormalization(Section({{"mean", List{1, 2}}}), bytes), UserError);
  EXPECT_THROW(ChosenNormalization(Section({{"mean", List{1}}, {"normalize", "standard"}}), bytes),
               UserError);
}

TEST(Normalize, RefusesWhatDoesNotFitF32) {
  const DataInfo numbers{.input = {2}};
  const auto chosen = [&](Table keys) {
    return ChosenNormalization(Section(std::move(keys)), numbers);
  };
  EXPECT_THROW(chosen({{"deviation", List{1.0, 1e-320}}}), UserError);
  EXPECT_THROW(chosen({{"deviation", List{1e-30}}, {"mean", List{1e20}}}), UserError);
  EXPECT_THROW(chosen({{"mean", List{1e300}}}), UserError);
  EXPECT_EQ(chosen({{"deviation", List{1e-30}}}).deviation[0], 1e-30);
}

}  // namespace yoke::normalize_test
