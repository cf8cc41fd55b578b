// Hogbatch: CPU threads and an emulated device on one shared model: every example is handed out and
// counted once, updates are merged, batch sizes follow the rule.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "base/random.h"
#include "node/adaptive_batch_sizes.h"
#include "node/sub_batch.h"
#include "node/support/breaking_device.h"
#include "node/support/job.h"
#include "tensor/emulated.h"

namespace yoke::hogbatch_test {

using testing_support::BreakingDevice;
using testing_support::DrawnBatch;
using testing_support::DrawnSparseBatch;
using testing_support::Job;
using testing_support::JobSettings;
using testing_support::PartOfStep;
using testing_support::SameExamples;

class HogbatchTest : public testing::TestWithParam<std::string> {
 protected:
  JobSettings Settings(int threads = 2) const {
    return {.devices = {&Cpu(), device_.get()},
            .executor = GetParam(),
            .node = {{"hogbatch_device_batch", 12}},
            .threads = threads,
            .widths = {12}};
  }
  std::unique_ptr<Device> device_ = NewEmulatedDevice(0, {});
};

TEST_P(HogbatchTest, HandsOutAndCountsEveryExampleOnce) {
  Job job(Settings());
  int64_t examples = 0;
  for (const int64_t size : {200, 37, 1, 500}) {
    EXPECT_EQ(job.Run(DrawnBatch(size, 0)).examples, size);
    examples += size;
  }
  const std::vector<DeviceWork> work = job.executor().Work();
  ASSERT_EQ(work.size(), 2U);
  EXPECT_EQ(work[0].name, "cpu");
  EXPECT_EQ(work[1].name, "emulated:0");
  EXPECT_EQ(work[0].examples + work[1].examples, examples);
  EXPECT_EQ(work[0].updates + work[1].updates, job.state().steps);
  for (const DeviceWork& device : work) {
    EXPECT_GT(device.examples, 0) << device.name;
    EXPECT_GT(device.busy, 0) << device.name;
    EXPECT_LE(device.busy, 1) << device.name;
  }
}

TEST_P(HogbatchTest, LearnsByEveryRuleFromDenseAndSparseInput) {
  for (const char* rule : {"sgd", "momentum", "nesterov", "adam", "adamw", "yellowfin"})
    for (const bool sparse : {false, true}) {
      JobSettings settings = Settings();
      settings.rule = rule;
      settings.sparse = sparse;
      settings.learning_rate = settings.rule.starts_with("adam") ? 0.005 : sparse ? 0.2 : 0.05;
      if (settings.rule == "yellowfin") settings.learning_rate = 1;  // of the rate that it finds
      settings.batch = 48;                                           // for which the rate is meant
      Job job(settings);
      const Batch batch = sparse ? DrawnSparseBatch(24, 0) : DrawnBatch(24, 0);
      const double first = job.Step(batch);
      for (int step = 0; step < 120; ++step) job.Step(batch);
      EXPECT_LT(job.Step(batch), 0.9 * first) << rule << (sparse ? " sparse" : " dense");
    }
}

TEST_P(HogbatchTest, NamesTheLayerOfANanAndStops) {
  Job job(Settings());
  Batch batch = DrawnBatch(100, 0);
  std::fill_n(batch.dense.As<float>(), batch.dense.Count(),
              std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(std::isnan(job.Step(batch)));
  EXPECT_EQ(job.executor().FirstNonFinite(), "linear1");
  EXPECT_EQ(job.state().steps, 0);
}

TEST_P(HogbatchTest, GoesOnWithoutADeviceThatFails) {
  BreakingDevice device(4);
  JobSettings settings = Settings();
  settings.devices = {&Cpu(), &device};
  Job job(settings);
  for (int step = 0; step < 4; ++step) EXPECT_EQ(job.Run(DrawnBatch(100, 0)).examples, 100) << step;
  const std::vector<DeviceWork> work = job.executor().Work();
  EXPECT_EQ(work[0].examples + work[1].examples, 400);
  EXPECT_EQ(work[0].updates + work[1].updates, job.state().steps);
}

TEST_P(HogbatchTest, GoesOnWithoutADeviceThatStalls) {
  BreakingDevice device(2, BreakingDevice::How::kStalls);
  JobSettings settings = Settings();
  settings.devices = {&Cpu(), &device};
  settings.device_timeout = 0.3;
  Job job(settings);
  for (int step = 0; step < 4; ++step) EXPECT_EQ(job.Run(DrawnBatch(100, 0)).examples, 100) << step;
  const std::vector<DeviceWork> work = job.executor().Work();
  EXPECT_EQ(work[0].examples + work[1].examples, 400);
  EXPECT_EQ(work[0].updates + work[1].updates, job.state().steps);
}

TEST(HogbatchOnOneDevice, EndsWithWhatTheDeviceThrew) {
  BreakingDevice device(3);
  Job job({.devices = {&device}, .executor = "hogbatch", .node = {{"hogbatch_device_batch", 12}}});
  EXPECT_THROW(for (int step = 0; step < 9; ++step) job.Run(DrawnBatch(100, 0)),
               std::runtime_error);
  EXPECT_THROW(job.Run(DrawnBatch(100, 0)), Error);  // nobody is left
}

/// The device that goes on takes what the other has measured with, or had in hand.
TEST(HogbatchOnDevices, GoOnWithoutOneThatFailsAsItMeasures) {
  for (int waits = 3; waits < 12; ++waits) {
    BreakingDevice device(waits);
    const auto other = NewEmulatedDevice(1, {});
    for (const char* form : {"paper", "yoke"}) {
      Job job({.devices = {&device, other.get()},
               .executor = "adaptive_hogbatch",
               .node = {{"form", form}},
               .widths = {12}});
      for (int round = 0; round < 3; ++round)
        EXPECT_EQ(job.Run(DrawnBatch(100, round)).examples, 100) << form << waits;
      EXPECT_TRUE(job.executor().State().Find("batches")->Find("emulated:1")->Find("least"));
    }
  }
}

/// What goes wrong, and in which class.
enum class Fault : uint8_t { kRead, kTake, kDone, kDeviceThrows, kDeviceStalls };

/// Throws from the n-th call of its kind on.
class BrokenSource : public BatchSource {
 public:
  BrokenSource(const Batch& batch, Fault kind, int calls)
      : BatchSource(batch, 0.02), kind_(kind), left_(calls) {}
  ~BrokenSource() override {
    const int reads = reads_;
    if (left_ <= 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    EXPECT_EQ(reads_, reads) << "it is still read";
  }

  WorkRate Take(int64_t most, std::vector<int64_t>& examples) override {
    Called(Fault::kTake);
    return BatchSource::Take(most, examples);
  }
  void Read(std::span<const int64_t> examples, Batch& batch) const override {
    std::this_thread::sleep_for(std::chrono::microseconds(300));
    Called(Fault::kRead);
    BatchSource::Read(examples, batch);
    ++reads_;
  }
  void Done(double /*loss*/, int64_t examples) override {
    done_ += examples;
    Called(Fault::kDone);
  }
  int64_t done() const { return done_; }

 private:
  void Called(Fault kind) const {
    if (kind == kind_ && --left_ <= 0) throw std::runtime_error("the disk is out");
  }

  Fault kind_;
  mutable std::atomic<int> left_;
  mutable std::atomic<int> reads_ = 0;
  int64_t done_ = 0;
};

/// By seed: a fault at a random moment of a round, or of a device's life.
class HogbatchFaults : public testing::TestWithParam<int> {
 protected:
  static constexpr unsigned kHangs = 60;  // seconds
  HogbatchFaults() { alarm(kHangs); }
  ~HogbatchFaults() override { alarm(0); }
};

TEST_P(HogbatchFaults, EndInTheirReasonOrInCountsThatBalance) {
  constexpr int kRounds = 6, kExamples = 200;
  const auto fault = static_cast<Fault>(GetParam() % 5);
  const bool of_source = fault < Fault::kDeviceThrows;
  Random random{1, 97, static_cast<uint64_t>(GetParam())};
  const auto drawn = [&random](int least, int most) {
    return least + static_cast<int>(random.Uniform() * (most - least + 1));
  };
  constexpr int kNever = 1 << 30;
  const int broken = of_source ? drawn(0, kRounds - 1) : -1, calls = drawn(1, 9);
  BreakingDevice device(of_source ? kNever : drawn(3, 16), fault == Fault::kDeviceStalls
                                                               ? BreakingDevice::How::kStalls
                                                               : BreakingDevice::How::kThrows);
  const bool adaptive = drawn(0, 1) != 0;
  JobSettings settings{.devices = {&Cpu(), &device},
                       .device_timeout = 0.1,
                       .executor = adaptive ? "adaptive_hogbatch" : "hogbatch",
                       .node = {{"hogbatch_device_batch", 12}},
                       .threads = 2,
                       .widths = {12}};
  if (adaptive) settings.node.emplace_back("adaptive_cpu_most", 4);  // so a round has enough calls
  Job job(settings);
  int64_t examples = 0, rounds = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Batch batch = DrawnBatch(kExamples, round);
    BrokenSource source(batch, fault, round == broken ? calls : kNever);
    try {
      EXPECT_EQ(job.RunRound(source).examples, kExamples);
      EXPECT_EQ(source.done(), kExamples);
      EXPECT_NE(round, broken);
      ++rounds;
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(round, broken);
      EXPECT_STREQ(error.what(), "the disk is out");
    }
    examples += source.done();
    if (round == broken && fault != Fault::kRead) {  // its world is lost: the workers have ended
      EXPECT_THROW(job.Run(batch), Error);
      return;
    }
  }
  EXPECT_EQ(rounds, of_source ? kRounds - 1 : kRounds);
  const std::vector<DeviceWork> work = job.executor().Work();
  EXPECT_EQ(work[0].updates + work[1].updates, job.state().steps);
  EXPECT_EQ(work[0].examples + work[1].examples, examples);
}

INSTANTIATE_TEST_SUITE_P(Seeds, HogbatchFaults, testing::Range(0, 20));

TEST_P(HogbatchTest, KeepsCountsAndSizesInACheckpoint) {
  Job job(Settings()), again(Settings());
  for (uint64_t step = 0; step < 4; ++step) job.Step(DrawnBatch(120, step));
  again.executor().Restore(job.executor().State());
  EXPECT_EQ(again.executor().State(), job.executor().State());
  again.executor().Restore(Value(Table{}));  // of another executor
}

INSTANTIATE_TEST_SUITE_P(All, HogbatchTest, testing::Values("hogbatch", "adaptive_hogbatch"));

/// Two threads and a device in real time. A small rate hardly changes the gradient: each example
/// adds the same, unless it is lost.
TEST(HogbatchMerge, LosesNothingUnderLocks) {
  const auto device = NewEmulatedDevice(0, {});
  const Batch batch = SameExamples(4000);
  const JobSettings whole{
      .batch = batch.size, .learning_rate = 1e-4, .rule = "sgd", .widths = {64}};
  for (const char* merge : {"locked", "add"}) {
    JobSettings settings = whole;
    settings.devices = {&Cpu(), device.get()};
    settings.executor = "hogbatch";
    settings.node = {{"hogbatch_cpu_batch", 50}, {"hogbatch_device_batch", 100}, {"merge", merge}};
    settings.threads = 2;
    Job job(settings);
    const std::vector<float> before = job.Values();
    job.Run(batch);
    std::vector<float> change = job.Values();
    std::ranges::transform(change, before, change.begin(), std::minus<>());
    const double kept = PartOfStep(change, whole, batch);
    RecordProperty(merge, std::to_string(kept));
    EXPECT_GT(kept, merge == std::string("locked") ? 0.98 : 0.5) << merge;
    EXPECT_LT(kept, 1.02) << merge;
  }
}

/// A device alone takes its batches one after the other, so `add` and `overwrite` are steps of
/// single on these.
TEST(HogbatchOnOneDevice, IsSequential) {
  const auto device = NewEmulatedDevice(0, {});
  for (const char* merge : {"add", "locked", "overwrite"})
    for (const char* rule : {"sgd", "adam"})
      for (const double clip : {0.0, 0.1})
        for (const bool sparse : {false, true}) {
          JobSettings plain{.batch = 4, .rule = rule, .clip_norm = clip, .widths = {12}};
          plain.sparse = sparse;
          JobSettings settings = plain;  // `batch` is what the rate is meant for
          settings.devices = {device.get()};
          settings.executor = "hogbatch";
          settings.node = {{"hogbatch_device_batch", 4}, {"merge", merge}};
          Job hogbatch(settings), single(plain);
          const Batch batch = sparse ? DrawnSparseBatch(12, 0) : DrawnBatch(12, 0);
          hogbatch.Step(batch);
          for (const int64_t begin : {0, 4, 8}) {
            Batch small;
            TakeSubBatch(batch, begin, begin + 4, small);
            single.Step(small);
          }
          EXPECT_EQ(hogbatch.Values(), single.Values())
              << merge << " " << rule << " " << clip << (sparse ? " sparse" : " dense");
        }
}

TEST(BatchSizes, FollowTheRuleOfThePaper) {
  BatchSizes sizes({.limits = {{.least = 1, .most = 4, .cpu = true}, {.least = 16, .most = 64}},
                    .adaptive = true,
                    .alpha = 2,
                    .beta = 0.5});
  EXPECT_EQ(sizes.all(), (std::vector<int64_t>{1, 64}));  // where they start
  sizes.Updated(1, 1);
  EXPECT_EQ(sizes.Ask(1), 64);  // ahead, but at its most
  EXPECT_EQ(sizes.Ask(0), 1);   // behind, but at its least
  for (int i = 0; i < 3; ++i) sizes.Updated(0, 1);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(sizes.Next(0), 2);  // nothing is taken
  EXPECT_EQ(sizes.all(), (std::vector<int64_t>{1, 64}));
  EXPECT_EQ(sizes.Ask(0), 2);   // 1.5 updates, ahead
  EXPECT_EQ(sizes.Ask(1), 32);  // 1, behind
  EXPECT_EQ(sizes.Ask(1), 16);
  EXPECT_EQ(sizes.Ask(1), 16);
  sizes.Updated(1, 1);
  sizes.Updated(0, 1);
  EXPECT_EQ(sizes.Ask(0), 2);  // level
  EXPECT_EQ(sizes.Ask(1), 16);
}

/// All threads of a round have one size, and the next round's is at most twice or half of it.
TEST(BatchSizes, ChangeOnceARoundOfTheThreads) {
  constexpr int kThreads = 16;
  BatchSizes sizes({.limits = {{.least = 1, .most = 64, .cpu = true, .workers = kThreads},
                               {.least = 16, .most = 64}},
                    .adaptive = true});
  const auto round = [&] {
    const int64_t size = sizes.Ask(0);
    for (int thread = 1; thread < kThreads; ++thread) EXPECT_EQ(sizes.Ask(0), size) << thread;
    return size;
  };
  sizes.Updated(0, kThreads);
  for (const int64_t size : {2, 4, 8, 16, 32, 64, 64}) EXPECT_EQ(round(), size);
  sizes.Updated(1, 2 * kThreads);
  for (const int64_t size : {32, 16, 8, 4, 2, 1, 1}) EXPECT_EQ(round(), size);
  sizes.Ask(0);  // a round that has begun goes on after a checkpoint
  BatchSizes restored({.limits = {{.least = 1, .most = 64, .cpu = true, .workers = kThreads},
                                  {.least = 16, .most = 64}},
                       .adaptive = true});
  for (const size_t device : {0, 1}) restored.Restore(device, sizes.State(device));
  restored.Updated(0, 3 * kThreads);
  for (int thread = 1; thread < kThreads; ++thread) EXPECT_EQ(restored.Ask(0), 1) << thread;
  EXPECT_EQ(restored.Ask(0), 2);
}

TEST(BatchSizes, GrowByASmallFactorToo) {
  BatchSizes sizes({.limits = {{.least = 1, .most = 4, .cpu = true}, {.least = 1, .most = 9}},
                    .adaptive = true,
                    .alpha = 1.5});
  for (int i = 0; i < 3; ++i) sizes.Updated(0, 1);
  EXPECT_EQ(sizes.Ask(0), 2);
  EXPECT_EQ(sizes.Ask(0), 3);
  EXPECT_EQ(sizes.Ask(0), 4);
  EXPECT_EQ(sizes.Ask(0), 4);
}

TEST(BatchSizes, StayWhereTheyAreFixed) {
  BatchSizes sizes({.limits = {{.least = 3, .most = 3, .cpu = true}, {.least = 50, .most = 50}}});
  for (int i = 0; i < 5; ++i) sizes.Updated(0, 1);
  EXPECT_EQ(sizes.Ask(0), 3);
  EXPECT_EQ(sizes.Ask(1), 50);
  EXPECT_FALSE(sizes.State(0).Find("asked"));  // requests matter only to sizes that move
}

}  // namespace yoke::hogbatch_test
