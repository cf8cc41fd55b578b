// Executor: the list of executors, executors.def once as declarations, once as the table; what
// entries share.
#include "node/executor.h"

#include <fmt/core.h>

#include "base/check.h"
#include "tensor/devices.h"

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

StepResult Executor::RunRound(WorkSource& /*source*/, const ParamView& /*params*/) {
  throw Error("this executor does not update in place");
}

std::string OnlyTheCpu(const std::vector<Device*>& devices) {
  for (const Device* device : devices)
    if (!device->IsHost())
      return fmt::format("computes on the CPU only, not on {}: {}", device->name(),
                         HowToUseTheCpu());
  return "";
}

}  // namespace yoke
