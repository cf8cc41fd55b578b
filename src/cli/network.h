// `yoke doctor --network`: what messages between ranks cost.
#pragma once

#include <optional>

#include "cli/output.h"

namespace yoke {

struct NetworkRequest {
  std::optional<int> replicas = {};  ///< Ranks as threads of this process, if said.
  double timeout = 60;               ///< Seconds of one wait.
};

/// Measures between the processes of a launcher or, where there is none, between threads; rank 0
/// prints. Throws UserError where a launcher and replicas are given, and for fewer than 2 of these.
void ReportNetwork(const NetworkRequest& request, Output& out);

}  // namespace yoke
