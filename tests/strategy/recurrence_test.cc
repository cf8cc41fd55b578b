// Recurrences of what works asynchronously, by form, restated in one process in the order of the
// virtual clock: 3 workers, 20 steps of each, a learning rate that changes.
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/support/events.h"
#include "strategy/support/served_tests.h"
#include "strategy/support/told.h"

namespace yoke::recurrence_test {

using test::kCount;
using test::Lab;

constexpr int kWorkers = 3, kSteps = 20;
const std::vector<double> kSeconds = {1, 1.3717, 0.4931};  // of a gradient
using Vector = std::vector<double>;

double StartOf(int rank) { return 0.01 * rank; }

/// PullToRank's.
double Gradient(int rank, int64_t i, double x) { return x - rank - static_cast<double>(i) / 10; }

// Servers: Dean et al. (2012), SC17 equations 3 and 4, Omnivore, and our forms of them
// (docs/strategies/async_sgd.md).

struct Form {
  const char* strategy = "";
  const char* form = "";
  bool momentum = false;
  int team = 1;
};
void PrintTo(const Form& form, std::ostream* out) {
  *out << form.strategy << ", " << form.form << ", " << form.momentum << ", " << form.team;
}

class ServedRecurrence : public testing::TestWithParam<Form> {};

test::ServedRun RunOf(const Form& form) {
  const bool paper = form.form == std::string("paper");
  // The default form takes a third of a high rate, and a low one whole.
  const double rate = form.momentum ? 0.036 : 0.36, later_rate = rate / 6;
  test::ServedRun run = {.settings = {.strategy = form.strategy,
                                      .options = {{"form", form.form}},
                                      .rule = form.momentum ? "momentum" : "sgd",
                                      .rate = rate,
                                      .later_rate = later_rate},
                         .story = {.seconds = kSeconds,
                                   .steps = kSteps,
                                   .rate = paper ? rate : rate / kWorkers,
                                   .later_rate = later_rate,
                                   .momentum = form.momentum ? 0.9F : 0,
                                   .sums_steps = paper,
                                   .predicts = !paper},
                         .team = form.team};
  if (paper) run.settings.steps_per_epoch = 100;  // half of which ours would take to rise
  if (paper && form.momentum) run.settings.rule_options = {{"velocity", "steps"}};
  if (run.settings.strategy == "compute_groups")
    run.settings.options.emplace_back("groups", kWorkers);
  return run;
}

TEST_P(ServedRecurrence, IsAsTold) {
  const ExchangeCounts counts = test::ExpectAsTold(RunOf(GetParam()), 1e-6);
  EXPECT_EQ(counts.updates, kWorkers * kSteps);
  EXPECT_EQ(counts.examples, kWorkers * kSteps * GetParam().team);
}

INSTANTIATE_TEST_SUITE_P(
    Forms, ServedRecurrence,
    testing::Values(Form{"async_sgd", "yoke"}, Form{"async_sgd", "paper"},
                    Form{"async_msgd", "yoke", true}, Form{"async_msgd", "paper", true},
                    Form{"hogwild_sgd", "yoke"}, Form{"hogwild_sgd", "paper"},
                    Form{"hogwild_sgd", "yoke", true}, Form{"hogwild_sgd", "paper", true},
                    Form{"compute_groups", "yoke", true}, Form{"compute_groups", "paper", true},
                    Form{"compute_groups", "yoke", true, 2},
                    Form{"compute_groups", "paper", true, 2}));

// Replicas of their own.

struct Ends {
  std::vector<float> start, model;
  std::vector<std::vector<float>> values = std::vector<std::vector<float>>(kWorkers);
  std::vector<std::vector<int64_t>> staleness = std::vector<std::vector<int64_t>>(kWorkers);
};

/// What each rank has after its last step, and the model then. Messages take `latency` seconds.
/// Ranks before `first` take no step.
Ends EndsOf(test::LabSettings settings, double latency, int first = 0) {
  settings.later_rate = settings.rate / 5;
  settings.steps = kSteps;
  settings.gradient = test::PullToRank;
  settings.seconds_of_gradient = 1;
  Ends ends;
  Simulate({.ranks = kWorkers,
            .timeout = 1e6,
            .latency = latency,
            .service = test::SecondsByRank(kSeconds)},
           [&](const Communicator& world) {
             Lab lab(world, settings);
             if (world.rank() == 0) ends.start = lab.Values();
             world.Sleep(StartOf(world.rank()));
             if (world.rank() >= first) lab.Steps();
             ends.values[world.rank()] = lab.Values();
             ends.staleness[world.rank()] = lab.strategy->Counts().staleness;
             const std::vector<float> model = lab.Model();
             if (world.rank() == 0) ends.model = model;
             lab.strategy->Finish();
           });
  return ends;
}

/// Replicas x_i, and when they step: `view` and `step` are called in the order of time.
struct Replicas {
  explicit Replicas(const std::vector<float>& start)
      : x(kWorkers, Vector(start.begin(), start.end())) {}

  void Run(double rate, const std::function<void(int rank, double rate)>& view,
           const std::function<void(int rank, double rate)>& step, int first = 0) {
    const auto rate_of = [rate](int k) { return k < kSteps / 2 ? rate : rate / 5; };
    std::function<void(int, int)> begin = [&](int rank, int k) {
      view(rank, rate_of(k));
      events.At(events.now() + kSeconds[rank], [&, rank, k] {
        step(rank, rate_of(k));
        if (k + 1 < kSteps) begin(rank, k + 1);
      });
    };
    for (int rank = first; rank < kWorkers; ++rank)
      events.At(StartOf(rank), [&, rank] { begin(rank, 0); });
    events.Run();
  }
  void Expect(const Ends& ends) const {
    for (int rank = 0; rank < kWorkers; ++rank) test::ExpectTold(ends.values[rank], x[rank]);
  }

  std::vector<Vector> x;
  test::Events events;
};

template <typename Each>
void ForElements(const Each& each) {
  for (int64_t i = 0; i < kCount; ++i)
    if (!Lab::Padding(i)) each(i);
}

/// SC17, equations 1 and 2 with one worker at a time, 5 and 6 with momentum; an exchange takes no
/// time beside a gradient. The force stays out of a velocity of steps or of gradients.
void ExpectElastic(const char* strategy, const char* force, double momentum = 0,
                   const char* velocity = "gradients", int first = 0) {
  constexpr double kRate = 0.1, kForce = 0.3, kRho = 2.5;
  const bool by_rho = force == std::string("rho");
  test::LabSettings settings = {.strategy = strategy,
                                .options = {{force, by_rho ? kRho : kForce}},
                                .rule = momentum > 0 ? "momentum" : "sgd",
                                .rate = kRate};
  if (momentum > 0) settings.rule_options = {{"momentum", momentum}, {"velocity", velocity}};
  const bool sums_steps = velocity == std::string("steps");
  const Ends ends = EndsOf(settings, 1e-5, first);
  Replicas replicas(ends.start);
  Vector centre = replicas.x[0];
  std::vector<Vector> v(kWorkers, Vector(kCount));
  replicas.Run(
      kRate,
      [&](int rank, double rate) {
        ForElements([&](int64_t i) {
          double& x = replicas.x[rank][i];
          const double pull = (by_rho ? rate * kRho : kForce) * (x - centre[i]);
          v[rank][i] = momentum * v[rank][i] + (sums_steps ? rate : 1) * Gradient(rank, i, x);
          x -= (sums_steps ? 1 : rate) * v[rank][i] + pull;
          centre[i] += pull;
        });
      },
      [](int, double) {}, first);
  replicas.Expect(ends);
  test::ExpectTold(ends.model, centre);
}

TEST(ElasticRecurrence, IsItsEquationsInTheOrderOfArrival) {
  for (const char* force : {"moving_rate", "rho"}) {
    SCOPED_TRACE(force);
    ExpectElastic("easgd_async", force);
    ExpectElastic("easgd_hogwild", force);
    for (const char* velocity : {"steps", "gradients"})
      for (const int first : {0, 1}) {  // 1: rank 0 only serves its centre
        SCOPED_TRACE(testing::Message() << velocity << " from rank " << first);
        ExpectElastic("easgd_async_momentum", force, 0.9, velocity, first);
      }
  }
}

/// The seed's peers.
class Peers {
 public:
  int Next(int rank) {
    Random random({1, 0x676f737369700001, static_cast<uint64_t>(rank), drawn_[rank]++});
    const auto other = static_cast<int>(random.Below(kWorkers - 1));
    return other < rank ? other : other + 1;
  }

 private:
  std::vector<uint64_t> drawn_ = std::vector<uint64_t>(kWorkers);
};

constexpr double kLatency = 0.003, kGossipRate = 0.1;

TEST(GossipRecurrence, OfPullsIsItsEquation) {
  const Ends ends = EndsOf({.strategy = "gossip_pull", .rate = kGossipRate}, kLatency);
  Replicas replicas(ends.start);
  std::vector<Vector> before = replicas.x, answer = before;
  Peers peers;
  replicas.Run(
      kGossipRate,
      [&](int rank, double) {
        before[rank] = replicas.x[rank];
        replicas.events.At(replicas.events.now() + kLatency,
                           [&, rank, peer = peers.Next(rank)] { answer[rank] = before[peer]; });
      },
      [&](int rank, double rate) {
        ForElements([&](int64_t i) {
          const double x = before[rank][i];
          replicas.x[rank][i] = (x + answer[rank][i]) / 2 - rate * Gradient(rank, i, x);
        });
      });
  replicas.Expect(ends);
}

/// x <- (w x + sum w' x') / (w + sum w') - rate g(x), of what has arrived in the step.
void ExpectPushes(bool weights) {
  const Ends ends =
      EndsOf({.strategy = "gossip_push", .options = {{"weights", weights}}, .rate = kGossipRate},
             kLatency);
  Replicas replicas(ends.start);
  std::vector<Vector> before = replicas.x, sum(kWorkers, Vector(kCount));
  Vector w(kWorkers, weights ? 1.0 / kWorkers : 1), received(kWorkers);
  Peers peers;
  replicas.Run(
      kGossipRate,
      [&](int rank, double) {
        before[rank] = replicas.x[rank];
        if (weights) w[rank] /= 2;
        replicas.events.At(replicas.events.now() + kLatency,
                           [&, peer = peers.Next(rank), sent = w[rank], x = before[rank]] {
                             ForElements([&](int64_t i) { sum[peer][i] += sent * x[i]; });
                             received[peer] += sent;
                           });
      },
      [&](int rank, double rate) {
        const double all = w[rank] + received[rank];
        ForElements([&](int64_t i) {
          const double x = before[rank][i];
          replicas.x[rank][i] = (w[rank] * x + sum[rank][i]) / all - rate * Gradient(rank, i, x);
        });
        if (weights) w[rank] = all;
        received[rank] = 0;
        sum[rank].assign(kCount, 0);
      });
  replicas.Expect(ends);
}

TEST(GossipRecurrence, OfPushesIsItsEquation) {
  for (const bool weights : {false, true}) {
    SCOPED_TRACE(weights);
    ExpectPushes(weights);
  }
}

/// Ranks 0 and 2 average with rank 1, whose values they know one message late.
TEST(AdPsgdRecurrence, IsItsEquation) {
  constexpr double kSlow = 0.1;
  const Ends ends = EndsOf({.strategy = "ad_psgd", .rate = kGossipRate}, kSlow);
  Replicas replicas(ends.start);
  std::vector<Vector>& x = replicas.x;
  std::vector<Vector> copy = x;
  std::vector<size_t> landed(kWorkers), landed_at_view(kWorkers);
  std::vector<std::vector<int64_t>> staleness(kWorkers);
  const auto halfway = [&](int rank, const Vector& theirs, const Vector& mine) {
    ForElements([&](int64_t i) { x[rank][i] += (theirs[i] - mine[i]) / 2; });
    ++landed[rank];
  };
  replicas.Run(
      kGossipRate,
      [&](int rank, double) {
        copy[rank] = x[rank];
        landed_at_view[rank] = landed[rank];
        if (rank == 1) return;
        replicas.events.At(replicas.events.now() + kSlow, [&, rank, mine = x[rank]] {
          const Vector theirs = x[1];
          halfway(1, mine, theirs);
          replicas.events.At(replicas.events.now() + kSlow,
                             [&, rank, mine, theirs] { halfway(rank, theirs, mine); });
        });
      },
      [&](int rank, double rate) {
        ForElements([&](int64_t i) { x[rank][i] -= rate * Gradient(rank, i, copy[rank][i]); });
        const size_t late = landed[rank] - landed_at_view[rank];
        staleness[rank].resize(std::max(staleness[rank].size(), late + 1));
        ++staleness[rank][late];
      });
  replicas.Expect(ends);
  EXPECT_EQ(ends.staleness, staleness);
  EXPECT_GT(staleness[1].size(), 3U);
}

}  // namespace yoke::recurrence_test
