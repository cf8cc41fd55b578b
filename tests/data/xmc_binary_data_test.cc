// delicious and citeulike-t: what xmc-binary keeps of them is what their text says.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/clock.h"
#include "data/support/archives.h"
#include "data/support/xmc_files.h"
#include "data/writers.h"

namespace yoke::testing_support::xmc_binary_data_test {

class RealXmc : public ::testing::TestWithParam<std::string> {};

TEST_P(RealXmc, TextAndBinaryAreTheSameData) {
  const char* root = std::getenv("YOKE_DATA");
  if (!root) GTEST_SKIP() << "YOKE_DATA names no folder of real data (shared/data)";
  const TestFolder folder;
  const std::string binary = folder.path() + "/b", text = folder.path() + "/t";
  const std::string& name = GetParam();
  LoadedData data =
      LoadDisk("xmc", {std::string(root) + "/" + name + "/" + name + "_train.txt.gz"});
  WriteXmcBinary(data.info, data.train, binary);
  const double start = Now();
  const LoadedData mapped = LoadDisk("xmc-binary", {binary});
  std::printf("%s: %.1f ms\n", name.c_str(), 1000 * (Now() - start));
  EXPECT_EQ(mapped.info.input, data.info.input);
  EXPECT_EQ(mapped.info.outputs, data.info.outputs);
  ExpectSameSet(mapped.train, data.train);
  WriteXmc(MemoryReader(data.info, std::move(data.train)), text);
  ExpectSameSet(LoadDisk("xmc", {text}).train, mapped.train);
}

INSTANTIATE_TEST_SUITE_P(Sets, RealXmc, ::testing::Values("delicious", "citeulike-t"));

}  // namespace yoke::testing_support::xmc_binary_data_test
