// Mailbox: a list, searched from the front.
#include "comm/mailbox.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace yoke {

void Mailbox::Sort() {
  const Place last = std::prev(End());
  Place at = last;  // from the back: few messages overtake others
  while (at != letters_.begin() && std::prev(at)->arrival > last->arrival) --at;
  letters_.splice(at, letters_, last);
}

Mailbox::Place Mailbox::Find(const MessageKey& key) {
  return std::ranges::find_if(letters_, [&](const Letter& each) { return Fits(key, each.key); });
}

Mailbox::Place Mailbox::FindEarliest(const MessageKey& key) {
  Place best = End();
  for (Place at = letters_.begin(); at != End(); ++at)
    if (Fits(key, at->key) && (best == End() || at->arrival < best->arrival)) best = at;
  return best;
}

Message Mailbox::Take(Place place) {
  Message message{
      .source = place->key.source, .bytes = std::move(place->bytes), .billed = place->billed};
  letters_.erase(place);
  return message;
}

/// They stay, because something may still move their arrivals (FairLinks).
void Mailbox::Lose(int source, double arrival) {
  constexpr uint64_t kNowhere = ~uint64_t{1};  // no communicator's context
  for (Letter& letter : letters_)
    if (letter.key.source == source && letter.arrival > arrival) letter.key.context = kNowhere;
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
