// MeasureDevice: the speed curve of a device other than the CPU, and devices that are kept at work
// while another one is measured.
#pragma once

#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "measure/machine_profile.h"

namespace yoke {

/// Trains a copy of the model by steps whose gradient comes from the device, and fits a curve to
/// them: what the CPU does in a step (curve `cpu`) is taken off, and copies between the two
/// memories are timed apart. Takes about `seconds`. Throws UserError for a layer that the device
/// does not take.
SpeedCurve MeasureDevice(const ProfileRequest& request, Device& device, const SpeedCurve& cpu,
                         double seconds);

/// Bytes per second of adding vectors of 4 MiB on a device, measured for about `seconds`.
double SpeedOfSums(Device& device, double seconds);

/// The request's devices other than `but`, each of which trains a copy of the model by steps of the
/// job's batch, on a thread of its own; the CPU with its threads together. None if `but` is not
/// among the request's devices.
class DevicesAtWork {
 public:
  /// Returns when all are at work.
  DevicesAtWork(const ProfileRequest& request, const Device& but);
  ~DevicesAtWork() { Join(); }
  DevicesAtWork(const DevicesAtWork&) = delete;
  DevicesAtWork& operator=(const DevicesAtWork&) = delete;
  /// Waits for their last steps. Rethrows what ended one of them before.
  void End();

 private:
  void Work(Device& device, std::exception_ptr& failure);
  void Join();

  const ProfileRequest& request_;
  std::atomic<bool> ends_ = false;
  std::atomic<int> starting_ = 0;
  std::vector<std::exception_ptr> failures_;  // by thread
  std::vector<std::thread> threads_;
};

}  // namespace yoke
