// PipelineTimes: what a step of the executor `pipeline` takes, from the prices of its parts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/cost.h"
#include "model/graph.h"

namespace yoke {

/// A step on a device, which has the body, and the CPU, which has the head.
struct PipelineStep {
  const Graph& graph;
  std::string device;
  std::vector<int64_t> parts;  ///< Examples of each part of the batch.
  double rows = 0;             ///< Of sparse first layers, that the batch reads.
};

struct PipelineTimes {
  double seconds = 0;
  double device_seconds = 0, cpu_seconds = 0;  ///< At work.
};

/// The device computes the forward passes one after the other, then each backward pass once the
/// head's gradient has come; the CPU computes the heads in order:
///   forward_p ends  f_p = f_(p-1) + F_p,     f_0 = the values' copies + F_0
///   head_p ends     h_p = max(h_(p-1), f_p) + H_p
///   backward_p ends b_p = max(b_(p-1), h_p) + B_p,     b_(-1) = the last f
/// and the gradient's copies come last. F, H and B include the copies of activations and of their
/// gradient.
PipelineTimes TimesOf(const PipelineStep& step,
                      const std::function<double(const Cost&, const WorkPlace&)>& seconds);

}  // namespace yoke
