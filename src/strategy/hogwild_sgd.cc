// Hogwild SGD: async_sgd whose server has a thread for each worker, and no lock: updates meet in
// the shared values, and some are lost in part. Niu, Recht, Re, Wright, "Hogwild!" (2011), as a
// parameter server in You, Buluc, Demmel (2017). optim/racing.h says why the races are harmless:
// - Values, rule's arrays and running statistics are only read and written through its copies, each
//   number whole; what is lost is at most one of two updates of a number that happen at once.
// - An answer may hold elements of different versions: as if its worker had read some of them
//   later, within the staleness that asynchronous SGD has anyway.
// - Versions and counts are atomic or a thread's own; no index and no size comes from shared
//   elements.
#include "strategy/served.h"

namespace yoke::strategy {

StrategyEntry hogwild_sgd() {
  StrategyEntry entry = ServedEntry(true);
  entry.name = "hogwild_sgd";
  entry.summary = "Like async_sgd, with one server thread per worker and no lock";
  return entry;
}

}  // namespace yoke::strategy
