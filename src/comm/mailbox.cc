// Mailbox: a list, searched from the front.
#include "comm/mailbox.h"

#include <fmt/core.h>

#include <utility>

namespace yoke {

Mailbox::Place Mailbox::Find(const MessageKey& key) {
  Place best = End();
  for (Place at = letters_.begin(); at != End(); ++at)
    if (Fits(key, at->key) && (best == End() || at->arrival < best->arrival)) best = at;
  return best;
}

Message Mailbox::Take(Place place) {
  Message message{.source = place->key.source, .bytes = std::move(place->bytes)};
  letters_.erase(place);
  return message;
}

std::string TimeoutSentence(const Transport& transport, const MessageKey& key,
                            const char* operation, double seconds) {
  const std::string peer =
      key.source == kAnySource ? "any rank" : fmt::format("rank {}", key.source);
  return fmt::format(
      "rank {} waited {:.3g} s for {} in {}: it has stopped, is much slower, or does not take "
      "part; "
      "look at its machine, or raise cluster.timeout",
      transport.rank(), seconds, peer, operation);
}

std::string FailureSentence(const Transport& transport, int failed, const char* operation) {
  return fmt::format("rank {} gives up in {}: rank {} has failed", transport.rank(), operation,
                     failed);
}

}  // namespace yoke
