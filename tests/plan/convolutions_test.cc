// Convolutions: each has its algorithms measured, beside the one that the job gives it.
#include "plan/convolutions.h"

#include <gtest/gtest.h>

namespace yoke::convolutions_test {

constexpr const char* kJob = R"([data]
format = "synthetic-digits"
train_size = 16
test_size = 16
[model]
partitions = 2
layer = [{ type = "convolution", outputs = 2, kernel = 5, algorithm = "lower_batch" },
         { type = "convolution", outputs = 2, kernel = 5 }, { type = "flatten" },
         { type = "linear", outputs = 10 }]
[train]
batch = 4
[node]
threads = 1
)";

TEST(Convolutions, KnowTheJobsAlgorithm) {
  const Job job = MakeResolvedJob(ParseToml(kJob, "job.toml"), {});
  const auto tuned = TuneConvolutions(job, *OpenData(job.data(), job.seed()).train);
  ASSERT_EQ(tuned.size(), 2U);
  EXPECT_EQ(tuned[0].given, "lower_batch");
  EXPECT_EQ(tuned[1].given, "auto");
  for (const TunedLayer& layer : tuned) EXPECT_EQ(layer.algorithms.size(), 4U);
}

}  // namespace yoke::convolutions_test
