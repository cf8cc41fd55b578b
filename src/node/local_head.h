// LocalHead: a graph's head, computed here by one caller's threads.
#pragma once

#include <optional>

#include "node/executor.h"

namespace yoke {

/// What a strategy may serve of the context's graph; none where it has no cut. The offer lives as
/// long as the graph.
std::optional<HeadOffer> OfferHead(const ExecutorContext& context);

}  // namespace yoke
