// Original elastic averaging: the master meets one worker after the other, by rank, and only the
// worker whose turn it is computes: the baseline of You, Buluç, Demmel (SC17, arXiv 1708.02983).
// With a gradient of t seconds, a step of all P ranks takes P t + 2 (P - 1) (a + |W| b).
#include "base/form.h"
#include "strategy/elastic_server.h"

namespace yoke::strategy {

StrategyEntry easgd_original() {
  StrategyEntry entry = ElasticServerEntry(ElasticOrder::kInTurn);
  entry.name = "easgd_original";
  entry.summary = "Replicas and a centre pull each other, one replica at a time by rank";
  entry.options.push_back(FormOption(
      "paper", "overlapped",
      "Paper: one worker computes at a time, in its turn. Overlapped: a worker only exchanges in "
      "its turn, and computes beside the others."));
  return entry;
}

}  // namespace yoke::strategy
