// The list of executors: executors.def once as declarations, once as the table.
#include "node/executor.h"

namespace yoke {

namespace executor {
#define YOKE_EXECUTOR(name) ExecutorEntry name();
#include "node/executors.def"
#undef YOKE_EXECUTOR
}  // namespace executor

const std::vector<ExecutorEntry>& executors() {
  static const std::vector<ExecutorEntry> entries = {
#define YOKE_EXECUTOR(name) executor::name(),
#include "node/executors.def"
#undef YOKE_EXECUTOR
  };
  return entries;
}

}  // namespace yoke
