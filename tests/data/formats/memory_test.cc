// Arrays of a program as the data of a job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/check.h"
#include "data/memory_reader.h"

namespace yoke::memory_test {

using ::testing::HasSubstr;

LoadedData FourExamples() {
  LoadedData loaded;
  loaded.info = {.input = {2}, .outputs = 2, .label_names = {"a", "b"}};
  loaded.train.size = 4;
  for (const float value : {0.F, 10.F, 2.F, 20.F, 4.F, 30.F, 6.F, 40.F})
    loaded.train.floats.push_back(value);
  for (const int32_t c : {0, 1, 0, 1}) loaded.train.classes.push_back(c);
  return loaded;
}

std::string ErrorOf(const std::function<void()>& work) {
  try {
    work();
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Memory, SplitsAndNormalizesAsFilesAre) {
  const Value section =
      Table{{"format", "memory"}, {"test_share", 0.25}, {"normalize", "standard"}};
  const DataSets sets = OpenMemory(section, FourExamples(), /*seed=*/1);
  EXPECT_EQ(sets.train->Size(), 3);
  EXPECT_EQ(sets.test->Size(), 1);
  EXPECT_EQ(sets.train->Info().normalization.mean.size(), 2U);
}

TEST(Memory, RefusesOneClass) {
  LoadedData loaded = FourExamples();
  loaded.info.outputs = 1;
  loaded.info.label_names = {"a"};
  const Value section = Table{{"format", "memory"}};
  EXPECT_THAT(ErrorOf([&] { OpenMemory(section, std::move(loaded), 1); }), HasSubstr("one class"));
}

TEST(Memory, HasNoFiles) {
  const Value section = Table{{"format", "memory"}};
  EXPECT_THAT(ErrorOf([&] { OpenData(section, 1); }), HasSubstr("arrays in a program's memory"));
}

}  // namespace yoke::memory_test
