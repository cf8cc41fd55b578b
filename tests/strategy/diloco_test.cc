// diloco: its recurrence restated with an inner rule of momentum that is kept, and its period.
#include <gtest/gtest.h>

#include "comm/threads.h"
#include "strategy/support/lab.h"
#include "strategy/support/small_part.h"
#include "strategy/support/told.h"

namespace yoke::diloco_test {

using test::kCount;
using test::Lab;

/// Of 20 steps or more.
double RateOf(int step) { return step < 10 ? 0.05 : 0.01; }

TEST(DiLoCo, IsItsRecurrence) {
  constexpr double kMomentum = 0.5, kOuterRate = 0.6, kOuterMomentum = 0.8;
  constexpr int kRanks = 3, kPeriod = 4;
  RunThreads({.ranks = kRanks}, [&](const Communicator& world) {
    Lab lab(world, {.strategy = "diloco",
                    .options = Table{{"period", kPeriod},
                                     {"outer_rate", kOuterRate},
                                     {"outer_momentum", kOuterMomentum}},
                    .rule = "momentum",
                    .rule_options = Table{{"momentum", kMomentum}},
                    .gradient = test::PullToRank});
    const std::vector<float> start = lab.Values();
    std::vector<double> theta(start.begin(), start.end()), v(kCount);
    std::vector<std::vector<double>> velocity(kRanks, std::vector<double>(kCount));
    for (int round = 0; round < 5; ++round) {
      const int first = round * kPeriod;
      for (int step = 0; step < kPeriod; ++step) {
        lab.SetRate(RateOf(first + step));
        lab.Step();
      }
      for (int64_t i = 0; i < kCount; ++i) {
        if (Lab::Padding(i)) continue;
        double delta = 0;
        for (int rank = 0; rank < kRanks; ++rank) {
          double x = theta[i];
          for (int step = 0; step < kPeriod; ++step) {
            double& u = velocity[rank][i];
            u = kMomentum * u + (x - rank - static_cast<double>(i) / 10);
            x -= RateOf(first + step) * u;
          }
          delta += (theta[i] - x) / kRanks;
        }
        v[i] = kOuterMomentum * v[i] + delta;
        theta[i] -= kOuterRate * (delta + kOuterMomentum * v[i]);
      }
      test::ExpectTold(lab.Values(), theta);
    }
    lab.strategy->Finish();
  });
}

TEST(DiLoCo, MeetsFourTimesAnEpochThatIsShort) {
  RunThreads({.ranks = 2}, [](const Communicator& world) {
    Lab lab(world, {.strategy = "diloco",
                    .rate = 0.01,
                    .steps = 80,
                    .steps_per_epoch = 80,
                    .gradient = test::PullToRank});
    lab.Steps();
    if (world.rank() == 0) {
      EXPECT_EQ(lab.strategy->Counts().updates, 4);
    }
    lab.strategy->Finish();
  });
}

TEST(DiLoCo, ModelIsTheMeanOfReplicasThatKeepPartOfTheirOwn) {
  RunThreads({.ranks = 2}, [](const Communicator& world) {
    Lab lab(world, {.strategy = "diloco",
                    .options = Table{{"period", 4}, {"mix", 0.5}},
                    .rate = 0.1,
                    .steps = 4,
                    .gradient = test::PullToRank});
    lab.Steps();
    std::vector<float> mean = lab.Values();
    world.AllReduce(mean);
    lab.strategy->Quiesce();
    const float* model = lab.strategy->Model().Host().data();
    if (world.rank() == 0) {
      EXPECT_NE(model[0], lab.Values()[0]);
      for (int64_t i = 0; i < kCount; ++i) EXPECT_NEAR(model[i], mean[i] / 2, 1e-6);
    }
    world.Barrier();
    lab.strategy->Finish();
  });
}

/// Three replicas of two fragments, the parameters of the lab.
class StreamRestated {
 public:
  static constexpr int kRanks = 3, kPeriod = 8, kOverlap = 3;
  static constexpr double kMomentum = 0.5, kOuterRate = 0.6, kOuterMomentum = 0.8, kMix = 0.25;

  explicit StreamRestated(const std::vector<float>& start)
      : theta_(start.begin(), start.end()),
        v_(kCount),
        arriving_(kCount),
        x_(kRanks, theta_),
        velocity_(kRanks, v_) {}

  void Step() {
    ++step_;
    for (int64_t i = 0; i < kCount; ++i) {
      if (Lab::Padding(i)) continue;
      for (int rank = 0; rank < kRanks; ++rank) {
        double& u = velocity_[rank][i];
        u = kMomentum * u + (x_[rank][i] - rank - static_cast<double>(i) / 10);
        x_[rank][i] -= RateOf(step_ - 1) * u;
      }
      const bool second = i >= kCount - test::kSecond;
      const int meets_at = second ? 0 : kPeriod / 2;
      if (step_ > kOverlap && (step_ - kOverlap) % kPeriod == meets_at) Arrive(i);
      if (step_ % kPeriod == meets_at) Leave(i);
    }
  }
  const std::vector<double>& x(int rank) const { return x_[rank]; }

 private:
  void Leave(int64_t i) {
    arriving_[i] = 0;
    for (const auto& x : x_) arriving_[i] += (theta_[i] - x[i]) / kRanks;
  }
  void Arrive(int64_t i) {
    v_[i] = kOuterMomentum * v_[i] + arriving_[i];
    theta_[i] -= kOuterRate * (arriving_[i] + kOuterMomentum * v_[i]);
    for (auto& x : x_) x[i] = (1 - kMix) * theta_[i] + kMix * x[i];
  }

  int step_ = 0;
  std::vector<double> theta_, v_, arriving_;
  std::vector<std::vector<double>> x_, velocity_;
};

TEST(StreamingDiLoCo, IsItsRecurrence) {
  using R = StreamRestated;
  RunThreads({.ranks = R::kRanks}, [&](const Communicator& world) {
    Lab lab(world, {.strategy = "diloco",
                    .options = Table{{"period", R::kPeriod},
                                     {"outer_rate", R::kOuterRate},
                                     {"outer_momentum", R::kOuterMomentum},
                                     {"fragments", 2},
                                     {"overlap", R::kOverlap},
                                     {"mix", R::kMix}},
                    .rule = "momentum",
                    .rule_options = Table{{"momentum", R::kMomentum}},
                    .gradient = test::PullToRank});
    R restated(lab.Values());
    for (int step = 0; step < 4 * R::kPeriod; ++step) {
      lab.SetRate(RateOf(step));
      lab.Step();
      restated.Step();
      test::ExpectTold(lab.Values(), restated.x(world.rank()));
    }
    lab.strategy->Finish();
  });
}

/// Ranks of SmallPart whose first slices hold their number.
TEST(StreamingDiLoCo, CutsAtSlicesNearEqualParts) {
  RunThreads({.ranks = 2}, [](const Communicator& world) {
    test::SmallPart part(world, {.strategy = "diloco",
                                 .options = {{"period", 3}, {"fragments", 3}},
                                 .slices = {{.name = "a", .shape = {16}},
                                            {.name = "b", .shape = {16}},
                                            {.name = "c", .shape = {320}},
                                            {.name = "d", .shape = {16}}}});
    const int fragment_of[] = {0, 0, 1, 2};
    for (int slice = 0; slice < 4; ++slice)
      part.params.values(slice).Host()[0] = static_cast<float>(world.rank());
    for (int step = 0; step < 3; ++step) {
      part.Step(step);
      for (int slice = 0; slice < 4; ++slice) {
        const bool met = fragment_of[slice] <= step;
        EXPECT_EQ(part.params.values(slice).Host()[0] != static_cast<float>(world.rank()), met)
            << slice << " after step " << step;
      }
    }
    part.strategy->Finish();
  });
}

TEST(StreamingDiLoCo, MixesRunningStatistics) {
  RunThreads({.ranks = 2}, [](const Communicator& world) {
    test::SmallPart part(
        world, {.strategy = "diloco", .options = {{"period", 2}, {"overlap", 1}, {"mix", 0.25}}});
    const auto at = [&](int i) { return part.params.values(1).Host()[i]; };
    const auto own = static_cast<float>(10 * world.rank());
    for (int step = 0; step < 2; ++step) part.Step(step);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(at(i), own + static_cast<float>(i));
    part.Step(2);
    for (int i = 0; i < 2; ++i)
      EXPECT_FLOAT_EQ(at(i), 0.75F * 5 + 0.25F * own + static_cast<float>(i));
    part.strategy->Finish();
  });
}

TEST(StreamingDiLoCo, SendsLaterWhatFourBitsLose) {
  RunThreads({.ranks = 4}, [](const Communicator& world) {
    Lab lab(world,
            {.strategy = "diloco",
             .options = {{"period", 12}, {"fragments", 2}, {"overlap", 2}, {"compression", "int4"}},
             .rate = 0.05,
             .steps = 480,
             .gradient = test::PullToRank});
    lab.Steps();
    const std::vector<float> model = lab.Model();
    for (int64_t i = 0; i < kCount; ++i)
      if (!Lab::Padding(i)) {
        ASSERT_NEAR(model[i], 1.5 + static_cast<double>(i) / 10, 0.05);
      }
    lab.strategy->Finish();
  });
}

/// What a job of gradients of a second waits for exchanges of several, and how long it runs.
struct Timing {
  double seconds = 0, waiting = 0;
};
Timing TimeOf(const Table& options) {
  Timing timing;
  const ServiceTime gradients_only = [](int, const Cost& cost) {
    return cost.bytes > 0 ? 0 : cost.operations;
  };
  timing.seconds = Simulate({.ranks = 4, .latency = 0.5, .service = gradients_only},
                            [&](const Communicator& world) {
                              Lab lab(world, {.strategy = "diloco",
                                              .options = options,
                                              .rate = 0.01,
                                              .steps = 96,
                                              .gradient = test::PullToRank,
                                              .seconds_of_gradient = 1});
                              lab.Steps();
                              timing.waiting = lab.strategy->Counts().seconds_waiting;
                              lab.strategy->Finish();
                            });
  return timing;
}

TEST(StreamingDiLoCo, OverlapHidesTheExchange) {
  const Timing waits = TimeOf(Table{{"period", 12}});
  const Timing hides = TimeOf(Table{{"period", 12}, {"overlap", 4}});
  const Timing streams = TimeOf(Table{{"period", 12}, {"fragments", 2}, {"overlap", 4}});
  EXPECT_NEAR(waits.waiting, 8 * 2, 1);  // eight all-reduces of four ranks: four latencies each
  EXPECT_NEAR(waits.seconds, 96 + waits.waiting, 0.5);
  for (const Timing& timing : {hides, streams}) {
    EXPECT_LT(timing.waiting, 0.1);
    EXPECT_NEAR(timing.seconds, 96 + 2, 0.5);  // the last exchange ends after the last step
  }
}

TEST(StreamingDiLoCo, RefusesWhatDoesNotFit) {
  const auto said = [](const Table& options) {
    std::string said;
    RunThreads({.ranks = 1}, [&](const Communicator& world) {
      try {
        Lab lab(world, {.strategy = "diloco", .options = options});
      } catch (const UserError& error) {
        said = error.what();
      }
    });
    return said;
  };
  const auto tells = [&](const Table& options, const char* key, const char* what) {
    const std::string sentence = said(options);
    EXPECT_NE(sentence.find(key), sentence.npos) << sentence;
    EXPECT_NE(sentence.find(what), sentence.npos) << sentence;
  };
  tells({{"fragments", 3}}, "cluster.fragments", "2 parameters");
  tells({{"fragments", 2}, {"period", 1}}, "cluster.fragments", "a period of 1 steps");
  tells({{"fragments", 2}, {"period", 12}, {"overlap", 6}}, "cluster.overlap", "at most 5 here");
  EXPECT_EQ(said({{"fragments", 2}, {"period", 12}, {"overlap", 5}}), "");
}

TEST(StreamingDiLoCo, GoesOnFromACheckpointWithOtherFragments) {
  constexpr int kRanks = 2;
  std::vector<test::SavedLab> saved(kRanks);
  const auto run = [&](const Table& options, const std::vector<test::SavedLab>* from) {
    RunThreads({.ranks = kRanks}, [&](const Communicator& world) {
      Lab lab(world, {.strategy = "diloco",
                      .options = options,
                      .steps = from ? 400 : 16,  // the first fragment is under way
                      .gradient = test::PullToRank,
                      .from = from});
      lab.Steps();
      if (!from) saved[world.rank()] = lab.Save();
      const std::vector<float> model = lab.Model();
      for (int64_t i = 0; from && i < kCount; ++i)
        if (!Lab::Padding(i)) {
          ASSERT_NEAR(model[i], 0.5 + static_cast<double>(i) / 10, 1e-3);
        }
      lab.strategy->Finish();
    });
  };
  run({{"period", 30}, {"fragments", 2}, {"overlap", 6}}, nullptr);
  run({{"period", 12}}, &saved);
  run({{"period", 12}, {"fragments", 2}}, &saved);
  run({{"period", 12}, {"fragments", 2}, {"overlap", 2}}, &saved);
}

}  // namespace yoke::diloco_test
