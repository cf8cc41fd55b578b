// Parquet: what is said where it cannot be read. tests/cli/parquet_test.py reads files of pyarrow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "data/parquet.h"
#include "data/support/memory_files.h"

namespace yoke::testing_support::parquet_test {

using ::testing::HasSubstr;

std::string ErrorOf(const std::string& path) {
  try {
    OpenParquet(path, ',');
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

class ParquetTest : public ::testing::Test {
 protected:
  ParquetTest() {
    setenv("YOKE_PARQUET_LIBRARY", "/none/arrow.so", 1);
    std::ofstream(path_) << "PAR1";
  }
  ~ParquetTest() override {
    unsetenv("YOKE_PARQUET_LIBRARY");
    std::filesystem::remove(path_);
  }

  std::string path_ = ::testing::TempDir() + "yoke-test.parquet";
};

TEST_F(ParquetTest, SaysWhatReadsIt) {
  EXPECT_THAT(ErrorOf(path_), HasSubstr("yoke-test.parquet: Parquet files need Apache Arrow"));
  EXPECT_THAT(ErrorOf(path_), HasSubstr("run `tools/setup python` and build yoke again"));
  EXPECT_THAT(ErrorOf("/none/x.parquet"), HasSubstr("/none/x.parquet: there is no such file"));
}

TEST_F(ParquetTest, IsKnownByItsEndInATableOfCsv) {
  EXPECT_THAT(LoadError({.format = "csv", .files = {.train = {path_}}}),
              HasSubstr("Parquet files need Apache Arrow"));
  EXPECT_THAT(LoadError({.format = "parquet", .files = {.train = {path_}}}),
              HasSubstr("Parquet files need Apache Arrow"));
}

TEST_F(ParquetTest, ReadsFilesOfCsvByTheirEnd) {
  EXPECT_EQ(LoadError({.format = "parquet",
                       .content = {{"t.csv", "x,kind\n1,a\n2,b\n"}},
                       .files = {.train = {"t.csv"}}}),
            "");
}

}  // namespace yoke::testing_support::parquet_test
