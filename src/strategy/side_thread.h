// Threads beside a rank's training thread: a SideThread exchanges while training goes on, a
// ServingThread handles requests.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/check.h"
#include "comm/communicator.h"

namespace yoke {

/// For the destructor of what has a thread: calls its Finish, unless an exception is under way.
/// Then the end of the world wakes the thread.
template <typename Owner>
void FinishUnlessFailing(Owner& owner) noexcept {
  if (std::uncaught_exceptions() > 0) return;
  try {
    owner.Finish();
  } catch (const Error&) {     // another rank's failure, which the world reports
  } catch (const RankDied&) {  // this one's: its next wait ends the task
  }
}

/// Runs jobs in the order given and, if it has a handler, handles other ranks' offers between them.
/// All functions except Endpoint's are the training thread's. Both threads block in communicator
/// calls only, so that they also run in virtual time. On a device, a job runs beside training,
/// after what training had enqueued before Do; what training enqueues after Wait comes after what
/// the job enqueued.
class SideThread {
 public:
  /// What jobs and the handler communicate with. Messages between side threads use its tags.
  class Endpoint {
   public:
    explicit Endpoint(SideThread& owner, const Communicator& own);
    const Communicator& world() const { return own_; }
    /// Sends a message to the handler of another rank's side thread. `plain`: as in Send.
    void Offer(std::span<const std::byte> bytes, int to, size_t plain = 0);
    /// In a job: handles offers until `done()`, so that no two ranks' jobs wait for each other.
    void HandleOffersUntil(const std::function<bool()>& done);

   private:
    friend class SideThread;
    SideThread& owner_;
    Communicator own_, inbox_;
    Traffic offers_ = {};
    int64_t announced_ = 0;  // jobs whose messages HandleOffers has taken
  };
  using Job = std::function<void(Endpoint&)>;
  using Handler = std::function<void(Endpoint&, Message)>;

  /// All ranks construct it in the same order, and begin those that have work in the same order.
  /// `device`: of the arrays that jobs use.
  explicit SideThread(const Communicator& world, Handler handler = nullptr, Device& device = Cpu());
  ~SideThread() { FinishUnlessFailing(*this); }
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  void Begin();
  void Do(Job job);
  /// Waits until all jobs are done.
  void Wait();
  /// Waits for the jobs and for what was under way when it was called: when all ranks' jobs are
  /// done, an answer may have been sent whose handler has not returned.
  void Settle();
  /// Ends the thread after the jobs given.
  void Finish();
  /// Ends the thread after a rank is lost.
  void Abandon() { thread_.reset(); }

  double seconds_waited() const { return seconds_waited_; }  ///< In Wait.
  /// Messages between side threads, up to the last job or offer that is done.
  Traffic traffic() const;

 private:
  Job OnDevice(Job job);
  void AwaitJobs();
  std::shared_ptr<Event> TakeEvent();
  void KeepEvent(std::shared_ptr<Event> event);
  void Run(const Communicator& own);
  bool RunNext(Endpoint& endpoint);
  void Handle(Endpoint& endpoint, Message offer);
  void Show(const Endpoint& endpoint);

  Communicator inbox_;
  Handler handler_;
  Device& device_;
  std::unique_ptr<Stream> stream_;  // of jobs; null: the device is the host
  double seconds_waited_ = 0;
  bool joins_ = false;        // the device's stream awaits the jobs at the next Wait
  mutable std::mutex mutex_;  // of what follows; held for a moment only
  std::deque<Job> jobs_;      // a null one is the end
  std::vector<std::shared_ptr<Event>> events_;  // that jobs no longer use
  std::shared_ptr<Event> end_;                  // behind the last job that is done, on a device
  bool running_ = false;                        // a job
  bool awaited_ = false;                        // the training thread waits for the last job
  Traffic traffic_ = {};
  std::shared_ptr<void> thread_;  // last: it ends before the other members are destroyed
};

/// The counters of a background thread, for other threads to read at any time.
class TrafficMirror {
 public:
  void Show(const Traffic& now) {
    counters_[0] = now.messages_sent, counters_[1] = now.bytes_sent;
    counters_[2] = now.messages_received, counters_[3] = now.bytes_received;
    counters_[4] = now.bytes_by_formula;
  }
  Traffic Read() const {
    return {.messages_sent = counters_[0],
            .bytes_sent = counters_[1],
            .messages_received = counters_[2],
            .bytes_received = counters_[3],
            .bytes_by_formula = counters_[4]};
  }

 private:
  std::array<std::atomic<int64_t>, 5> counters_ = {};
};

struct ServingSettings {
  int from = kAnySource;
  int tag = 0;
  int kernel_threads = 1;  ///< Of its handler.
};

/// A thread that handles requests beside the training of its rank.
class ServingThread {
 public:
  /// Handles one request; false after the last.
  using Handler = std::function<bool(const Communicator& world, Message request)>;

  /// Called by all ranks of `world`; those with a null handler serve nothing. Destroying it waits
  /// for its end.
  ServingThread(const Communicator& world, const ServingSettings& settings, Handler handler);
  ServingThread(const ServingThread&) = delete;
  ServingThread& operator=(const ServingThread&) = delete;
  /// Of the thread; may be read at any time.
  Traffic traffic() const { return traffic_.Read(); }
  /// Waits for its end.
  void Join() { thread_.reset(); }

 private:
  Handler handler_;
  TrafficMirror traffic_;
  std::shared_ptr<void> thread_;  // last: it ends before the other members are destroyed
};

}  // namespace yoke
