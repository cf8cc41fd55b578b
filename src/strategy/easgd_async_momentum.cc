// Asynchronous MEASGD: easgd_async whose workers have momentum, which the force does not enter:
//   V_i <- mu V_i - rate g_i,   W_i <- W_i + V_i - E_i   (You, Buluç, Demmel, SC17, equations 5,
//   6).
#include "strategy/elastic_server.h"

namespace yoke::strategy {

StrategyEntry easgd_async_momentum() {
  StrategyEntry entry = ElasticServerEntry(ElasticOrder::kFirstCome);
  entry.name = "easgd_async_momentum";
  entry.summary = "easgd_async with momentum at the replicas";
  entry.forces_momentum = true;
  return entry;
}

}  // namespace yoke::strategy
