// ExecutorEstimate: what an executor is predicted to do on stated devices, from the costs of its
// parts and the devices' speed curves, without running it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/cost.h"
#include "model/graph.h"
#include "node/speed_curve.h"
#include "params/layout.h"

namespace yoke {

/// What a pass on a device costs besides, if the values lie on the host: bytes copied between the
/// two memories, all values there, the dense gradient back.
inline double CopiedBytes(const ParamLayout& layout) {
  return 4.0 * static_cast<double>(layout.size() + layout.dense_size());
}

/// The same in the host's memory, by the caller: the values to where the device gets them, the
/// gradient from where it puts it.
inline Cost CostOfStaging(const ParamLayout& layout) { return {.bytes = 2 * CopiedBytes(layout)}; }

/// Training on one node.
struct EstimateRequest {
  const Graph& graph;         ///< For the price of a pass and the sizes of what is copied.
  Cost update = {};           ///< CostOfUpdate of the dense values.
  int64_t batch = 0;          ///< train.batch.
  int64_t step_examples = 0;  ///< As in ExecutorContext.
  int64_t epoch = 0;          ///< Examples.
  std::vector<std::string> devices = {"cpu"};  ///< Names, as node.devices.
  std::string values_device = "cpu";           ///< Holds the values, as in ExecutorContext.
  std::map<std::string, SpeedCurve> speeds;    ///< Of these devices, and of "cpu" in any case.

  int Workers() const { return speeds.at("cpu").threads; }
  double Seconds(const Cost& cost, const WorkPlace& place) const {
    return speeds.at(std::string(place.device)).Seconds(cost, place);
  }
  /// Of a pass; on a device that does not hold the values with its copies: all values to it, the
  /// dense gradient back.
  double PassSeconds(const std::string& device, int64_t examples) const {
    Cost cost = graph.Price(examples);
    if (IsApart(device)) cost.device_bytes = CopiedBytes(graph.layout());
    return Seconds(cost, {.device = device, .examples = examples});
  }
  /// Whether its passes need copies between two memories.
  bool IsApart(const std::string& device) const {
    return device != "cpu" && device != values_device;
  }
};

/// Of steps after the first ones. Executors that do not update in place leave the update to the
/// strategy, so its time is not in these.
struct ExecutorEstimate {
  struct Device {
    std::string name;
    double updates_per_second = 0;   ///< Or gradients that go into one.
    double examples_per_update = 0;  ///< The mean.
    double busy = 0;                 ///< As in DeviceWork.
  };
  double seconds_per_example = 0;    ///< Of an example handed out, to any device.
  std::vector<Device> devices = {};  ///< In the order of EstimateRequest::devices.
  /// An update of fewer examples than the batch takes its part of the learning rate.
  bool scales_rate = false;
};

}  // namespace yoke
