// A world over a wire: its messages, its native all-reduce, and the end of all ranks.
#include "comm/wire_transport.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/countdown.h"
#include "comm/gather.h"
#include "comm/join_watch.h"
#include "comm/mailbox.h"
#include "comm/spawned.h"
#include "comm/wire_failure.h"
#include "comm/wire_waits.h"
#include "kernels/threads.h"

namespace yoke {
namespace {

/// The context of the messages at the end of a world; no communicator has it.
constexpr uint64_t kEnding = std::numeric_limits<uint64_t>::max();
enum EndingTag : int { kFailed, kFarewell };

/// Ends the process with `status` unless it is destroyed within a second: MPI_Abort can wait
/// forever for a launcher that is gone.
class ExitIfStuck {
 public:
  explicit ExitIfStuck(int status) {
    try {
      std::thread([status, over = over_] {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        if (!*over) _exit(status);
      }).detach();
    } catch (const std::system_error&) {  // no thread: only MPI ends the process
    }
  }
  ~ExitIfStuck() { *over_ = true; }
  ExitIfStuck(const ExitIfStuck&) = delete;
  ExitIfStuck& operator=(const ExitIfStuck&) = delete;

 private:
  std::shared_ptr<std::atomic<bool>> over_ = std::make_shared<std::atomic<bool>>(false);
};

class WireTransport : public RealTransport<WireTransport> {
 public:
  WireTransport(Wire& wire, const WireRanks& options)
      : wire_(wire),
        options_(options),
        waits_(wire, [this](Letter letter) { Deliver(std::move(letter)); }),
        ended_(wire.size()) {
    ended_[wire.rank()] = true;
  }

  int rank() const override { return wire_.rank(); }
  int size() const override { return options_.ranks; }
  double timeout() const override { return options_.timeout; }
  AllReduceAlgorithm all_reduce() const override { return options_.all_reduce; }

  void Send(int to, uint64_t context, int tag, std::span<const std::byte> bytes) override {
    if (to != rank())
      return waits_.OnWire([&] {
        wire_.Send(to, Pack({context, static_cast<int64_t>(bytes.size()), tag}, bytes));
      });
    const std::lock_guard lock(waits_.mutex());
    mail_.Put({.key = {.context = context, .source = to, .tag = tag},
               .bytes = {bytes.begin(), bytes.end()}});
    waits_.Changed();
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
    waits_.OnWire([&] { group = wire_.Group(ranks, context); });
    if (!group) return nullptr;
    return std::make_unique<NativeAllReduce>(*this, context, ranks, std::move(group));
  }

  void GiveUp() { EndWaits(rank()); }

  /// Informs all ranks if work() throws.
  template <typename Work>
  void Guard(const Work& work) {
    try {
      work();
    } catch (const RankLost&) {
      waits_.Lose();
    } catch (const GaveUp&) {
      GiveUp();
      const std::lock_guard lock(waits_.mutex());
      consequence_ = std::current_exception();
    } catch (...) {
      Fail(std::current_exception());
    }
  }

  /// Waits until all ranks have said farewell and everything sent has arrived; false if a rank does
  /// not answer.
  bool End() {
    if (waits_.lost()) return false;
    if (consequence_ && failures_.empty()) Fail(consequence_);
    Tell(kFarewell, {});
    bool well = false;
    Guard([&] { well = AwaitFarewells(); });
    return well;
  }

  /// A process is lost and no rank has failed, so the survivors can continue.
  bool LostOne() const { return waits_.lost() && failures_.empty(); }

  /// Throws the world's failure, if any.
  void Rethrow() {
    if (failures_.empty()) return;
    throw WorldError(First().sentence, First().status, /*tell=*/rank() == 0);
  }

  /// Prints the reason and ends the job; the lowest rank that still answers does so first.
  void Abort() {
    const bool first = std::find(ended_.begin(), ended_.end(), true) - ended_.begin() == rank();
    if (first)
      std::fprintf(stderr, "yoke: %s\n", First().sentence.c_str());
    else
      Sleep(options_.farewell / 2);
    const ExitIfStuck exit(First().status);
    wire_.Abort(First().status);
  }

 private:
  /// Sums by MPI's own all-reduce.
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

  /// MPI does not report who is missing: all ranks whose wait timed out say that they are here. A
  /// rank that went ahead fails in a wait of its own.
  int FirstMissing(uint64_t context, std::span<const int> ranks) {
    constexpr int kHere = std::numeric_limits<int>::min();
    for (const int rank : ranks) Send(rank, context, kHere, {});
    const auto missing = [&] {
      return std::find_if(ranks.begin(), ranks.end(), [&](int rank) {
        const MessageKey here = {.context = context, .source = rank, .tag = kHere};
        return !ended_[rank] && mail_.Find(here) == mail_.End();
      });
    };
    if (waits_.Wait(options_.farewell / 2, [&] { return missing() == ranks.end(); }))
      return kAnySource;
    const std::lock_guard lock(waits_.mutex());
    const auto one = missing();
    return one == ranks.end() ? kAnySource : *one;
  }

  /// Returns false on a timeout. A started sum continues after another rank has failed, because MPI
  /// must not be left in it.
  bool Sum(WireGroup& group, std::span<float> values) {
    bool done = false;
    waits_.OnWire([&] {
      group.Begin(values);
      Countdown left(timeout());
      done = waits_.Wait(
          left, [&] { return group.Done(); }, /*asks=*/true);
    });
    if (done) group.Take(values);
    return done;
  }

  /// Allows long: another rank may be in its own wait, and notice only when that times out.
  bool AwaitFarewells() {
    Countdown left(2 * timeout() + options_.farewell);
    waits_.Wait(left, [&] { return failed_ >= 0 || AllEnded(); });
    if (waits_.Wait(failed_ >= 0 ? options_.farewell : 0, [&] { return AllEnded(); })) return true;
    const std::lock_guard lock(waits_.mutex());
    if (failures_.empty())
      failures_.push_back({rank(), 1,
                           fmt::format("rank {} waited {:.3g} s for rank {} at the end: it has "
                                       "stopped, or is much slower; look at its machine, or raise "
                                       "cluster.timeout",
                                       rank(), left.Waited(), FirstSilent())});
    return false;
  }

  /// Returns false if nothing arrived in time. `operation` is null if the caller can continue
  /// without a message; such a wait blames no rank.
  bool Take(const MessageKey& key, double seconds, const char* operation, Message& message) {
    Countdown left(seconds);
    return waits_.Wait(left, [&] {
      const Mailbox::Place place = mail_.Find(key);
      if (place == mail_.End()) {
        if (failed_ >= 0 && !waits_.lost()) EndWait(key, operation, left.Waited());
        return false;
      }
      message = mail_.Take(place);
      return true;
    });
  }

  /// Ends a wait after another rank has failed. A rank that has waited long itself knows more about
  /// the reason than one that waited for it.
  [[noreturn]] void EndWait(const MessageKey& key, const char* operation, double waited) const {
    if (operation && key.source != kAnySource && key.source != rank() && waited > timeout() / 2)
      throw TimedOut(TimeoutSentence(*this, key, operation, waited), key.source);
    throw GaveUp(FailureSentence(*this, failed_, operation ? operation : "a wait"));
  }

  void Deliver(Letter letter) {
    const std::lock_guard lock(waits_.mutex());
    if (letter.key.context != kEnding) {
      mail_.Put(std::move(letter));
    } else if (letter.key.tag == kFarewell) {
      ended_[letter.key.source] = true;
    } else {
      failures_.push_back(UnpackFailure(letter.key.source, letter.bytes));
      if (failed_ < 0) failed_ = letter.key.source;
    }
    waits_.Changed();
  }

  void EndWaits(int failed) {
    const std::lock_guard lock(waits_.mutex());
    if (failed_ < 0) failed_ = failed;
    waits_.Changed();
  }

  /// This rank has failed; only its first reason counts.
  void Fail(const std::exception_ptr& what) {
    const Failure failure = DescribeFailure(rank(), what);
    EndWaits(rank());
    {
      const std::lock_guard lock(waits_.mutex());
      if (std::exchange(told_, true)) return;
      failures_.push_back(failure);
    }
    Tell(kFailed, PackFailure(failure));
  }

  /// Sends to all processes, including those that are not ranks. One that cannot be reached counts
  /// as failed.
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
  const Failure& First() const { return FirstFailure(failures_, ended_); }

  Wire& wire_;
  WireRanks options_;
  WireWaits waits_;
  Mailbox mail_;
  int failed_ = -1;                 // a rank that sends no more messages
  bool told_ = false;               // this rank's failure has been sent
  std::exception_ptr consequence_;  // of another rank's failure
  std::vector<Failure> failures_;   // one per failed rank
  std::vector<bool> ended_;         // ranks that have said farewell
};

/// Runs a world on a wire, then on those of the survivors.
class Life {
 public:
  Life(const WireRanks& options, const std::function<void(const Communicator&)>& body)
      : options_(options), body_(body) {}

  /// Returns false if it ends with the loss of a process.
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
  const FlushScope flush;
  Life life(options, body);
  std::vector<std::unique_ptr<Wire>> smaller;  // kept: they may have transfers in flight
  for (Wire* now = &wire; !life.On(*now);) {
    const JoinWatch watch(options.timeout);
    now = smaller.emplace_back(now->Survivors()).get();
    if (!options.survive)
      throw WorldError("a process of the job is gone", 1, /*tell=*/now->rank() == 0);
  }
}

}  // namespace yoke
