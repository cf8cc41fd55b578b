// Original elastic averaging: the master exchanges with one worker after the other, by rank: the
// baseline of You, Buluç, Demmel (SC17). Cost of a step: 2 (P - 1) (a + |W| b), one worker at a
// time.
#include "strategy/elastic_server.h"

namespace yoke::strategy {

StrategyEntry easgd_original() {
  StrategyEntry entry = ElasticServerEntry(ElasticOrder::kRoundRobin);
  entry.name = "easgd_original";
  entry.summary = "Replicas and a centre pull each other, one replica at a time by rank";
  return entry;
}

}  // namespace yoke::strategy
