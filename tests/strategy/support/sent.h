// Sent: what a strategy's ranks send, counted in virtual time.
#pragma once

#include <string>
#include <vector>

#include "strategy/support/lab.h"

namespace yoke::test {

/// Messages and bytes of all ranks together, for a step of each; what is sent before the first step
/// and after the last is left out.
inline Cost Sent(const std::string& strategy, const Table& options, const SimulatedRanks& cluster,
                 int64_t steps) {
  std::vector<Traffic> sent(cluster.ranks);
  Simulate(cluster, [&](const Communicator& world) {
    Lab lab(world,
            {.strategy = strategy, .options = options, .steps = steps, .gradient = PullToRank});
    const Traffic before = lab.strategy->Counts().traffic;
    lab.Steps();
    world.Sleep(1);  // what is under way lands
    const Traffic after = lab.strategy->Counts().traffic;
    sent[world.rank()] = {.messages_sent = after.messages_sent - before.messages_sent,
                          .bytes_sent = after.bytes_sent - before.bytes_sent};
    lab.strategy->Finish();
  });
  Cost sum;
  for (const Traffic& one : sent)
    sum += {.messages = static_cast<double>(one.messages_sent) / static_cast<double>(steps),
            .message_bytes = static_cast<double>(one.bytes_sent) / static_cast<double>(steps)};
  return sum;
}

}  // namespace yoke::test
