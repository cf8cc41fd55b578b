// Simulation: ranks in virtual time. Each task (a rank, or a thread that it spawned) is a fiber
// with a clock. The task with the lowest clock runs until it waits. A message can only arrive later
// than its sender's clock, so the running task cannot miss one.
#pragma once

#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/thread.h"
#include "comm/mailbox.h"
#include "comm/simulated/agenda.h"
#include "comm/simulated/collective_event.h"
#include "comm/simulated/delivery.h"
#include "comm/simulated/node_failures.h"
#include "comm/simulated/task.h"
#include "comm/simulated/timeline.h"
#include "kernels/threads.h"

namespace yoke {

/// Of one run. All but its constructor is called on its own thread.
class Simulation {
 public:
  explicit Simulation(const SimulatedRanks& options)
      : options_(options), stacks_(options.ranks), losses_(options_), delivery_(options_, losses_) {
    Clear();
  }

  const SimulatedRanks& options() const { return options_; }
  Losses& losses() { return losses_; }
  int failed() const { return failed_; }

  /// Adds a task that starts at `now`. It stays until it has ended.
  std::unique_ptr<Task> Start(int rank, double now, std::function<void(Task&)> body) {
    auto task = std::make_unique<Task>(stacks_, [this, body = std::move(body)] {
      if (failed_ >= 0 || Dead(*running_)) return;
      entered_ = true;
      Guard(*running_, body);
    });
    task->rank = rank;
    task->now = task->wake = now;
    task->order = ++started_;
    agenda_.Add(*task);
    return task;
  }

  /// Runs all tasks to their end, on a thread of its own, whose state they may change; returns the
  /// time of the last. start() adds the ranks of a world.
  double Run(const std::function<void()>& start) {
    StartThread<std::jthread>([this, &start] {
      new_thread_ = KernelThreads();
      try {
        do {
          start();
          while (Task* next = Next()) Run(*next);
          RequireEntered();
        } while (Continue());
      } catch (...) {  // nobody is left, or there is no memory for a world
        failure_ = std::current_exception();
      }
    }).join();
    if (failure_) std::rethrow_exception(failure_);
    return last_;
  }

  /// Nodes that fail at once would be replaced for ever.
  void RequireEntered() {
    constexpr int kMostEmpty = 100;
    empty_worlds_ = std::exchange(entered_, false) ? 0 : empty_worlds_ + 1;
    Require(empty_worlds_ <= kMostEmpty,
            "all nodes of the simulated cluster have failed {} times before they could do "
            "anything: raise failures.mean_time_between",
            kMostEmpty);
  }

  std::shared_ptr<const Members> Share(uint64_t context, Members members) {
    std::weak_ptr<const Members>& known = members_[context];
    std::shared_ptr<const Members> shared = known.lock();
    if (!shared || *shared != members)
      known = shared = std::make_shared<const Members>(std::move(members));
    return shared;
  }

  /// Lets the others run until the clock of `task` reaches `until`, or something wakes it earlier.
  void Wait(Task& task, double until) {
    Check(running_ == &task, "a task of a simulation waits only for itself");
    const TimelineSpan waits(task.main ? options_.timeline : nullptr, losses_.First(task.rank),
                             Activity::kWaiting, task.now);
    task.wake = until;
    agenda_.Move(task);
    if (Next() != &task) task.fiber.Suspend();
    task.now = std::max(task.now, task.wake);
  }

  /// The same to the end, even if others are lost meanwhile.
  void WaitUntil(Task& task, double until) {
    do Wait(task, until);
    while (task.now < until && failed_ < 0 && !Dead(task));
  }

  /// Computes for so long: on a core that is free, or taking turns with others.
  void Work(Task& task, double seconds) {
    Require(seconds <= kLongest, "a piece of work takes {:.3g} virtual seconds, more than {:.0e}",
            seconds, kLongest);
    const TimelineSpan computes = Computes(task);
    Cores& cores = CoresOf(task.rank);
    if (cores.free.empty()) return WaitUntil(task, task.now + seconds);
    ++cores.working;
    const double longest_turn = std::max(SimulatedRanks::kTurn, seconds / kMostTurns);
    while (seconds > 0 && failed_ < 0 && !Dead(task)) {
      const bool goes_on = task.turn > 0;  // or has waited
      const double piece = std::min(seconds, goes_on ? task.turn : longest_turn);
      task.turn = (goes_on ? task.turn : longest_turn) - piece;
      seconds -= piece;
      WaitUntil(task, cores.Book(task.now, piece * cores.Slowdown(options_.polling), goes_on));
    }
    --cores.working;
  }

  /// As Work and WorkOnDevice, without a switch to the others, until CatchUp: thousands of ranks
  /// find little of theirs in the caches after one. False, and nothing, where the others matter: to
  /// whom a core belongs, and who dies.
  bool WorkAhead(Task& task, double seconds, bool on_device) {
    const bool alone = on_device || CoresOf(task.rank).free.empty();
    if (!alone || seconds > kLongest || task.now + seconds >= losses_.next() || failed_ >= 0)
      return false;
    if (!std::exchange(task.ahead, true) && options_.timeline)
      options_.timeline->Begin(losses_.First(task.rank), Activity::kComputing, task.now);
    task.now += seconds;
    return true;
  }

  void CatchUp(Task& task) {
    if (!std::exchange(task.ahead, false)) return;
    Wait(task, task.now);
    if (options_.timeline)
      options_.timeline->End(losses_.First(task.rank), Activity::kComputing, task.now);
  }

  /// Work that needs no core.
  void WorkOnDevice(Task& task, double seconds) {
    const TimelineSpan computes = Computes(task);
    WaitUntil(task, task.now + seconds);
  }

  /// What it costs a task to copy a message.
  void Copy(Task& task, int64_t bytes) {
    const double seconds = delivery_.CopySeconds(static_cast<double>(bytes));
    if (seconds > 0) Work(task, seconds);
  }

  bool Dead(const Task& task) const { return losses_.Dead(task.rank); }
  /// Between its waits a task that is dead goes on as if it were not, and ends here.
  void DieIfDead(const Task& task) const {
    if (Dead(task) && std::uncaught_exceptions() == 0) throw RankDied();
  }

  void Send(Task& from, int to, Letter letter) {
    Copy(from, letter.billed);
    if (Dead(from)) return;
    Mailbox& mail = ranks_[to].mail;
    Letter& sent = mail.Put(std::move(letter));
    delivery_.Send(from.now, from.rank, to, sent);
    if (!options_.fair_links) mail.Sort();
    for (Task* task : ranks_[to].waiting)
      if (Mailbox::Fits(*task->wants, sent.key)) {
        task->wake = std::min(task->wake, std::max(sent.arrival, task->now));
        agenda_.Move(*task);
      }
  }

  /// Returns false if no message arrived in time. Throws RankDied and RankLost.
  bool Receive(Task& task, const MessageKey& key, double timeout, Message& message) {
    Mailbox& mail = ranks_[task.rank].mail;
    const double deadline = task.now + timeout;
    for (;;) {
      if (Dead(task)) throw RankDied();
      const Mailbox::Place place = options_.fair_links ? mail.FindEarliest(key) : mail.Find(key);
      const double arrival = place == mail.End() ? kNever : place->arrival;
      if (arrival <= task.now) {
        message = mail.Take(place);
        if (message.source != task.rank) Copy(task, message.Billed());
        return true;
      }
      if (failed_ < 0 && losses_.known()) ThrowLost(task);
      if (task.now >= deadline || failed_ >= 0) return false;
      WaitForMessage(task, key, std::min(arrival, deadline));
    }
  }

  /// The first failure ends the waits of all tasks.
  void Fail(const Task& task, std::exception_ptr what, bool reason = true) {
    if (!failure_ || (what && reason && !has_reason_)) {
      failure_ = std::move(what);
      has_reason_ = failure_ && reason;
    }
    if (failed_ >= 0) return;
    failed_ = task.rank;
    agenda_.WakeAllBy(task.now);
  }

  /// False if the others did not come in time. Throws RankDied and RankLost.
  bool JoinCollective(Task& task, const CollectiveCall& call, CollectiveTraffic& traffic) {
    if (failed_ >= 0) return false;
    if (losses_.known()) ThrowLost(task);
    std::shared_ptr<CollectiveArrivals<Task>>& arrived = arrivals_[call.context];
    if (!arrived) arrived = std::make_shared<CollectiveArrivals<Task>>(call.members->size());
    const std::shared_ptr<CollectiveArrivals<Task>> all = arrived;
    if (all->Arrive(call, task)) {
      arrivals_.erase(call.context);
      Complete(call, *all);
      Wait(task, task.wake);
    } else {
      Wait(task, task.now + options_.timeout);
    }
    task.turn = Task::kTurn;
    const bool together = all->complete;
    if (!together) all->broken = true;  // what this task gave is gone
    if (Dead(task)) throw RankDied();
    if (failed_ < 0 && losses_.known() && (!together || task.now < all->ends[call.rank]))
      ThrowLost(task);
    if (together) traffic = all->traffic[call.rank];
    return together;
  }

  /// A task has waited so long where a timeout counts.
  void NoteWait(double seconds) {
    if (options_.timeline) options_.timeline->Waited(seconds);
  }

  /// A task of this one's rank is awaited because of an exception, which is not about a loss.
  void GiveUp(const Task& task) {
    if (!Dead(task) && !losses_.known()) Fail(task, nullptr);
  }

  void AwaitEnd(Task& task, Task& other) {
    other.awaited_by = &task;
    while (!other.ended) Wait(task, kNever);  // a failure elsewhere wakes it
    task.turn = Task::kTurn;
  }

 private:
  static constexpr double kNever = std::numeric_limits<double>::infinity();
  static constexpr double kMostTurns = 1e5;  // of a piece of work
  static constexpr double kLongest = 1e7;    // seconds of a piece of work

  struct Rank {
    Mailbox mail;
    std::vector<Task*> waiting;  // for messages
  };

  TimelineSpan Computes(const Task& task) const {
    return {options_.timeline, losses_.First(task.rank), Activity::kComputing, task.now};
  }

  [[noreturn]] static void ThrowLost(const Task& task) {
    throw RankLost(fmt::format("rank {} has lost another in a wait", task.rank));
  }

  /// The last one has come: exchanges the data, and sets when each rank runs next.
  void Complete(const CollectiveCall& call, CollectiveArrivals<Task>& all) {
    call.combine(all.data);
    const RoundTimes times(call, all.bytes, all.come, delivery_);
    for (int rank = 0; rank < call.members->size(); ++rank) {
      Task& task = *all.tasks[rank];
      all.traffic[rank] = times.traffic(rank);
      all.ends[rank] = task.wake = std::max(times.end(rank), running_->now);
      agenda_.Move(task);
    }
    all.complete = true;
  }

  Cores& CoresOf(int rank) { return cores_[delivery_.NodeOf(rank)]; }

  void WaitForMessage(Task& task, const MessageKey& key, double until) {
    std::vector<Task*>& waiting = ranks_[task.rank].waiting;
    task.wants = &key;
    if (waiting.empty()) ++CoresOf(task.rank).waiting;
    waiting.push_back(&task);
    Wait(task, until);
    std::erase(waiting, &task);
    if (waiting.empty()) --CoresOf(task.rank).waiting;
    task.wants = nullptr;
    task.turn = Task::kTurn;
  }

  /// The task with the lowest clock; null if all have ended.
  Task* Next() {
    while (!agenda_.Empty() && losses_.next() <= agenda_.First()->wake) Lose();
    Task* const next = agenda_.First();
    if (next && next->wake == kNever) next->wake = next->now;  // a deadlock: ends in an error
    return next;
  }

  /// A node dies, or the others notice.
  void Lose() {
    const double now = losses_.next();
    switch (losses_.Happen()) {
      case Losses::Event::kDeath:
        agenda_.WakeBy(now, [this](const Task& task) { return Dead(task); });
        for (int rank = 0; rank < losses_.size(); ++rank)
          if (losses_.Dead(rank)) LoseMail(rank, now);
        break;
      case Losses::Event::kDiscovery:
        agenda_.WakeAllBy(now);
        if (options_.failures.survive || failed_ >= 0) break;
        failure_ = std::make_exception_ptr(Error(losses_.Sentence()));
        has_reason_ = true;
        failed_ = 0;
        break;
      case Losses::Event::kNothing:
        break;
    }
  }

  /// What a dead rank has not sent completely.
  void LoseMail(int from, double now) {
    for (int to = 0; to < losses_.size(); ++to)
      ranks_[to].mail.Lose(from, now + losses_.Latency(from, to));
  }

  /// Whether another world follows, after deaths in the one that has ended. It shares nothing with
  /// that.
  bool Continue() {
    if (failed_ >= 0 || !losses_.Continue(last_)) return false;
    delivery_.Clear();
    arrivals_.clear();
    Clear();
    return true;
  }

  /// Mail and cores.
  void Clear() {
    ranks_.clear();
    ranks_.resize(losses_.size());
    cores_.clear();
    cores_.resize(options_.Nodes());
    for (int i = 0; i < options_.Nodes(); ++i) cores_[i].free.resize(options_.NodeAt(i).cores);
  }

  /// Until the task waits or ends.
  void Run(Task& task) {
    running_ = &task;
    task.now = std::max(task.now, task.wake);
    RestoreKernelThreads(task.kernel_threads > 0 ? task.kernel_threads : new_thread_);
    try {
      task.fiber.Resume();
    } catch (...) {  // there is no memory for its stack
      Fail(task, std::current_exception());
      return End(task);
    }
    task.kernel_threads = KernelThreads();
    if (task.fiber.ended()) End(task);
  }

  void Guard(Task& task, const std::function<void(Task&)>& body) {
    try {
      body(task);
    } catch (const RankLost&) {
      if (!Dead(task) && !losses_.known()) Fail(task, std::current_exception());
    } catch (const GaveUp&) {
      if (!Dead(task)) Fail(task, std::current_exception(), false);
    } catch (...) {
      if (!Dead(task)) Fail(task, std::current_exception());
    }
  }

  void End(Task& task) {
    agenda_.Remove(task);
    task.ended = true;
    last_ = std::max(last_, task.now);
    Task* const waits = task.awaited_by;
    if (!waits) return;
    waits->wake = std::max(waits->now, task.now);
    agenda_.Move(*waits);
  }

  const SimulatedRanks options_;
  FiberStacks stacks_;
  std::vector<Rank> ranks_;
  std::vector<Cores> cores_;  // by node
  Losses losses_;
  Delivery delivery_;
  Agenda<Task> agenda_;  // of all tasks that have not ended
  std::unordered_map<uint64_t, std::shared_ptr<CollectiveArrivals<Task>>> arrivals_;  // by context
  std::unordered_map<uint64_t, std::weak_ptr<const Members>> members_;                // by context
  Task* running_ = nullptr;
  uint64_t started_ = 0;
  bool entered_ = false;  // a rank has begun in this world
  int empty_worlds_ = 0;  // one after the other, in which none has
  int new_thread_ = 0;    // the kernel threads that a new thread has
  double last_ = 0;       // the time of the last end
  int failed_ = -1;
  std::exception_ptr failure_;  // the first one; one with a reason replaces a consequence
  bool has_reason_ = false;
};

}  // namespace yoke
