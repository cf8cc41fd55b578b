// The real data sets behind YOKE_DATA: their counts are those of its README.md, and loading takes
// seconds.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "base/clock.h"
#include "data/reader.h"

namespace yoke::formats_data_test {

List In(const std::string& folder, const std::vector<std::string>& names) {
  List paths;
  for (const std::string& name : names) paths.push_back(folder + "/" + name);
  return paths;
}

// What a data set is expected to be; `section` without paths.
struct RealSet {
  const char* folder;
  Table section;
  std::vector<std::string> train, test;
  int64_t train_size, test_size;
  Shape input;
  int64_t outputs;
};

// Google Test prints parameters; bytes tell nobody anything.
void PrintTo(const RealSet& set, std::ostream* out) { *out << set.folder; }

class RealData : public ::testing::TestWithParam<RealSet> {};

TEST_P(RealData, HasItsPublishedCounts) {
  const char* root = std::getenv("YOKE_DATA");
  if (!root) GTEST_SKIP() << "YOKE_DATA names no folder of real data (shared/data)";
  const RealSet& set = GetParam();
  const std::string folder = std::string(root) + "/" + set.folder;
  Value section = set.section;
  section.Set("train", In(folder, set.train));
  if (!set.test.empty()) section.Set("test", In(folder, set.test));
  const double start = Now();
  const DataSets data = OpenData(section, 1);
  const double seconds = Now() - start;
  RecordProperty("seconds", std::to_string(seconds));
  std::printf("%s: %.2f s\n", set.folder, seconds);
  EXPECT_EQ(data.train->Size(), set.train_size);
  ASSERT_TRUE(data.test);
  EXPECT_EQ(data.test->Size(), set.test_size);
  EXPECT_EQ(data.train->Info().input, set.input);
  EXPECT_EQ(data.test->Info().input, set.input);
  EXPECT_EQ(data.train->Info().outputs, set.outputs);
  EXPECT_LT(seconds, 60);
}

INSTANTIATE_TEST_SUITE_P(
    Sets, RealData,
    ::testing::Values(
        RealSet{"fashion-mnist",
                {{"format", "idx"}},
                {"train-labels-idx1-ubyte.gz", "train-images-idx3-ubyte.gz"},
                {"t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"},
                60000,
                10000,
                {1, 28, 28},
                10},
        RealSet{"cifar10",
                {{"format", "cifar"}},
                {"data_batch_1.bin.xz", "data_batch_2.bin.xz", "data_batch_3.bin.xz",
                 "data_batch_4.bin.xz", "data_batch_5.bin.xz"},
                {"test_batch_first1000.bin.xz"},
                50000,
                1000,
                {3, 32, 32},
                10},
        RealSet{"w8a", {{"format", "libsvm"}}, {"w8a.gz"}, {"w8a.t.gz"}, 49749, 14951, {300}, 2},
        RealSet{"delicious",
                {{"format", "xmc"}},
                {"delicious_train.txt.gz"},
                {"delicious_test.txt.gz"},
                12920,
                3185,
                {500},
                983},
        RealSet{"covtype-20k",
                {{"format", "csv"}, {"test_share", 0.2}, {"normalize", "standard"}},
                {"covtype.20k.data.xz"},
                {},
                16000,
                4000,
                {54},
                7},
        RealSet{"kdd99",
                {{"format", "libsvm"}},
                {"kdd99_train.svm.gz"},
                {"kdd99_test.svm.gz"},
                494021,
                311029,
                {118},
                2},
        RealSet{"rcv1-binary",
                {{"format", "libsvm"}},
                {"rcv1_binary_train.svm.xz"},
                {"rcv1_binary_test.svm.xz"},
                10580,
                9721,
                {47236},
                2},
        RealSet{"sector",
                {{"format", "libsvm"}},
                {"sector.scale.bz2"},
                {"sector.t.scale.bz2"},
                6412,
                3207,
                {55197},
                105},
        RealSet{"citeulike-t",
                {{"format", "xmc"}},
                {"citeulike-t_train.txt.gz"},
                {"citeulike-t_test.txt.gz"},
                20780,
                5195,
                {20000},
                52946}));

}  // namespace yoke::formats_data_test
