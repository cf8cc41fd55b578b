// hogbatch and adaptive_hogbatch, by form, restated in one process in the order of the virtual
// clock: two CPU threads and a device, 20 updates of each or more, a learning rate that changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/support/events.h"
#include "base/support/near.h"
#include "comm/simulated.h"
#include "node/support/job.h"
#include "tensor/emulated.h"

namespace yoke::hogbatch_recurrence_test {

using testing_support::DrawnBatch;
using testing_support::Job;
using testing_support::JobSettings;

constexpr int kThreads = 2;
constexpr int64_t kExamples = 480, kRateExamples = 8;
constexpr double kRate = 0.05, kLaterRate = 0.01;
constexpr int64_t kCpuBatch = 2, kCpuMost = 4, kDeviceLeast = 6, kDeviceMost = 12;
/// Of a thread's update, of the very second one, and of a device's pass and its merge: no two
/// updates are made at once.
constexpr double kThreadSeconds = 1, kSecondStart = 1.3717, kPass = 1.6, kMerge = 0.0180339887;

double RateAt(int64_t example) { return example < kExamples / 2 ? kRate : kLaterRate; }

struct Form {
  bool adaptive = false, paper = false;
};
void PrintTo(const Form& form, std::ostream* out) {
  *out << (form.adaptive ? "adaptive_hogbatch" : "hogbatch") << (form.paper ? ", paper" : ", yoke");
}

/// What workers asked for, and got.
struct Deal {
  bool to_device = false;
  int64_t examples = 0;
};

/// In the default form, a device makes the coordinator look at what is left before it takes some,
/// or none.
class Dealt : public WorkSource {
 public:
  Dealt(const Batch& batch, const Communicator& world) : source_(batch, 0), world_(world) {}
  WorkRate Take(int64_t most, std::vector<int64_t>& examples) override {
    const double rate = RateAt(kExamples - source_.Left());
    source_.Take(most, examples);
    if (std::exchange(device_asks_, -1) == world_.Now())
      deals.back().examples = std::ssize(examples);
    else
      deals.push_back({.examples = std::ssize(examples)});
    return {.learning_rate = rate, .examples = kExamples};
  }
  void Read(std::span<const int64_t> examples, Batch& batch) const override {
    source_.Read(examples, batch);
  }
  int64_t Left() const override {
    deals.push_back({.to_device = true});
    device_asks_ = world_.Now();
    return source_.Left();
  }

  mutable std::vector<Deal> deals;

 private:
  BatchSource source_;
  const Communicator& world_;
  mutable double device_asks_ = -1;  // when
};

struct Outcome {
  std::vector<float> before, after;
  std::vector<Deal> deals;
  std::vector<DeviceWork> work;
};

Outcome Train(const Form& form, const Batch& batch) {
  const auto device = NewEmulatedDevice(0, {});
  JobSettings settings{
      .layers = {Table{{"type", "flatten"}}, Table{{"type", "linear"}, {"outputs", 10}}},
      .batch = kRateExamples,
      .devices = {&Cpu(), device.get()},
      .executor = form.adaptive ? "adaptive_hogbatch" : "hogbatch",
      .node = {{"form", form.paper ? "paper" : "yoke"}, {"hogbatch_device_batch", kDeviceMost}},
      .rule = "sgd"};
  if (form.adaptive)
    settings.node.insert(settings.node.end(), {{"adaptive_cpu_most", kCpuMost},
                                               {"adaptive_device_least", kDeviceLeast}});
  else
    settings.node.emplace_back("hogbatch_cpu_batch", kCpuBatch);
  const double pass_of_one = Job(settings).graph().Price(1).operations;
  int updates_of_threads = 0;
  const DeviceTime seconds = [&](int, const Cost& cost, const WorkPlace& place) {
    if (place.device != "cpu") return kPass;
    if (cost.operations < pass_of_one) return kMerge;
    return ++updates_of_threads == 2 ? kSecondStart : kThreadSeconds;
  };
  Outcome outcome;
  Simulate({.devices = seconds, .cpu_threads = kThreads}, [&](const Communicator& world) {
    settings.world = world;
    Job job(settings);
    outcome.before = job.Values();
    Dealt source(batch, world);
    EXPECT_EQ(job.RunRound(source).examples, kExamples);
    outcome.after = job.Values();
    outcome.deals = source.deals;
    outcome.work = job.executor().Work();
  });
  return outcome;
}

/// Softmax regression: the mean gradient of these examples, in double.
std::vector<double> GradientAt(const std::vector<double>& w, const Batch& batch, int64_t begin,
                               int64_t end) {
  constexpr int64_t kPixels = 28 * 28, kClasses = 10;
  std::vector<double> gradient(w.size());
  const size_t bias = kPixels * kClasses;
  for (int64_t n = begin; n < end; ++n) {
    const float* x = batch.dense.As<float>() + n * kPixels;
    std::array<double, kClasses> p = {};
    double sum = 0;
    for (int64_t c = 0; c < kClasses; ++c) {
      double z = w[bias + c];
      for (int64_t i = 0; i < kPixels; ++i) z += w[c * kPixels + i] * x[i];
      sum += p[c] = std::exp(z);
    }
    for (int64_t c = 0; c < kClasses; ++c) {
      const double error =
          (p[c] / sum - (batch.classes[n] == c ? 1 : 0)) / static_cast<double>(end - begin);
      gradient[bias + c] += error;
      for (int64_t i = 0; i < kPixels; ++i) gradient[c * kPixels + i] += error * x[i];
    }
  }
  return gradient;
}

/// W <- W - rate b / rate_examples g(W'), W' as it was when the worker began.
class Restated {
 public:
  Restated(const Form& form, const Batch& batch, const Outcome& outcome)
      : w(outcome.before.begin(), outcome.before.end()), form_(form), batch_(batch) {
    deals_ = outcome.deals;
    events_.At(0, [this] {
      device_next_ = Take(true, false);
      for (int thread = 0; thread < kThreads; ++thread) BeginThread();
      BeginDevice();
    });
    events_.Run();
    EXPECT_EQ(taken_, kExamples);
  }

  std::vector<double> w;
  std::array<int64_t, 2> updates = {};  // of the threads and of the device

 private:
  struct Piece {
    int64_t begin = 0, end = 0;
    double rate = 0;
  };

  /// Ma and Rusu, Adaptive Hogbatch; the threads ask together.
  int64_t NextSize(bool device) const {
    const int64_t size = sizes_[device];
    if (!form_.adaptive) return device ? kDeviceMost : kCpuBatch;
    if (!device && asked_ % kThreads != 0) return size;
    const int64_t own = updates[device], other = updates[!device];
    if (own < other) return std::max(size / 2, device ? kDeviceLeast : 1);
    return own > other ? std::min(size * 2, device ? kDeviceMost : kCpuMost) : size;
  }

  /// The next examples, `beside` those that it computes; empty if there are none for it.
  std::optional<Piece> Take(bool device, bool beside) {
    if (taken_ == kExamples) return {};
    const int64_t size = NextSize(device);
    int64_t examples = std::min(size, kExamples - taken_);
    if (!form_.paper) {  // a device takes less near the end
      const Deal deal = deals_.at(deal_++);
      EXPECT_EQ(deal.to_device, device);
      EXPECT_TRUE(device ? deal.examples <= examples : deal.examples == examples) << deal_;
      EXPECT_TRUE(beside || deal.examples > 0);
      examples = deal.examples;
    }
    if (examples == 0) return {};
    sizes_[device] = size;
    if (!device) ++asked_;
    Piece piece = {.begin = taken_, .end = taken_ + examples};
    const bool shares = form_.adaptive && !form_.paper && !device;
    const int64_t rate_examples =
        shares ? std::max(kRateExamples, kThreads * examples) : kRateExamples;
    piece.rate = RateAt(taken_) * std::min(1.0, double(examples) / double(rate_examples));
    taken_ = piece.end;
    return piece;
  }

  void Update(const Piece& piece, const std::vector<double>& read, bool device) {
    const std::vector<double> gradient = GradientAt(read, batch_, piece.begin, piece.end);
    for (size_t i = 0; i < w.size(); ++i) w[i] -= piece.rate * gradient[i];
    ++updates[device];
  }

  void BeginThread() {
    const std::optional<Piece> piece = Take(false, false);
    if (!piece) return;
    const double seconds = ++begun_ == 2 ? kSecondStart : kThreadSeconds;
    events_.At(events_.now() + seconds, [this, piece, read = w] {
      Update(*piece, read, false);
      BeginThread();
    });
  }

  void BeginDevice() {
    if (!device_next_) device_next_ = Take(true, false);
    if (!device_next_) return;
    const Piece piece = *device_next_;
    device_next_.reset();
    if (!form_.paper) device_next_ = Take(true, true);
    events_.At(events_.now() + kPass + kMerge, [this, piece, read = w] {
      Update(piece, read, true);
      BeginDevice();
    });
  }

  const Form form_;
  const Batch& batch_;
  std::vector<Deal> deals_;
  size_t deal_ = 0;
  int64_t taken_ = 0, asked_ = 0, begun_ = 0;
  std::array<int64_t, 2> sizes_ = {1, kDeviceMost};
  std::optional<Piece> device_next_;
  test::Events events_;
};

class HogbatchRecurrence : public testing::TestWithParam<Form> {};

TEST_P(HogbatchRecurrence, IsItsEquationInTheOrderOfTheClock) {
  const Batch batch = DrawnBatch(kExamples, 0);
  const Outcome outcome = Train(GetParam(), batch);
  const Restated restated(GetParam(), batch, outcome);
  test::ExpectNearLargest(outcome.after, std::vector<float>(restated.w.begin(), restated.w.end()),
                          1e-6, "weight");
  EXPECT_EQ(outcome.work[0].updates, restated.updates[0]);
  EXPECT_EQ(outcome.work[1].updates, restated.updates[1]);
  EXPECT_GE(outcome.work[0].updates, 20 * kThreads);
  EXPECT_GE(outcome.work[1].updates, 20);
}

INSTANTIATE_TEST_SUITE_P(Forms, HogbatchRecurrence,
                         testing::Values(Form{false, false}, Form{false, true}, Form{true, false},
                                         Form{true, true}));

}  // namespace yoke::hogbatch_recurrence_test
