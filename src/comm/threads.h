// Ranks as threads of this process: the default.
#pragma once

#include <functional>
#include <memory>

#include "comm/communicator.h"

namespace yoke {

struct ThreadRanks {
  int ranks = 1;
  double timeout = 60;  ///< Seconds of one wait.
  AllReduceAlgorithm all_reduce = AllReduceAlgorithm::kAuto;
  /// As Transport::MakeDeviceAllReduce; empty: NCCL's.
  std::function<std::unique_ptr<DeviceAllReduce>(const Communicator&, Device&)> device_all_reduce =
      {};
};

/// Runs body(world) once per rank, rank 0 in the calling thread and the others on their own
/// threads, and waits for all. If one throws, the others' waits end immediately, and its exception
/// is rethrown here.
void RunThreads(const ThreadRanks& options, const std::function<void(const Communicator&)>& body);

/// A world of one rank without a timeout, for the threads that it spawns. They end before the last
/// copy of the communicator.
Communicator LocalWorld();

}  // namespace yoke
