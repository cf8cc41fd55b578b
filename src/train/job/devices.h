// Devices: those of [node] devices, a rank's part of them, and where its values are.
#pragma once

#include <string>
#include <vector>

#include "base/topology.h"
#include "comm/communicator.h"
#include "params/layout.h"
#include "tensor/devices.h"
#include "train/job/job.h"

namespace yoke {

/// [node] devices, "all" replaced by its meaning.
std::vector<std::string> NamesOfDevices(const Job& job);
/// What [node] says of devices besides their names.
DeviceSettings DeviceSettingsOf(const Job& job);
/// The part of a machine's rank in [node] devices (ShareOf).
Devices DevicesOf(const Job& job, const LocalRank& rank);
/// The part of this process's first worker, where its replicas are ranks of this machine.
Devices DevicesOf(const Job& job);
/// Whether a rank computes no gradients, in real time.
bool OnlyServes(const Job& job, const Communicator& world);
/// The part of a rank of this world; the CPU alone if it only serves.
Devices DevicesOf(const Job& job, const Communicator& world, const LocalRank& rank);
/// How a machine's workers, so many, share them; none: a server needs the CPU alone.
DeviceShares SharesOf(const Job& job, int workers);
/// The device that holds values, gradients and the rule's state in real time: the job's only one,
/// if executor and strategy can reach them there, else the CPU.
Device& ValuesDevice(const Job& job, const Devices& devices);
/// Throws UserError if [train] weights asks for bf16 and the model has no rows, or a device is not
/// the CPU.
void RequireRowType(const Job& job, const ParamLayout& layout, const Devices& devices);
/// Throws UserError if the strategy serves a head and a device is not the CPU.
void RequireDevicesOfHead(const Job& job);

/// Whether these devices take batches as they are stored (ReadRequest::as_stored): all but the CPU
/// alone, whose input is made as it is read.
bool TakeStored(const Devices& devices);

}  // namespace yoke
