// Devices: the ranks of a machine share them.
#include "train/job/devices.h"

#include <algorithm>

#include "base/check.h"
#include "base/registry.h"
#include "comm/launcher.h"
#include "comm/virtual_time.h"
#include "node/executor.h"
#include "train/job/parts.h"

namespace yoke {

namespace {

/// Whether a rank's executor takes several.
bool TakesSeveral(const Job& job) {
  const ExecutorEntry& executor = FindEntry(executors(), "executor", job.node.String("executor"));
  return executor.supports({&Cpu(), &Cpu()}).empty();
}

/// Stands for a device with memory of its own, where no work is asked of it.
class SomeDevice : public Device {
 public:
  const std::string& name() const override { return name_; }
  void* Allocate(int64_t /*bytes*/) override { throw Error("it has no memory"); }
  void Free(void* /*memory*/, int64_t /*bytes*/) override {}
  std::unique_ptr<Stream> NewStream() override { throw Error("it has no streams"); }

 private:
  std::string name_ = "another device";
};

/// Whether its executor takes the CPU together with other devices.
bool TakesOthers(const Job& job) {
  SomeDevice other;
  const ExecutorEntry& executor = FindEntry(executors(), "executor", job.node.String("executor"));
  return executor.supports({&Cpu(), &other}).empty();
}

}  // namespace

/// Of all devices others take the CPU, on which every model runs.
std::vector<std::string> NamesOfDevices(const Job& job) {
  const std::vector<std::string> asked = job.node.Strings("devices");
  if (asked == std::vector<std::string>{"all"} && !TakesOthers(job)) return {Cpu().name()};
  return DeviceNames(asked, job.node.Where("devices"));
}

DeviceSettings DeviceSettingsOf(const Job& job) {
  return {.emulated = {.copy_bytes_per_second = job.node.Float("emulated_bytes_per_second"),
                       .slowdown = job.node.Float("emulated_slowdown")}};
}

Devices DevicesOf(const Job& job, const LocalRank& rank) {
  return {ShareOf(NamesOfDevices(job), rank, TakesSeveral(job)), job.node.Where("devices"),
          DeviceSettingsOf(job)};
}

Devices DevicesOf(const Job& job) {
  const int workers = std::max(1, RolesOf(job).workers);
  return DevicesOf(job, OnThisMachine({.size = LaunchedByMpi() ? 1 : workers}));
}

DeviceShares SharesOf(const Job& job, int workers) {
  if (workers == 0) return {.used = {Cpu().name()}};
  return SharesOf(NamesOfDevices(job), workers, TakesSeveral(job));
}

bool OnlyServes(const Job& job, const Communicator& world) {
  return world.rank() < StrategyOf(job).servers(job.cluster, world.size()) && !InVirtualTime(world);
}

Devices DevicesOf(const Job& job, const Communicator& world, const LocalRank& rank) {
  if (OnlyServes(job, world)) return {{Cpu().name()}, job.node.Where("devices")};
  return DevicesOf(job, rank);
}

Device& ValuesDevice(const Job& job, const Devices& devices) {
  const ExecutorEntry& executor = FindEntry(executors(), "executor", job.node.String("executor"));
  const bool there =
      devices.all().size() == 1 && executor.values_on_device && StrategyOf(job).values_on_device;
  return there ? *devices.all()[0] : Cpu();
}

bool TakeStored(const Devices& devices) {
  return !std::ranges::all_of(devices.all(), &Device::IsHost);
}

void RequireRowType(const Job& job, const ParamLayout& layout, const Devices& devices) {
  if (RowTypeOf(job) == DType::kF32) return;
  Require(
      std::ranges::any_of(layout.slices(), [](const Slice& s) { return s.type != DType::kF32; }),
      "{} = \"bf16\" stores the rows of lsh_linear and sparse_linear, and the model has no such "
      "layer: leave it out",
      job.train.Where("weights"));
  Require(devices.all() == std::vector<Device*>{&Cpu()},
          "{} = \"bf16\" is updated on the CPU alone: {}", job.train.Where("weights"),
          HowToUseTheCpu());
}

void RequireDevicesOfHead(const Job& job) {
  const Value* serves = job.resolved.Find("cluster")->Find("served_head");
  Require(!serves || *serves != Value(true) ||
              NamesOfDevices(job) == std::vector<std::string>{Cpu().name()},
          "{}: a served head computes on the CPU: {}", job.node.Where("devices"), HowToUseTheCpu());
}

}  // namespace yoke
