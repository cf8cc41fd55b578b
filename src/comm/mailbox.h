// Mailbox: messages that have been sent to a rank and not yet been taken.
#pragma once

#include <list>
#include <string>

#include "base/check.h"
#include "comm/transport.h"

namespace yoke {

/// What ends a wait because a rank has failed: a consequence, not a reason.
class GaveUp : public Error {
 public:
  using Error::Error;
};

struct Letter {
  MessageKey key;
  std::vector<std::byte> bytes;
  double arrival = 0;  ///< In virtual time; 0 elsewhere.
};

class Mailbox {
 public:
  using Place = std::list<Letter>::iterator;

  void Put(Letter letter) { letters_.push_back(std::move(letter)); }
  /// The one that arrives first among those that fit, of equal ones the one sent first; End() when
  /// there is none.
  Place Find(const MessageKey& key);
  Place End() { return letters_.end(); }
  Message Take(Place place);

  static bool Fits(const MessageKey& wanted, const MessageKey& key) {
    return wanted.context == key.context && wanted.tag == key.tag &&
           (wanted.source == kAnySource || wanted.source == key.source);
  }

 private:
  std::list<Letter> letters_;  // in the order sent
};

/// What a wait says that was in vain for so many seconds.
std::string TimeoutSentence(const Transport& transport, const MessageKey& key,
                            const char* operation, double seconds);
inline std::string TimeoutSentence(const Transport& transport, const MessageKey& key,
                                   const char* operation) {
  return TimeoutSentence(transport, key, operation, transport.timeout());
}
/// What a wait says that ends because another rank has failed.
std::string FailureSentence(const Transport& transport, int failed, const char* operation);

}  // namespace yoke
