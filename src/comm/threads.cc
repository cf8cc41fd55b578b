// Ranks as threads: one mailbox per rank behind a lock.
#include "comm/threads.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/countdown.h"
#include "base/thread.h"
#include "comm/mailbox.h"
#include "comm/spawned.h"
#include "kernels/threads.h"

namespace yoke {
namespace {

/// A thread that waits for a message, or has waited.
struct Waiter {
  const MessageKey* key = nullptr;  // null: it does not wait
  std::condition_variable changed;
};

struct Box {
  /// The place for one more thread to wait; stays as long as the box, so that it can be woken after
  /// the lock is released.
  Waiter& Enter(const MessageKey& key) {
    const auto free =
        std::ranges::find_if(waiters, [](const auto& each) { return each->key == nullptr; });
    Waiter& waiter =
        free != waiters.end() ? **free : *waiters.emplace_back(std::make_unique<Waiter>());
    waiter.key = &key;
    return waiter;
  }

  std::mutex mutex;
  std::vector<std::unique_ptr<Waiter>> waiters;
  Mailbox mail;
  int failed = -1;  // a rank that sends no more messages
};

struct World {
  explicit World(const ThreadRanks& given) : options(given), boxes(given.ranks) {}

  void Fail(int rank, std::exception_ptr what, bool reason = true) {
    {
      const std::lock_guard lock(mutex);
      if (!failure || (what && reason && !has_reason)) {
        failure = std::move(what);
        has_reason = failure && reason;
      }
    }
    for (Box& box : boxes) {
      const std::lock_guard lock(box.mutex);
      if (box.failed < 0) box.failed = rank;
      for (const auto& waiter : box.waiters) waiter->changed.notify_all();
    }
  }

  ThreadRanks options;
  std::vector<Box> boxes;
  std::mutex mutex;
  std::exception_ptr failure;  // the first one; one with a reason replaces a consequence
  bool has_reason = false;
};

class ThreadTransport : public RealTransport<ThreadTransport> {
 public:
  ThreadTransport(std::shared_ptr<World> world, int rank) : world_(std::move(world)), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return world_->options.ranks; }
  double timeout() const override { return world_->options.timeout; }
  AllReduceAlgorithm all_reduce() const override { return world_->options.all_reduce; }
  std::unique_ptr<DeviceAllReduce> MakeDeviceAllReduce(const Communicator& world,
                                                       Device& device) override {
    const auto& make = world_->options.device_all_reduce;
    return make ? make(world, device) : RealTransport::MakeDeviceAllReduce(world, device);
  }

  void Send(int to, uint64_t context, int tag, std::span<const std::byte> bytes) override {
    Letter letter{.key = {.context = context, .source = rank_, .tag = tag},
                  .bytes = {bytes.begin(), bytes.end()}};
    Box& box = world_->boxes[to];
    std::vector<Waiter*> wanting;
    {
      const std::lock_guard lock(box.mutex);
      const MessageKey key = box.mail.Put(std::move(letter)).key;
      for (const auto& waiter : box.waiters)
        if (waiter->key && Mailbox::Fits(*waiter->key, key)) wanting.push_back(waiter.get());
    }
    for (Waiter* waiter : wanting) waiter->changed.notify_all();
  }

  Message Receive(const MessageKey& key, const char* operation) override {
    Message message;
    if (!Await(key, timeout(), operation, message))
      throw Error(TimeoutSentence(*this, key, operation));
    return message;
  }

  bool TryReceive(const MessageKey& key, double seconds, Message& message) override {
    return Await(key, seconds, "a wait", message);
  }

  void GiveUp() { world_->Fail(rank_, nullptr); }

  /// Informs all ranks if work() throws.
  template <typename Work>
  void Guard(const Work& work) {
    try {
      work();
    } catch (const GaveUp&) {
      world_->Fail(rank_, std::current_exception(), false);
    } catch (...) {
      world_->Fail(rank_, std::current_exception());
    }
  }

 private:
  /// Returns false if no message arrived in time.
  bool Await(const MessageKey& key, double seconds, const char* operation, Message& message) {
    Box& box = world_->boxes[rank_];
    std::unique_lock lock(box.mutex);
    Mailbox::Place place;
    Waiter& waiter = box.Enter(key);
    const bool ended = WaitFor(waiter.changed, lock, seconds, [&] {
      place = box.mail.Find(key);
      return place != box.mail.End() || box.failed >= 0;
    });
    waiter.key = nullptr;
    if (!ended) return false;
    if (place == box.mail.End()) throw GaveUp(FailureSentence(*this, box.failed, operation));
    message = box.mail.Take(place);
    return true;
  }

  std::shared_ptr<World> world_;
  int rank_;
};

}  // namespace

void RunThreads(const ThreadRanks& options, const std::function<void(const Communicator&)>& body) {
  const FlushScope flush;  // rank 0 computes on the caller's thread
  const auto world = std::make_shared<World>(options);
  const auto run = [&world, &body](int rank) {
    const auto transport = std::make_shared<ThreadTransport>(world, rank);
    transport->Guard([&] { body(Communicator(transport)); });
  };
  {
    std::promise<bool> all_there;  // false: a thread was refused, and no rank starts
    const std::shared_future<bool> begin = all_there.get_future();
    std::vector<std::jthread> threads;
    threads.reserve(options.ranks);
    try {
      for (int rank = 1; rank < options.ranks; ++rank)
        threads.push_back(StartThread<std::jthread>([&run, begin, rank] {
          if (begin.get()) run(rank);
        }));
    } catch (...) {
      all_there.set_value(false);
      throw;
    }
    all_there.set_value(true);
    run(0);
  }
  if (world->failure) std::rethrow_exception(world->failure);
}

Communicator LocalWorld() {
  constexpr double kForEver = 1e9;
  return Communicator(std::make_shared<ThreadTransport>(
      std::make_shared<World>(ThreadRanks{.timeout = kForEver}), 0));
}

}  // namespace yoke
