// slowmo: its recurrence restated with momentum that starts anew, and what beta = 0 is.
#include <gtest/gtest.h>

#include "comm/threads.h"
#include "strategy/support/lab.h"
#include "strategy/support/told.h"

namespace yoke::slowmo_test {

using test::kCount;
using test::Lab;

double RateOf(int step) { return step < 10 ? 0.1 : 0.02; }

TEST(SlowMo, IsItsRecurrence) {
  constexpr double kMomentum = 0.9, kBeta = 0.6, kAlpha = 0.8;
  constexpr int kRanks = 3, kPeriod = 4;
  RunThreads({.ranks = kRanks}, [&](const Communicator& world) {
    Lab lab(world,
            {.strategy = "slowmo",
             .options = Table{{"period", kPeriod}, {"slow_momentum", kBeta}, {"slow_rate", kAlpha}},
             .rule = "momentum",
             .rule_options = Table{{"momentum", kMomentum}},
             .gradient = test::PullToRank});
    const std::vector<float> start = lab.Values();
    std::vector<double> common(start.begin(), start.end()), slow(kCount);
    for (int round = 0; round < 5; ++round) {
      const int first = round * kPeriod;
      for (int step = 0; step < kPeriod; ++step) {
        lab.SetRate(RateOf(first + step));
        lab.Step();
      }
      const double last = RateOf(first + kPeriod - 1);
      for (int64_t i = 0; i < kCount; ++i) {
        if (Lab::Padding(i)) continue;
        double change = 0;
        for (int rank = 0; rank < kRanks; ++rank) {
          double x = common[i], velocity = 0;
          for (int step = 0; step < kPeriod; ++step) {
            velocity = kMomentum * velocity + (x - rank - static_cast<double>(i) / 10);
            x -= RateOf(first + step) * velocity;
          }
          change += (common[i] - x) / kRanks;
        }
        slow[i] = kBeta * slow[i] + change / last;
        common[i] -= kAlpha * last * slow[i];
      }
      test::ExpectTold(lab.Values(), common);
    }
    lab.strategy->Finish();
  });
}

TEST(SlowMo, WithoutSlowMomentumItAverages) {
  RunThreads({.ranks = 2}, [](const Communicator& world) {
    Lab slow(world, {.strategy = "slowmo",
                     .options = Table{{"period", 4}, {"slow_momentum", 0.0}},
                     .steps = 8,
                     .gradient = test::PullToRank});
    Lab local(world, {.strategy = "local_sgd",
                      .options = Table{{"period", 4}},
                      .steps = 8,
                      .gradient = test::PullToRank});
    slow.Steps();
    local.Steps();
    for (int64_t i = 0; i < kCount; ++i) EXPECT_NEAR(slow.Values()[i], local.Values()[i], 1e-5);
    slow.strategy->Finish();
    local.strategy->Finish();
  });
}

// Replicas x_i with weights w_i, of which each sends half to rank i + 1, or i + 2, and so on. What
// is late arrives with the next step, and everything before the slow one.
class PushRestated {
 public:
  static constexpr int kRanks = 3;
  static constexpr double kMomentum = 0.9, kBeta = 0.6;

  PushRestated(const std::vector<float>& start, bool late)
      : late_(late),
        x_(kRanks, {start.begin(), start.end()}),
        velocity_(kRanks, std::vector<double>(kCount)),
        common_(start.begin(), start.end()),
        slow_(kCount) {}

  void Step(bool slow, double rate) {
    for (int rank = 0; rank < kRanks; ++rank)
      for (int64_t i = 0; i < kCount; ++i) {
        if (Lab::Padding(i)) continue;
        const double gradient = x_[rank][i] / w_ - rank - static_cast<double>(i) / 10;
        velocity_[rank][i] = kMomentum * velocity_[rank][i] + gradient;
        x_[rank][i] -= rate * velocity_[rank][i];
      }
    Land();
    const int distance = 1 << (step_++ % 2);
    for (auto& x : x_)
      for (double& value : x) value /= 2;
    w_ /= 2;
    on_its_way_.resize(kRanks);
    for (int rank = 0; rank < kRanks; ++rank)
      on_its_way_[rank] = x_[(rank - distance + kRanks) % kRanks];
    if (!late_ || slow) Land();
    if (slow) TakeSlowStep(rate);
  }
  const std::vector<double>& x(int rank) const { return x_[rank]; }

 private:
  void Land() {
    if (on_its_way_.empty()) return;
    for (int rank = 0; rank < kRanks; ++rank)
      for (int64_t i = 0; i < kCount; ++i) x_[rank][i] += on_its_way_[rank][i];
    w_ *= 2;  // all send at once
    on_its_way_.clear();
  }
  void TakeSlowStep(double rate) {
    for (int64_t i = 0; i < kCount; ++i) {
      double mean = 0;
      for (const auto& x : x_) mean += x[i] / kRanks;
      slow_[i] = kBeta * slow_[i] + (common_[i] - mean) / rate;
      common_[i] -= rate * slow_[i];
      for (int rank = 0; rank < kRanks; ++rank) x_[rank][i] = common_[i], velocity_[rank][i] = 0;
    }
  }

  bool late_;
  std::vector<std::vector<double>> x_, velocity_, on_its_way_;
  std::vector<double> common_, slow_;
  double w_ = 1;
  int step_ = 0;
};

TEST(SlowMo, OverPushesIsItsRecurrence) {
  for (const bool late : {false, true})
    RunThreads({.ranks = PushRestated::kRanks}, [late](const Communicator& world) {
      constexpr int kPeriod = 5;
      Lab lab(world, {.strategy = "slowmo",
                      .options = Table{{"period", kPeriod},
                                       {"slow_momentum", PushRestated::kBeta},
                                       {"base", "sgp"},
                                       {"overlap", late}},
                      .rule = "momentum",
                      .rule_options = Table{{"momentum", PushRestated::kMomentum}},
                      .gradient = test::PullToRank});
      PushRestated restated(lab.Values(), late);
      for (int step = 1; step <= 4 * kPeriod + 2; ++step) {
        lab.SetRate(RateOf(step));
        lab.Step();
        restated.Step(step % kPeriod == 0, RateOf(step));
        test::ExpectTold(lab.Values(), restated.x(world.rank()));
      }
      lab.strategy->Finish();
    });
}

TEST(SlowMo, MeetsLessOftenOverPushes) {
  for (const char* base : {"local_sgd", "sgp"})
    RunThreads({.ranks = 2}, [base](const Communicator& world) {
      Lab lab(world, {.strategy = "slowmo",
                      .options = Table{{"base", base}},
                      .rate = 0.01,
                      .steps = 96,
                      .gradient = test::PullToRank});
      lab.Steps();
      if (world.rank() == 0) {
        EXPECT_EQ(lab.strategy->Counts().updates, base == std::string("sgp") ? 2 : 8);
      }
      lab.strategy->Finish();
    });
}

TEST(SlowMo, RefusesAnOverlapOfNothing) {
  RunThreads({.ranks = 2}, [](const Communicator& world) {
    EXPECT_THROW(Lab(world, {.strategy = "slowmo", .options = Table{{"overlap", true}}}),
                 UserError);
  });
}

}  // namespace yoke::slowmo_test
