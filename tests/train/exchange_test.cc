// Summary: what ranks counted becomes the metrics of a run.
#include "train/exchange.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "comm/threads.h"

namespace yoke::exchange_test {

std::map<std::string, double> ByName(const ExchangeSummary& summary) {
  const Metrics metrics = MetricsOf(summary);
  return {metrics.begin(), metrics.end()};
}

/// Two workers behind a rank that only serves and has counted all updates.
std::vector<ExchangeCounts> Counted() {
  ExchangeCounts server, fast, slow;
  server.traffic = {.messages_sent = 30, .bytes_sent = 3000};
  server.seconds_waiting = 9;
  server.updates = 20;
  server.examples = 640;
  server.staleness = {4, 14, 1, 0, 1};  // 95 % of 20 had at most 2
  fast.traffic = {.messages_sent = 12, .bytes_sent = 1200};
  fast.seconds_waiting = 3;
  slow.traffic = {.messages_sent = 8, .bytes_sent = 800, .bytes_by_formula = 50};
  slow.seconds_waiting = 1;
  return {server, fast, slow};
}

TEST(Exchange, IsSummedUp) {
  ExchangeSummary summary = Summary(Counted(), 10, 1);
  summary.consensus_distance = 0.25;
  const auto metrics = ByName(summary);
  EXPECT_EQ(metrics.at("messages"), 50);
  EXPECT_EQ(metrics.at("bytes"), 5000);
  EXPECT_EQ(metrics.at("bytes_by_formula"), 50);
  EXPECT_DOUBLE_EQ(metrics.at("communicating"), (3 + 1) / 10.0 / 2);
  EXPECT_EQ(metrics.at("updates"), 20);
  EXPECT_EQ(metrics.at("effective_batch"), 32);
  EXPECT_DOUBLE_EQ(metrics.at("staleness_mean"), (14 + 2 + 4) / 20.0);
  EXPECT_EQ(metrics.at("staleness_95"), 2);
  EXPECT_EQ(metrics.at("consensus_distance"), 0.25);
}

TEST(Exchange, LeavesOutWhatThereIsNone) {
  const auto metrics = ByName(Summary({ExchangeCounts(), ExchangeCounts()}, 0));
  for (const char* name : {"bytes_by_formula", "communicating", "updates", "effective_batch",
                           "staleness_mean", "staleness_95", "consensus_distance", "step_seconds"})
    EXPECT_EQ(metrics.count(name), 0U) << name;
  EXPECT_EQ(metrics.at("bytes"), 0);
}

TEST(Exchange, TravelsWhole) {
  RunThreads({.ranks = 3}, [](const Communicator& world) {
    const std::vector<ExchangeCounts> given = Counted();
    const std::vector<ExchangeCounts> all = GatherCounts(world, given[world.rank()]);
    EXPECT_EQ(MetricsOf(Summary(all, 10, 1)), MetricsOf(Summary(given, 10, 1)));
  });
}

}  // namespace yoke::exchange_test
