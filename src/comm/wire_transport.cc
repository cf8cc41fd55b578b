// A world over a wire. There is no receiving thread: a waiting thread makes progress on the wire,
// one thread at a time for its whole rank, with longer and longer pauses while nothing arrives.
#include "comm/wire_transport.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <new>
#include <thread>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/wait_time.h"
#include "comm/join_watch.h"
#include "comm/lost.h"
#include "comm/mailbox.h"
#include "comm/patience.h"
#include "comm/spawned.h"
#include "comm/wire_letter.h"

namespace yoke {
namespace {

/// The context of the end of a world, which no communicator has.
constexpr uint64_t kEnding = std::numeric_limits<uint64_t>::max();
enum EndingTag : int { kFailed, kFarewell };

/// A wait that lasted too long.
class TimedOut : public Error {
 public:
  TimedOut(const std::string& sentence, int source) : Error(sentence), source_(source) {}
  int source() const { return source_; }  ///< Who did not send.

 private:
  int source_;
};

struct Failure {
  int rank = 0;
  int status = 1;
  std::string sentence;
  int blames = kAnySource;  ///< Another rank, when it is known.
};

/// Of a rank above 0 a sentence names it: the others may be as well as they look.
std::string Named(int rank, const std::string& sentence) {
  return rank == 0 || sentence.starts_with("rank ") ? sentence
                                                    : fmt::format("rank {}: {}", rank, sentence);
}

Failure Describe(int rank, const std::exception_ptr& what) {
  try {
    std::rethrow_exception(what);
  } catch (const TimedOut& error) {
    return {rank, error.exit_status(), error.what(), error.source()};
  } catch (const Error& error) {
    return {rank, error.exit_status(), Named(rank, error.what())};
  } catch (const std::bad_alloc&) {
    return {rank, 1, fmt::format("rank {} is out of memory", rank)};
  } catch (const std::exception& error) {
    return {rank, 1, Named(rank, error.what())};
  }
}

class WireTransport : public RealTransport<WireTransport> {
 public:
  WireTransport(Wire& wire, const WireRanks& options)
      : wire_(wire), options_(options), ended_(wire.size()) {
    ended_[wire.rank()] = true;
  }

  int rank() const override { return wire_.rank(); }
  int size() const override { return options_.ranks; }
  double timeout() const override { return options_.timeout; }
  AllReduceAlgorithm all_reduce() const override { return options_.all_reduce; }

  void Send(int to, uint64_t context, int tag, std::span<const std::byte> bytes) override {
    if (to != rank())
      return OnWire([&] {
        wire_.Send(to, Pack({context, static_cast<int64_t>(bytes.size()), tag}, bytes));
      });
    const std::lock_guard lock(mutex_);
    mail_.Put({.key = {.context = context, .source = to, .tag = tag},
               .bytes = {bytes.begin(), bytes.end()}});
    changed_.notify_all();
  }

  Message Receive(const MessageKey& key, const char* operation) override {
    Message message;
    if (!Take(key, timeout(), operation, message))
      throw TimedOut(TimeoutSentence(*this, key, operation), key.source);
    return message;
  }

  bool TryReceive(const MessageKey& key, double seconds, Message& message) override {
    return Take(key, seconds, nullptr, message);
  }

  std::unique_ptr<yoke::NativeAllReduce> MakeNativeAllReduce(uint64_t context,
                                                             std::span<const int> ranks) override {
    const JoinWatch watch(timeout());
    std::unique_ptr<WireGroup> group;
    OnWire([&] { group = wire_.Group(ranks, context); });
    if (!group) return nullptr;
    return std::make_unique<NativeAllReduce>(*this, context, ranks, std::move(group));
  }

  void GiveUp() { EndWaits(rank()); }

  /// Lets everybody know when it throws.
  template <typename Work>
  void Guard(const Work& work) {
    try {
      work();
    } catch (const RankLost&) {
      Lose();
    } catch (const GaveUp&) {
      GiveUp();
      const std::lock_guard lock(mutex_);
      consequence_ = std::current_exception();
    } catch (...) {
      Fail(std::current_exception());
    }
  }

  /// Waits until all ranks have said farewell and everything sent has arrived; false if a rank does
  /// not.
  bool End() {
    if (lost_) return false;
    if (consequence_ && failures_.empty()) Fail(consequence_);
    Tell(kFarewell, {});
    bool well = false;
    Guard([&] { well = AwaitFarewells(); });
    return well;
  }

  /// A process is lost and no rank has failed, so the survivors can continue.
  bool LostOne() const { return lost_ && failures_.empty(); }

  /// Throws what the world failed of, if it did.
  void Rethrow() {
    if (failures_.empty()) return;
    throw WorldError(First().sentence, First().status, /*tell=*/rank() == 0);
  }

  /// Prints why and ends the job; the lowest rank that still answers is the first to do so.
  void Abort() {
    const bool first = std::find(ended_.begin(), ended_.end(), true) - ended_.begin() == rank();
    if (first)
      std::fprintf(stderr, "yoke: %s\n", First().sentence.c_str());
    else
      Sleep(options_.farewell / 2);
    wire_.Abort(First().status);
  }

 private:
  /// Ranks that add up by MPI's own means.
  class NativeAllReduce : public yoke::NativeAllReduce {
   public:
    NativeAllReduce(WireTransport& transport, uint64_t context, std::span<const int> ranks,
                    std::unique_ptr<WireGroup> group)
        : transport_(transport.shared_from_this()),
          context_(context),
          ranks_(ranks.begin(), ranks.end()),
          group_(std::move(group)) {}
    void Sum(std::span<float> values) override {
      for (constexpr size_t kMost = 1 << 28; !values.empty();) {
        const std::span<float> piece = values.first(std::min(kMost, values.size()));
        if (!transport_->Sum(*group_, piece)) {
          const int missing = transport_->FirstMissing(context_, ranks_);
          throw TimedOut(TimeoutSentence(*transport_, {.source = missing}, "MPI's all-reduce"),
                         missing);
        }
        values = values.subspan(piece.size());
      }
    }

   private:
    std::shared_ptr<WireTransport> transport_;
    uint64_t context_;
    std::vector<int> ranks_;
    std::unique_ptr<WireGroup> group_;
  };

  /// MPI does not say whom it waits for: all whose time is over say that they are there, and who
  /// has gone ahead fails in a wait of its own.
  int FirstMissing(uint64_t context, std::span<const int> ranks) {
    constexpr int kHere = std::numeric_limits<int>::min();
    for (const int rank : ranks) Send(rank, context, kHere, {});
    const auto missing = [&] {
      return std::find_if(ranks.begin(), ranks.end(), [&](int rank) {
        const MessageKey here = {.context = context, .source = rank, .tag = kHere};
        return !ended_[rank] && mail_.Find(here) == mail_.End();
      });
    };
    if (Wait(Now() + options_.farewell / 2, [&] { return missing() == ranks.end(); }))
      return kAnySource;
    const std::lock_guard lock(mutex_);
    const auto one = missing();
    return one == ranks.end() ? kAnySource : *one;
  }

  /// False when it lasts too long. Who has begun comes to the end, though another may fail
  /// meanwhile: MPI must not be left in it.
  bool Sum(WireGroup& group, std::span<float> values) {
    bool done = false;
    OnWire([&] {
      group.Begin(values);
      done = Wait(
          Now() + timeout(), [&] { return group.Done(); }, /*asks=*/true);
    });
    if (done) group.Take(values);
    return done;
  }

  /// Where the wire says that a process is lost, all waits of this rank end.
  template <typename Work>
  void OnWire(const Work& work) {
    try {
      work();
    } catch (const RankLost&) {
      Lose();
      throw;
    }
  }

  void Lose() {
    const std::lock_guard lock(mutex_);
    lost_ = true;
    changed_.notify_all();
  }

  /// Another may be in a wait of its own, and only then learn that it is in vain.
  bool AwaitFarewells() {
    const double began = Now(), patience = 2 * timeout() + options_.farewell;
    Wait(began + patience, [&] { return failed_ >= 0 || AllEnded(); });
    if (Wait(failed_ >= 0 ? Now() + options_.farewell : Now(), [&] { return AllEnded(); }))
      return true;
    const std::lock_guard lock(mutex_);
    if (failures_.empty())
      failures_.push_back({rank(), 1,
                           fmt::format("rank {} waited {:.3g} s for rank {} at the end: it has "
                                       "stopped, or is much slower; look at its machine, or raise "
                                       "cluster.timeout",
                                       rank(), Now() - began, FirstSilent())});
    return false;
  }

  /// False if nothing arrived in time. `operation` is null if the caller can continue without a
  /// message; such a wait blames no rank.
  bool Take(const MessageKey& key, double seconds, const char* operation, Message& message) {
    const double began = Now();
    return Wait(began + seconds, [&] {
      const Mailbox::Place place = mail_.Find(key);
      if (place == mail_.End()) {
        if (failed_ >= 0 && !lost_) EndWait(key, operation, Now() - began);
        return false;
      }
      message = mail_.Take(place);
      return true;
    });
  }

  /// A rank has failed. A rank that has waited long itself knows more about the reason than one
  /// that waited for it.
  [[noreturn]] void EndWait(const MessageKey& key, const char* operation, double waited) const {
    if (operation && key.source != kAnySource && key.source != rank() && waited > timeout() / 2)
      throw TimedOut(TimeoutSentence(*this, key, operation, waited), key.source);
    throw GaveUp(FailureSentence(*this, failed_, operation ? operation : "a wait"));
  }

  /// Until `done()`, which is asked behind the lock, or the deadline: then false. Looks at the wire
  /// at least once. `asks`: `done` becomes true by being asked.
  template <typename Done>
  bool Wait(double deadline, const Done& done, bool asks = false) {
    std::unique_lock lock(mutex_);
    Turn turn(*this);
    Patience patience;
    for (bool last = false;; last = Now() >= deadline) {
      if (done()) return true;
      if (lost_) throw RankLost(fmt::format("rank {} has lost another in a wait", rank()));
      if (last) return false;
      if (!turn.Mine() && !asks)
        changed_.wait_for(lock, WaitTime(deadline - Now()));
      else if (!turn.Mine() || !Look(lock))
        Rest(lock, patience, asks);
      else
        patience = {};
    }
  }

  /// One thread at a time moves the wire on; when it leaves, another takes over. Behind the lock.
  class Turn {
   public:
    explicit Turn(WireTransport& transport) : transport_(transport) {}
    ~Turn() {
      if (!mine_) return;
      transport_.turn_taken_ = false;
      transport_.changed_.notify_all();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    bool Mine() {
      if (!transport_.turn_taken_) mine_ = transport_.turn_taken_ = true;
      return mine_;
    }

   private:
    WireTransport& transport_;
    bool mine_ = false;
  };

  /// Takes what has arrived off the wire; false when it is nothing.
  bool Look(std::unique_lock<std::mutex>& lock) {
    const Unlocked unlocked(lock);
    int from = 0;
    Packet bytes;
    bool any = false;
    OnWire([&] {
      while (wire_.Receive(from, bytes)) {
        Deliver(Unpack(from, std::move(bytes)));
        any = true;
      }
    });
    return any;
  }

  void Rest(std::unique_lock<std::mutex>& lock, Patience& patience, bool moving) {
    const Unlocked unlocked(lock);
    patience.Pause(moving || wire_.Receiving());
  }

  struct Unlocked {
    explicit Unlocked(std::unique_lock<std::mutex>& held) : lock(held) { lock.unlock(); }
    ~Unlocked() { lock.lock(); }
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;
    std::unique_lock<std::mutex>& lock;
  };

  void Deliver(Letter letter) {
    const std::lock_guard lock(mutex_);
    if (letter.key.context != kEnding) {
      mail_.Put(std::move(letter));
    } else if (letter.key.tag == kFarewell) {
      ended_[letter.key.source] = true;
    } else {
      int32_t head[2] = {};
      std::memcpy(head, letter.bytes.data(), sizeof head);
      const auto* text = reinterpret_cast<const char*>(letter.bytes.data()) + sizeof head;
      failures_.push_back({letter.key.source, head[0],
                           std::string(text, letter.bytes.size() - sizeof head), head[1]});
      if (failed_ < 0) failed_ = letter.key.source;
    }
    changed_.notify_all();
  }

  void EndWaits(int failed) {
    const std::lock_guard lock(mutex_);
    if (failed_ < 0) failed_ = failed;
    changed_.notify_all();
  }

  /// This rank has failed by itself; only its first reason counts.
  void Fail(const std::exception_ptr& what) {
    const Failure failure = Describe(rank(), what);
    EndWaits(rank());
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(told_, true)) return;
      failures_.push_back(failure);
    }
    const int32_t head[] = {failure.status, failure.blames};
    std::vector<std::byte> bytes(sizeof head + failure.sentence.size());
    std::memcpy(bytes.data(), head, sizeof head);
    std::memcpy(bytes.data() + sizeof head, failure.sentence.data(), failure.sentence.size());
    Tell(kFailed, bytes);
  }

  /// To all processes, those beyond the ranks too. One that cannot be reached will be missed.
  void Tell(int tag, std::span<const std::byte> bytes) {
    for (int to = 0; to < wire_.size(); ++to) try {
        if (to != rank()) Send(to, kEnding, tag, bytes);
      } catch (const Error&) {
        EndWaits(to);
      }
  }

  bool AllEnded() { return FirstSilent() == wire_.size() && !wire_.Sending(); }
  int FirstSilent() const {
    return static_cast<int>(std::find(ended_.begin(), ended_.end(), false) - ended_.begin());
  }
  /// The failure of the lowest rank among those that blame a silent rank, if any; then among those
  /// that blame none, because a rank that was waited for and still answers knows better why.
  const Failure& First() const {
    const auto place = [this](const Failure& failure) {
      const bool alone = failure.blames < 0, silent = !alone && !ended_[failure.blames];
      return std::tuple(!silent, !alone, failure.rank);
    };
    return *std::min_element(failures_.begin(), failures_.end(),
                             [&](const auto& a, const auto& b) { return place(a) < place(b); });
  }

  Wire& wire_;
  WireRanks options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Mailbox mail_;
  bool turn_taken_ = false;
  std::atomic<bool> lost_ = false;  // a process
  int failed_ = -1;                 // a rank whose messages will not come any more
  bool told_ = false;               // that this rank has failed by itself
  std::exception_ptr consequence_;  // of another failure
  std::vector<Failure> failures_;   // of all ranks
  std::vector<bool> ended_;         // ranks that have said farewell
};

/// Whether somebody has, of a world of survivors.
bool AnyHas(const Communicator& world, bool mine) {
  const auto all = world.AllGather(std::as_bytes(std::span(&mine, 1)));
  return std::any_of(all.begin(), all.end(),
                     [](const auto& theirs) { return theirs[0] != std::byte{0}; });
}

/// A world's life on one wire.
class Life {
 public:
  Life(const WireRanks& options, const std::function<void(const Communicator&)>& body)
      : options_(options), body_(body) {}

  /// False when it ends with the loss of a process.
  bool On(Wire& wire) {
    WireRanks options = options_;
    options.ranks = std::min(options.ranks, wire.size());
    const auto transport = std::make_shared<WireTransport>(wire, options);
    if (wire.rank() < options.ranks) transport->Guard([&] { Take(Communicator(transport)); });
    const bool well = transport->End();
    if (transport->LostOne()) return false;
    if (!well) transport->Abort();
    transport->Rethrow();
    return true;
  }

 private:
  void Take(const Communicator& world) {
    ended_ = std::exchange(again_, true) && AnyHas(world, ended_);
    if (!ended_) body_(world);
    ended_ = true;
  }

  const WireRanks& options_;
  const std::function<void(const Communicator&)>& body_;
  bool again_ = false;
  bool ended_ = false;
};

}  // namespace

void RunOverWire(Wire& wire, const WireRanks& options,
                 const std::function<void(const Communicator&)>& body) {
  Life life(options, body);
  std::vector<std::unique_ptr<Wire>> smaller;  // what was under way on earlier ones stays
  for (Wire* now = &wire; !life.On(*now);) {
    const JoinWatch watch(options.timeout);
    now = smaller.emplace_back(now->Survivors()).get();
    if (!options.survive)
      throw WorldError("a process of the job is gone", 1, /*tell=*/now->rank() == 0);
  }
}

}  // namespace yoke
