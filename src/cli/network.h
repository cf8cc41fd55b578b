// `yoke doctor --network`: measures the cost of messages between ranks.
#pragma once

#include <optional>

#include "cli/output.h"

namespace yoke {

struct NetworkRequest {
  std::optional<int> replicas = {};  ///< Number of ranks as threads of this process, if given.
  double timeout = 60;               ///< Maximum seconds of one wait.
};

/// Measures between the processes of a launcher or, without one, between threads; rank 0 prints.
/// Throws UserError if both a launcher and replicas are given, and for fewer than 2 replicas.
void ReportNetwork(const NetworkRequest& request, Output& out);

}  // namespace yoke
