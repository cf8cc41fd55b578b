// Asynchronous elastic averaging: workers exchange with the centre first come, first served, beside
// their gradients (You, Buluç, Demmel, SC17; Zhang, Choromanska, LeCun, 2015).
#include "strategy/elastic_server.h"

namespace yoke::strategy {

StrategyEntry easgd_async() {
  StrategyEntry entry = ElasticServerEntry(ElasticOrder::kFirstCome);
  entry.name = "easgd_async";
  entry.summary = "Replicas and a centre pull each other, first come, first served";
  return entry;
}

}  // namespace yoke::strategy
