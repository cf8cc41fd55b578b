// Exchange: counters are gathered as arrays of int64.
#include "train/exchange.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "comm/gather.h"
#include "kernels/vectors.h"
#include "tensor/counting.h"

namespace yoke {
namespace {

constexpr size_t kFixed = 9;  // values before the staleness

std::vector<double> ValuesOf(const ExchangeCounts& c) {
  std::vector<double> values = {static_cast<double>(c.traffic.messages_sent),
                                static_cast<double>(c.traffic.bytes_sent),
                                static_cast<double>(c.traffic.messages_received),
                                static_cast<double>(c.traffic.bytes_received),
                                c.traffic.seconds_waited,
                                c.seconds_waiting,
                                static_cast<double>(c.updates),
                                static_cast<double>(c.examples),
                                static_cast<double>(c.traffic.bytes_by_formula)};
  values.insert(values.end(), c.staleness.begin(), c.staleness.end());
  return values;
}

ExchangeCounts Counts(const std::vector<double>& n) {
  ExchangeCounts c = {.traffic = {.messages_sent = static_cast<int64_t>(n[0]),
                                  .bytes_sent = static_cast<int64_t>(n[1]),
                                  .messages_received = static_cast<int64_t>(n[2]),
                                  .bytes_received = static_cast<int64_t>(n[3]),
                                  .bytes_by_formula = static_cast<int64_t>(n[8]),
                                  .seconds_waited = n[4]},
                      .seconds_waiting = n[5],
                      .updates = static_cast<int64_t>(n[6]),
                      .examples = static_cast<int64_t>(n[7])};
  c.staleness.assign(n.begin() + kFixed, n.end());
  return c;
}

/// The staleness histogram of all ranks together.
std::vector<int64_t> Histogram(const std::vector<ExchangeCounts>& counts) {
  std::vector<int64_t> sum;
  for (const ExchangeCounts& c : counts) {
    sum.resize(std::max(sum.size(), c.staleness.size()), 0);
    for (size_t s = 0; s < c.staleness.size(); ++s) sum[s] += c.staleness[s];
  }
  return sum;
}

void AddStaleness(const std::vector<int64_t>& histogram, ExchangeSummary& summary) {
  double count = 0, sum = 0;
  for (size_t s = 0; s < histogram.size(); ++s) {
    count += static_cast<double>(histogram[s]);
    sum += static_cast<double>(histogram[s]) * static_cast<double>(s);
  }
  if (count == 0) return;
  size_t least = 0;
  double below = static_cast<double>(histogram[0]);
  while (below < 0.95 * count) below += static_cast<double>(histogram[++least]);
  summary.staleness_mean = sum / count;
  summary.staleness_95 = static_cast<double>(least);
}

}  // namespace

std::vector<ExchangeCounts> GatherCounts(const Communicator& world, const ExchangeCounts& mine) {
  std::vector<ExchangeCounts> counts;
  for (const auto& values : GatherValues(world, ValuesOf(mine))) counts.push_back(Counts(values));
  return counts;
}

ExchangeSummary Summary(const std::vector<ExchangeCounts>& counts, double seconds, int servers) {
  ExchangeSummary summary;
  double by_formula = 0, waiting = 0, updates = 0, examples = 0;
  for (const ExchangeCounts& c : counts) {
    summary.messages += static_cast<double>(c.traffic.messages_sent);
    summary.bytes += static_cast<double>(c.traffic.bytes_sent);
    by_formula += static_cast<double>(c.traffic.bytes_by_formula);
    updates += static_cast<double>(c.updates);
    examples += static_cast<double>(c.examples);
  }
  const std::span workers = std::span(counts).subspan(servers);
  for (const ExchangeCounts& c : workers) waiting += c.seconds_waiting;
  if (by_formula > 0) summary.bytes_by_formula = by_formula;
  if (seconds > 0) summary.communicating = waiting / seconds / static_cast<double>(workers.size());
  if (updates > 0) {
    summary.updates = updates;
    summary.effective_batch = examples / updates;
  }
  AddStaleness(Histogram(counts), summary);
  return summary;
}

double ConsensusDistance(const Communicator& world, Array<const float> weights) {
  const CountedAs scope("meeting");
  HostCopy copy;
  const ConstValues own = copy.Read(weights);
  std::vector<float> mean(own.begin(), own.end());
  world.AllReduce(mean);
  Divide(mean, static_cast<float>(world.size()));
  Subtract(mean, own);
  double sum = 0;
  for (const double square : GatherOne(world, SquareSum(ConstValues(mean)))) sum += square;
  return std::sqrt(sum / world.size());
}

Metrics MetricsOf(const ExchangeSummary& s) {
  const std::pair<const char*, std::optional<double>> all[] = {
      {"messages", s.messages},
      {"bytes", s.bytes},
      {"bytes_by_formula", s.bytes_by_formula},
      {"communicating", s.communicating},
      {"updates", s.updates},
      {"effective_batch", s.effective_batch},
      {"staleness_mean", s.staleness_mean},
      {"staleness_95", s.staleness_95},
      {"consensus_distance", s.consensus_distance},
      {"step_seconds", s.step_seconds},
      {"meeting_seconds", s.meeting_seconds},
      {"checkpoint_seconds", s.checkpoint_seconds}};
  Metrics metrics;
  for (const auto& [name, value] : all)
    if (value) metrics.emplace_back(name, *value);
  return metrics;
}

}  // namespace yoke
