// Hogwild elastic averaging: easgd_async whose centre has a thread for each worker and no lock
// (You, Buluç, Demmel, SC17).
#include "strategy/elastic_server.h"

namespace yoke::strategy {

StrategyEntry easgd_hogwild() {
  StrategyEntry entry = ElasticServerEntry(ElasticOrder::kNoLock);
  entry.name = "easgd_hogwild";
  entry.summary = "easgd_async with one thread per replica at the centre and no lock";
  return entry;
}

}  // namespace yoke::strategy
