// What is known of a data set survives a checkpoint.
#include <gtest/gtest.h>

#include "base/check.h"
#include "data/reader.h"

namespace yoke::info_test {

TEST(Info, SurvivesAsAValue) {
  const DataInfo info{.input = {3, 32, 32},
                      .sparse = true,
                      .multi_label = true,
                      .outputs = 7,
                      .label_names = {"-1", "cat"},
                      .columns = {"height", "age"},
                      .label_column = "kind",
                      .labelled = false,
                      .first_index = 1,
                      .normalization = {.scale = 1.0 / 255, .mean = {0.5, 1}, .deviation = {2}}};
  const Value value = InfoAsValue(info);
  const DataInfo back = InfoFromValue(value);
  EXPECT_EQ(InfoAsValue(back), value);
  EXPECT_EQ(back.input, info.input);
  EXPECT_EQ(back.label_names, info.label_names);
  EXPECT_EQ(back.columns, info.columns);
  EXPECT_EQ(back.label_column, "kind");
  EXPECT_EQ(back.normalization.mean, info.normalization.mean);
  EXPECT_EQ(back.normalization.scale, info.normalization.scale);
}

TEST(Info, KeepsHowATableIsRead) {
  const DataInfo info{
      .input = {4},
      .regression = true,
      .outputs = 1,
      .label_names = {"price"},
      .columns = {"city", "size"},
      .label_column = "price",
      .encodings = {{.categories = {"Lima", "Oslo"}}, {.fill = 0.25, .indicator = true}},
      .target_mean = {3},
      .target_deviation = {0.5}};
  const DataInfo back = InfoFromValue(InfoAsValue(info));
  EXPECT_EQ(InfoAsValue(back), InfoAsValue(info));
  EXPECT_TRUE(back.regression);
  EXPECT_EQ(back.encodings[0].categories, info.encodings[0].categories);
  EXPECT_EQ(back.encodings[1].fill, 0.25);
  EXPECT_TRUE(back.encodings[1].indicator);
  EXPECT_EQ(back.target_mean, info.target_mean);
  EXPECT_EQ(back.target_deviation, info.target_deviation);
}

TEST(Info, NamesWhatIsMissing) {
  Value value = InfoAsValue({.input = {1}});
  value.Erase("outputs");
  EXPECT_THROW(InfoFromValue(value), UserError);
  value.Set("outputs", "many");
  EXPECT_THROW(InfoFromValue(value), UserError);
}

}  // namespace yoke::info_test
