// synthetic-xmc through the list of formats.
#include <gtest/gtest.h>

#include "base/registry.h"
#include "data/memory_reader.h"

namespace yoke::synthetic_xmc_test {

LoadedData Load(const Table& table) {
  const FormatEntry& format = FindEntry(formats(), "format", "synthetic-xmc");
  std::vector<OptionSpec> specs = format.options;
  for (const OptionSpec& spec : common_data_options())
    if (!spec.required) specs.push_back(spec);
  return format.load(Options("data", table, specs), {});
}

TEST(SyntheticXmc, SizesAndInfo) {
  const LoadedData data =
      Load({{"train_size", 30}, {"test_size", 7}, {"labels", 40}, {"features", 99}});
  EXPECT_EQ(data.info.input, (Shape{99}));
  EXPECT_EQ(data.info.outputs, 40);
  EXPECT_TRUE(data.info.sparse && data.info.multi_label);
  EXPECT_EQ(data.train.sparse.rows(), 30);
  EXPECT_EQ(data.test.labels.rows(), 7);
}

TEST(SyntheticXmc, Defaults) {
  const LoadedData data = Load({{"test_size", 0}});
  EXPECT_EQ(data.info.input, (Shape{10000}));
  EXPECT_EQ(data.info.outputs, 1000);
  EXPECT_EQ(data.train.size, 10000);
  EXPECT_EQ(data.test.size, 0);
}

TEST(SyntheticXmc, RefusesBadNumbers) {
  for (const char* key :
       {"labels", "train_size", "test_size", "nonzeros", "labels_per_example", "seed"})
    EXPECT_THROW(Load({{key, -1}}), UserError) << key;
}

}  // namespace yoke::synthetic_xmc_test
