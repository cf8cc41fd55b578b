// The laws of elastic averaging and of gossip, in virtual time: how an exchange's time and volume
// depend on the ranks, the model's size and the number of its messages.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "strategy/support/sent.h"
#include "strategy/support/small_part.h"

namespace yoke::elastic_laws_test {

constexpr double kLatency = 1e-3;
constexpr double kBytesPerSecond = 1e6;
constexpr int64_t kSteps = 4;

/// Ten layers of weights and biases, as a convolutional network has them: few slices are large.
std::vector<Slice> Layers() {
  std::vector<Slice> slices;
  for (int64_t i = 0; i < 10; ++i) {
    slices.push_back({.name = fmt::format("{}.weight", i), .shape = {16 * (1 + i * i)}});
    slices.push_back({.name = fmt::format("{}.bias", i), .shape = {16}});
  }
  return slices;
}
int64_t Bytes() {
  int64_t bytes = 0;
  for (const Slice& slice : Layers()) bytes += slice.Count() * 4;
  return bytes;
}

/// Virtual seconds of a step that is nothing but the exchange.
double SecondsOfExchange(int ranks, bool packed = true, double latency = kLatency,
                         bool everywhere = false) {
  const double seconds =
      Simulate({.ranks = ranks, .latency = latency, .bytes_per_second = kBytesPerSecond},
               [&](const Communicator& world) {
                 test::SmallPart part(
                     world, {.strategy = "easgd_sync1",
                             .options = {{"packed", packed}, {"centre_everywhere", everywhere}},
                             .slices = Layers()});
                 for (int64_t step = 0; step < kSteps; ++step) part.Step(step);
               });
  return seconds / kSteps;
}

/// The sum of squares that the best a + b x leaves of y.
double Residual(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (size_t i = 0; i < x.size(); ++i)
    sx += x[i], sy += y[i], sxx += x[i] * x[i], sxy += x[i] * y[i];
  const double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
  const double offset = (sy - slope * sx) / n;
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += std::pow(y[i] - offset - slope * x[i], 2);
  return sum;
}

TEST(ElasticLaws, TheTimeOfAnExchangeGrowsWithTheLogarithmOfTheRanks) {
  std::vector<double> ranks, logarithms, seconds;
  for (int p = 2; p <= 32; ++p) {
    ranks.push_back(p);
    logarithms.push_back(std::log2(p));
    seconds.push_back(SecondsOfExchange(p));
  }
  const double linear = Residual(ranks, seconds), logarithmic = Residual(logarithms, seconds);
  RecordProperty("residual_of_a_plus_b_log_p", std::to_string(logarithmic));
  RecordProperty("residual_of_a_plus_b_p", std::to_string(linear));
  EXPECT_LT(logarithmic, 0.5 * linear);
  // And is that of ALGORITHMS.md where P is a power of two: a broadcast and a reduce.
  const double message = kLatency + static_cast<double>(Bytes()) / kBytesPerSecond;
  for (int p : {2, 4, 8, 16, 32})
    EXPECT_NEAR(SecondsOfExchange(p) / (2 * std::log2(p) * message), 1, 0.05) << p << " ranks";
}

TEST(ElasticLaws, WithTheCentreEverywhereAnExchangeIsAnAllReduce) {
  const double transfer = static_cast<double>(Bytes()) / kBytesPerSecond;
  for (int p : {2, 4, 8, 16}) {
    const double law = 2 * std::log2(p) * kLatency + 2 * transfer * (p - 1) / p;
    // And once, before the first step, a broadcast of the centre.
    const double start = std::log2(p) * (kLatency + transfer) / kSteps;
    EXPECT_NEAR(SecondsOfExchange(p, true, kLatency, true) / (law + start), 1, 0.05) << p;
  }
}

TEST(ElasticLaws, MessagesASliceCostALatencyEach) {
  const double transfer = static_cast<double>(Bytes()) / kBytesPerSecond;
  const auto slices = static_cast<double>(Layers().size());
  for (const double latency : {0.01 * transfer, 0.1 * transfer, transfer, 10 * transfer}) {
    const double law = (slices * latency + transfer) / (latency + transfer);
    for (int ranks : {2, 8}) {
      const double measured =
          SecondsOfExchange(ranks, false, latency) / SecondsOfExchange(ranks, true, latency);
      EXPECT_NEAR(measured / law, 1, 0.2) << latency << " s, " << ranks << " ranks";
    }
  }
}

/// What a step of nothing but the exchange takes longer on a device behind a link, in copies of the
/// model; and how long training waits more for it.
std::pair<double, double> CopiesOfAModel(const char* strategy) {
  constexpr double kLink = 2e6;
  double seconds[2] = {}, waiting[2] = {};
  for (const bool behind_link : {false, true})
    seconds[behind_link] =
        Simulate({.ranks = 4,
                  .latency = kLatency,
                  .bytes_per_second = kBytesPerSecond,
                  .device_bytes_per_second = behind_link ? kLink : 0},
                 [&](const Communicator& world) {
                   test::SmallPart part(world, {.strategy = strategy, .slices = Layers()});
                   for (int64_t step = 0; step < kSteps; ++step) part.Step(step);
                   if (world.rank() == 3)
                     waiting[behind_link] = part.strategy->Counts().seconds_waiting;
                   part.strategy->Finish();
                 });
  const double copy = kSteps * static_cast<double>(Bytes()) / kLink;
  return {(seconds[1] - seconds[0]) / copy, (waiting[1] - waiting[0]) / copy};
}

TEST(ElasticLaws, ValuesInTheHostsMemoryAreCopiedOutAndForcesBack) {
  const auto [seconds, waiting] = CopiesOfAModel("easgd_sync1");
  EXPECT_NEAR(seconds, 2, 0.05);
  EXPECT_NEAR(waiting, 2, 0.05);
  for (const char* strategy : {"easgd_sync2", "easgd_sync3"})
    EXPECT_EQ(CopiesOfAModel(strategy).first, 0) << strategy;
  EXPECT_NEAR(CopiesOfAModel("easgd_original").first, 4 * 2, 0.1);  // each rank in its turn
  // A rank copies while another is served.
  for (const char* strategy : {"easgd_async", "easgd_hogwild", "async_sgd"}) {
    EXPECT_GT(CopiesOfAModel(strategy).first, 0.2) << strategy;
    EXPECT_LT(CopiesOfAModel(strategy).first, 2.5) << strategy;
  }
}

TEST(ElasticLaws, VolumesAreThoseOfThePages) {
  constexpr double kBytes = (test::kCount + 11) * 4;
  for (int ranks : {2, 3, 4, 8})
    for (int64_t period : {1, 4}) {
      const auto near = [&](const Cost& sent, double messages) {
        const double expected = messages / static_cast<double>(period);
        EXPECT_NEAR(sent.messages, expected, 0.05 * expected);
        EXPECT_NEAR(sent.message_bytes, expected * kBytes, 0.05 * expected * kBytes);
      };
      const SimulatedRanks cluster = {
          .ranks = ranks, .latency = kLatency, .bytes_per_second = kBytesPerSecond};
      const auto sent = [&](const char* strategy) {
        return test::Sent(strategy, {{"period", period}}, cluster, 16);
      };
      for (const char* strategy : {"easgd_sync1", "easgd_sync2", "easgd_sync3"})
        near(sent(strategy), 2.0 * (ranks - 1));
      const int active = (ranks + 1) / 2;
      near(sent("ad_psgd"), 2.0 * active);
    }
}

}  // namespace yoke::elastic_laws_test
