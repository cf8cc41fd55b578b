// The momentum of weights whose gradient stays 0 sinks to denormals and stays there, unless they
// are flushed: no executor may leave one.
#include "base/thread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "comm/threads.h"
#include "node/support/job.h"
#include "tensor/devices.h"
#include "tensor/support/arrays.h"

namespace yoke::node_denormals_test {

using testing_support::DrawnBatch;
using testing_support::Job;
using testing_support::JobSettings;

int64_t Denormals(const std::vector<float>& numbers) {
  return std::ranges::count_if(numbers, [](float x) {  // by its bits: a comparison would flush it
    const uint32_t bits = std::bit_cast<uint32_t>(x) & 0x7FFFFFFFU;
    return bits > 0 && bits < 0x00800000U;
  });
}

/// Denormals in values and momentum after a step on whole images and `steps` on their right halves.
int64_t DenormalsAfter(int steps, const JobSettings& settings) {
  Job job(settings);
  Batch batch = DrawnBatch(settings.batch, 0);
  job.Step(batch);
  for (int64_t i = 0; i < batch.dense.Count(); ++i)
    if (i % 28 < 14) batch.dense.As<float>()[i] = 0;
  for (int step = 0; step < steps; ++step) job.Step(batch);
  int64_t count = Denormals(job.Values());
  for (int i = 0; i < static_cast<int>(job.state().names().size()); ++i)
    count += Denormals(ValuesOf(job.state().array(i)));
  return count;
}

constexpr int kSteps = 1100;  // 0.9^1100 is 1e-50

TEST(Denormals, AppearWhereNobodyFlushesThem) {
  ASSERT_FALSE(FlushesDenormals());
  EXPECT_GT(DenormalsAfter(kSteps, {.batch = 2, .widths = {6}}), 0);
}

/// On the caller's thread, as the only rank of a world.
void ExpectNone(const JobSettings& settings, const std::string& what) {
  RunThreads({.ranks = 1}, [&](const Communicator& /*world*/) {
    EXPECT_EQ(DenormalsAfter(kSteps, settings), 0) << what;
  });
}

TEST(Denormals, AppearInNoExecutor) {
  const Devices devices({"cpu", "emulated:0"}, "devices");
  for (const char* executor : {"single", "hogwild", "split", "hogbatch", "adaptive_hogbatch"}) {
    JobSettings settings = {.batch = 4, .executor = executor, .threads = 2, .widths = {6}};
    const bool several = settings.executor != "single" && settings.executor != "hogwild";
    if (several) settings.devices = devices.all();
    ExpectNone(settings, executor);
  }
}

TEST(Denormals, AppearInNoRule) {
  for (const char* rule : {"momentum", "nesterov", "adam", "adamw"})
    ExpectNone({.batch = 2, .rule = rule, .widths = {6}}, rule);
}

}  // namespace yoke::node_denormals_test
