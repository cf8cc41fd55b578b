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

TEST(Info, NamesWhatIsMissing) {
  Value value = InfoAsValue({.input = {1}});
  value.Erase("outputs");
  EXPECT_THROW(InfoFromValue(value), UserError);
  value.Set("outputs", "many");
  EXPECT_THROW(InfoFromValue(value), UserError);
}

}  // namespace yoke::info_test
