// Batches come in order whatever the threads, errors reach the consumer, and small steps are cheap.
#include "data/prefetch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "base/check.h"
#include "base/clock.h"

namespace yoke::prefetch_test {

// Example i is the number i; the one called `bad` cannot be read.
class Counting : public Reader {
 public:
  explicit Counting(int64_t bad = -1) : bad_(bad) {}
  const DataInfo& Info() const override { return info_; }
  int64_t Size() const override { return 1 << 20; }
  void Read(const ReadRequest& request, Batch& batch) const override {
    batch.size = static_cast<int64_t>(request.examples.size());
    batch.seed = request.seed;
    batch.epoch = request.epoch;
    batch.examples.assign(request.examples.begin(), request.examples.end());
    for (const int64_t example : request.examples)
      Require(example != bad_, "example {} is bad", example);
  }

 private:
  int64_t bad_;
  DataInfo info_{.input = {1}};
};

// Steps of `batch` examples each, the last may be shorter.
struct Steps {
  explicit Steps(int64_t examples, int64_t b) : all(static_cast<size_t>(examples)), batch(b) {
    std::iota(all.begin(), all.end(), 0);
  }
  int64_t Count() const { return (static_cast<int64_t>(all.size()) + batch - 1) / batch; }
  std::span<const int64_t> operator()(int64_t step) const {
    const auto begin = static_cast<size_t>(step * batch);
    return std::span(all).subspan(begin, std::min(static_cast<size_t>(batch), all.size() - begin));
  }
  std::vector<int64_t> all;
  int64_t batch;
};

class PrefetchThreads : public ::testing::TestWithParam<int> {};

TEST_P(PrefetchThreads, HandsOutEveryStepInOrder) {
  const Counting reader;
  for (const int64_t batch : {1, 7, 300}) {
    const Steps steps(1000, batch);
    Prefetch prefetch(
        reader, std::cref(steps),
        {.steps = steps.Count(), .seed = 9, .epoch = 2, .threads = GetParam(), .ahead = 2});
    for (int64_t step = 0; step < steps.Count(); ++step) {
      const Batch* read = prefetch.Next();
      ASSERT_TRUE(read);
      const auto expected = steps(step);
      ASSERT_EQ(read->examples, std::vector<int64_t>(expected.begin(), expected.end()));
      ASSERT_EQ(read->seed, 9U);
      ASSERT_EQ(read->epoch, 2);
    }
    EXPECT_EQ(prefetch.Next(), nullptr);
    EXPECT_EQ(prefetch.Next(), nullptr);
  }
}

TEST_P(PrefetchThreads, ForwardsErrors) {
  const Counting reader(50);
  const Steps steps(2000, 20);
  Prefetch prefetch(reader, std::cref(steps), {.steps = steps.Count(), .threads = GetParam()});
  EXPECT_THROW(
      {
        while (prefetch.Next()) {
        }
      },
      UserError);
}

TEST_P(PrefetchThreads, MayBeLeftEarlyOrEmpty) {
  const Counting reader;
  const Steps steps(100000, 1);
  {
    Prefetch prefetch(reader, std::cref(steps), {.steps = steps.Count(), .threads = GetParam()});
    EXPECT_TRUE(prefetch.Next());
  }
  Prefetch empty(reader, std::cref(steps), {.steps = 0, .threads = GetParam()});
  EXPECT_EQ(empty.Next(), nullptr);
}

// As Counting, and takes its time.
class Slow : public Counting {
 public:
  explicit Slow(double seconds) : seconds_(seconds) {}
  void Read(const ReadRequest& request, Batch& batch) const override {
    std::this_thread::sleep_for(WaitTime(seconds_));
    Counting::Read(request, batch);
  }

 private:
  double seconds_;
};

// Takes all steps, each for so long, and returns how many threads read in the end.
int ThreadsAfter(const Reader& reader, double step_seconds) {
  const Steps steps(6400, 320);
  Prefetch prefetch(reader, std::cref(steps), {.steps = steps.Count(), .threads = 1, .most = 3});
  for (int64_t step = 0; step < steps.Count(); ++step) {
    EXPECT_EQ(prefetch.Next()->examples[0], step * 320);
    std::this_thread::sleep_for(WaitTime(step_seconds));
  }
  return prefetch.threads();
}

TEST(Prefetch, AddsThreadsWhileItsCallerWaits) { EXPECT_EQ(ThreadsAfter(Slow(0.01), 0), 3); }

/// Of two threads in lockstep one group is late, the next in time.
TEST(Prefetch, AddsThreadsWhileItsCallerWaitsNowAndThen) {
  EXPECT_EQ(ThreadsAfter(Slow(0.02), 0.005), 3);
}

TEST(Prefetch, AddsNoneIfBatchesAreReady) { EXPECT_EQ(ThreadsAfter(Counting(), 0.002), 1); }

INSTANTIATE_TEST_SUITE_P(All, PrefetchThreads, ::testing::Values(0, 1, 3));

}  // namespace yoke::prefetch_test
