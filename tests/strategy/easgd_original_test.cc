// easgd_original: its recurrence restated, and the time of its turns.
#include <gmock/gmock.h>

#include "base/check.h"
#include "comm/threads.h"
#include "strategy/support/lab.h"

namespace yoke::easgd_original_test {

using test::kCount;
using test::Lab;

/// Values and centre after each of some steps: the same in both forms, whose turns differ in time.
void ExpectItsRecurrence(const char* form) {
  constexpr int kRanks = 3, kSteps = 20;
  constexpr double kForce = 0.25;
  RunThreads({.ranks = kRanks}, [&](const Communicator& world) {
    Lab lab(world, {.strategy = "easgd_original",
                    .options = Table{{"form", form}, {"moving_rate", kForce}},
                    .gradient = test::PullToRank});
    const std::vector<float> start = lab.Values();
    std::vector<double> centre(start.begin(), start.end());
    std::vector<std::vector<double>> x(kRanks, centre);
    for (int step = 0; step < kSteps; ++step) {
      const double rate = step < kSteps / 2 ? 0.1 : 0.02;
      lab.SetRate(rate);
      lab.Step();
      for (int rank = 0; rank < kRanks; ++rank)  // one worker after the other
        for (int64_t i = 0; i < kCount; ++i) {
          if (Lab::Padding(i)) continue;
          const double force = kForce * (x[rank][i] - centre[i]);
          x[rank][i] -= rate * (x[rank][i] - rank - static_cast<double>(i) / 10) + force;
          centre[i] += force;
        }
      for (int64_t i = 0; i < kCount; ++i)
        ASSERT_NEAR(lab.Values()[i], x[world.rank()][i], 1e-6) << step;
    }
    const std::vector<float> model = lab.Model();
    for (int64_t i = 0; i < kCount; ++i) EXPECT_NEAR(model[i], centre[i], 1e-6);
    lab.strategy->Finish();
  });
}

TEST(EasgdOriginal, IsItsRecurrence) {
  for (const char* form : {"paper", "overlapped"}) {
    SCOPED_TRACE(form);
    ExpectItsRecurrence(form);
  }
}

/// Seconds of a step of all ranks, where a model is sent in 100 s.
double SecondsOfAStep(const char* form, int ranks, double gradient) {
  constexpr double kBytes = 64 * 4, kBandwidth = kBytes / 100;  // packed
  constexpr int64_t kSteps = 5;
  const ServiceTime gradients_only = [](int, const Cost& cost) {
    return cost.bytes > 0 ? 0 : cost.operations;
  };
  return Simulate({.ranks = ranks,
                   .timeout = 1e6,
                   .bytes_per_second = kBandwidth,
                   .service = gradients_only},
                  [&](const Communicator& world) {
                    Lab lab(world, {.strategy = "easgd_original",
                                    .options = Table{{"form", form}},
                                    .steps = kSteps,
                                    .gradient = test::PullToRank,
                                    .seconds_of_gradient = gradient});
                    lab.Steps();
                    lab.strategy->Finish();
                  }) /
         kSteps;
}

// The master meets one worker at a time: P - 1 times |W| down and |W| up. In the paper's form
// gradients take their turns too, in the other they are taken at once.
TEST(EasgdOriginal, TakesTheTimeOfAllTurns) {
  for (const int ranks : {2, 4, 8}) {
    const double messages = (ranks - 1) * 2 * 100.0;
    EXPECT_NEAR(SecondsOfAStep("paper", ranks, 70), ranks * 70 + messages, 0.05 * messages);
    EXPECT_NEAR(SecondsOfAStep("overlapped", ranks, 0), messages, 0.05 * messages);
    EXPECT_LT(SecondsOfAStep("overlapped", ranks, 70), messages + 2 * 70);
  }
}

/// Rank 0 does not take part; what ends the others.
std::string EndOf(double timeout) try {
  Simulate({.ranks = 3, .timeout = timeout}, [](const Communicator& world) {
    Lab lab(world, {.strategy = "easgd_original", .gradient = test::PullToRank});
    world.rank() == 0 ? world.Sleep(1e6) : lab.Step();
    lab.strategy->Finish();
  });
  return "";
} catch (const Error& error) {
  return error.what();
}

TEST(EasgdOriginal, WaitsForItsTurnAsLongAsTheOthersMayTake) {
  EXPECT_THAT(EndOf(10), testing::HasSubstr("waited 10 s for rank 0 in receive"));
}

}  // namespace yoke::easgd_original_test
