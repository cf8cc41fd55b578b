// Ten steps of LeNet and the MLP against the losses that PyTorch computed from the same weights and
// batches (tools/golden_trace.py).
#include <gtest/gtest.h>

#include "node/support/job.h"

namespace yoke::golden_trace_test {

using testing_support::DrawnBatch;
using testing_support::Job;

void ExpectTrace(const std::string& model, bool reference) {
  const Value golden = ReadToml("tests/node/golden_trace.toml");
  const List& losses = *golden.Find(model)->AsList();
  ASSERT_EQ(losses.size(), 10);
  Job job({.model = model, .reference = reference});
  const Batch batches[] = {DrawnBatch(8, 0), DrawnBatch(8, 1)};
  for (size_t step = 0; step < losses.size(); ++step) {
    const double expected = *losses[step].AsFloat();
    EXPECT_NEAR(job.Step(batches[step % 2]), expected, 1e-4 * expected)
        << model << " step " << step;
  }
}

TEST(GoldenTrace, Lenet) { ExpectTrace("lenet", false); }
TEST(GoldenTrace, LenetOnReferenceKernels) { ExpectTrace("lenet", true); }
TEST(GoldenTrace, Mlp) { ExpectTrace("mlp", false); }
TEST(GoldenTrace, MlpOnReferenceKernels) { ExpectTrace("mlp", true); }

}  // namespace yoke::golden_trace_test
