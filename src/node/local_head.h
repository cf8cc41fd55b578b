// LocalHead: a graph's head, computed locally by the caller's threads.
#pragma once

#include <optional>

#include "node/executor.h"

namespace yoke {

/// The head of the context's graph that a strategy may serve; none if the graph has no cut. The
/// offer is valid as long as the graph.
std::optional<HeadOffer> OfferHead(const ExecutorContext& context);

}  // namespace yoke
