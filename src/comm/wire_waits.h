// WireWaits: the waits of a rank's threads on a wire, and the letters that end them. There is no
// receiving thread: a waiting thread makes progress on the wire, one at a time for its whole rank,
// with longer and longer pauses while nothing arrives.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/countdown.h"
#include "comm/mailbox.h"
#include "comm/wire.h"

namespace yoke {

/// Follows a message's bytes (and the padding of a long message to whole blocks).
struct Trailer {
  uint64_t context = 0;
  int64_t bytes = 0;
  int64_t tag = 0;
};

inline Packet Pack(const Trailer& trailer, std::span<const std::byte> bytes) {
  auto length = static_cast<int64_t>(bytes.size() + sizeof trailer);
  if (length > kLongestInBytes) length = (length + kWireBlock - 1) / kWireBlock * kWireBlock;
  Packet packed;
  packed.reserve(length);
  packed.assign(bytes.begin(), bytes.end());
  packed.resize(length);
  std::memcpy(packed.data() + length - sizeof trailer, &trailer, sizeof trailer);
  return packed;
}

inline Letter Unpack(int from, Packet packed) {
  Trailer trailer;
  std::memcpy(&trailer, packed.data() + packed.size() - sizeof trailer, sizeof trailer);
  packed.resize(trailer.bytes);
  return {.key = {.context = trailer.context, .source = from, .tag = static_cast<int>(trailer.tag)},
          .bytes = std::move(packed)};
}

/// Polls without a pause at first, then yields the core, then sleeps for longer and longer. A long
/// message progresses only while both of its ends poll, so sleep comes later while one is in
/// flight.
class Backoff {
 public:
  void Pause(bool moving) {
    constexpr double kLook = 20e-6, kYield = 5e-3, kYieldMoving = 20e-3;    // seconds
    constexpr double kShortest = 10e-6, kLongest = 1e-3, kPart = 1.0 / 16;  // of the wait so far
    const double now = Now();
    if (began_ == 0 || moving != moving_) began_ = now;
    moving_ = moving;
    if (now - began_ < kLook) return;
    if (now - began_ < (moving ? kYieldMoving : kYield)) return std::this_thread::yield();
    const double sleep = std::clamp(kPart * (now - began_), kShortest, kLongest);
    std::this_thread::sleep_for(std::chrono::duration<double>(sleep));
  }

 private:
  double began_ = 0;
  bool moving_ = false;
};

class WireWaits {
 public:
  /// `deliver` takes each letter that arrives, without the lock.
  WireWaits(Wire& wire, std::function<void(Letter)> deliver)
      : wire_(wire), deliver_(std::move(deliver)) {}

  /// The lock of all that waits look at. Call Changed() after a change.
  std::mutex& mutex() { return mutex_; }
  void Changed() { changed_.notify_all(); }

  /// A process is lost: all waits of this rank end with RankLost.
  void Lose() {
    const std::lock_guard lock(mutex_);
    lost_ = true;
    Changed();
  }
  bool lost() const { return lost_; }

  template <typename Done>
  bool Wait(double seconds, const Done& done) {
    Countdown left(seconds);
    return Wait(left, done);
  }

  /// Runs work(); if the wire reports a lost process, all waits of this rank end.
  template <typename Work>
  void OnWire(const Work& work) {
    try {
      work();
    } catch (const RankLost&) {
      Lose();
      throw;
    }
  }

  /// Waits until `done()`, which is called with the lock held, is true; false when the countdown is
  /// over. Looks at the wire at least once. `asks`: calling `done` makes progress.
  template <typename Done>
  bool Wait(Countdown& left, const Done& done, bool asks = false) {
    std::unique_lock lock(mutex_);
    Turn turn(*this);
    Backoff backoff;
    for (bool last = false;; last = left.Over()) {
      if (done()) return true;
      if (lost_) throw RankLost(fmt::format("rank {} has lost another in a wait", wire_.rank()));
      if (last) return false;
      if (!turn.Mine() && !asks)
        changed_.wait_for(lock, left.Slice());
      else if (!turn.Mine() || !Look(lock))
        Rest(lock, backoff, asks);
      else
        backoff = {};
    }
  }

 private:
  /// One thread at a time polls the wire; when it leaves, another takes over. Requires the lock.
  class Turn {
   public:
    explicit Turn(WireWaits& waits) : waits_(waits) {}
    ~Turn() {
      if (!mine_) return;
      waits_.turn_taken_ = false;
      waits_.Changed();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    bool Mine() {
      if (!waits_.turn_taken_) mine_ = waits_.turn_taken_ = true;
      return mine_;
    }

   private:
    WireWaits& waits_;
    bool mine_ = false;
  };

  /// Delivers what has arrived on the wire; false if nothing has.
  bool Look(std::unique_lock<std::mutex>& lock) {
    const Unlocked unlocked(lock);
    int from = 0;
    Packet bytes;
    bool any = false;
    OnWire([&] {
      while (wire_.Receive(from, bytes)) {
        deliver_(Unpack(from, std::move(bytes)));
        any = true;
      }
    });
    return any;
  }

  void Rest(std::unique_lock<std::mutex>& lock, Backoff& backoff, bool moving) {
    const Unlocked unlocked(lock);
    backoff.Pause(moving || wire_.Receiving());
  }

  struct Unlocked {
    explicit Unlocked(std::unique_lock<std::mutex>& held) : lock(held) { lock.unlock(); }
    ~Unlocked() { lock.lock(); }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;
    std::unique_lock<std::mutex>& lock;
  };

  Wire& wire_;
  std::function<void(Letter)> deliver_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool turn_taken_ = false;
  std::atomic<bool> lost_ = false;  ///< A process is lost.
};

}  // namespace yoke
