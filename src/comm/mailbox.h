// Mailbox: messages that were sent to a rank and not yet received.
#pragma once

#include <list>
#include <string>

#include "base/check.h"
#include "comm/transport.h"

namespace yoke {

/// Ends a wait because another rank has failed: a consequence, not the cause.
class GaveUp : public Error {
 public:
  using Error::Error;
};

struct Letter {
  MessageKey key;
  std::vector<std::byte> bytes;
  double arrival = 0;   ///< Virtual time of arrival; 0 in real time.
  int64_t billed = -1;  ///< As in Message.
};

class Mailbox {
 public:
  using Place = std::list<Letter>::iterator;

  /// The letter stays where it is until it is taken.
  Letter& Put(Letter letter) { return letters_.emplace_back(std::move(letter)); }
  /// Once the arrival of the letter put last is known: moves it before those that arrive later.
  void Sort();
  /// The first matching letter, or End(). The one that arrives first (of equal ones, the one sent
  /// first), if arrivals are equal or each letter was sorted in.
  Place Find(const MessageKey& key);
  /// The same where arrivals may have changed since.
  Place FindEarliest(const MessageKey& key);
  Place End() { return letters_.end(); }
  Message Take(Place place);
  /// What this world rank sent never arrives if its arrival is later.
  void Lose(int source, double arrival);

  static bool Fits(const MessageKey& wanted, const MessageKey& key) {
    return wanted.context == key.context && wanted.tag == key.tag &&
           (wanted.source == kAnySource || wanted.source == key.source);
  }

 private:
  std::list<Letter> letters_;  // in the order sent, or of arrival
};

/// The message for a wait that timed out after this many seconds.
std::string TimeoutSentence(const Transport& transport, const MessageKey& key,
                            const char* operation, double seconds);
inline std::string TimeoutSentence(const Transport& transport, const MessageKey& key,
                                   const char* operation) {
  return TimeoutSentence(transport, key, operation, transport.timeout());
}
/// The message for a wait that ended because another rank failed.
std::string FailureSentence(const Transport& transport, int failed, const char* operation);

}  // namespace yoke
