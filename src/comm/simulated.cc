// Ranks in virtual time. Each task (a rank, or a thread that it spawned) has a clock. The task with
// the lowest clock runs until it waits. A message can only arrive later than its sender's clock, so
// the running task cannot miss one.
#include "comm/simulated.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "base/thread.h"
#include "comm/fair_links.h"
#include "comm/mailbox.h"

namespace yoke {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kCopiesAreFree = 1e18;  // bytes per second

/// A thread of execution with its own clock.
struct Task {
  int rank = 0;
  double now = 0;
  double wake = 0;  // when it runs next
  bool ended = false;
  bool works = false;                 // or wants a core
  const MessageKey* wants = nullptr;  // while it waits for a message
  Task* awaited_by = nullptr;         // while another waits for its end
  std::condition_variable turn;
  std::thread thread;
};

/// When one thing is done at a time, and by what it is booked.
class Bookings {
 public:
  /// Books the first free time of this length from `earliest` on; returns its end. Nothing will be
  /// booked before `now` any more.
  double Book(double now, double earliest, double seconds) {
    std::erase_if(busy_, [now](const Busy& busy) { return busy.end <= now; });
    auto at = busy_.begin();
    for (; at != busy_.end() && earliest + seconds > at->begin; ++at)
      earliest = std::max(earliest, at->end);
    busy_.insert(at, {.begin = earliest, .end = earliest + seconds});
    return earliest + seconds;
  }

 private:
  struct Busy {
    double begin = 0, end = 0;
  };
  std::vector<Busy> busy_;  // in order
};

/// When the parts of a machine are free again.
struct Node {
  double sends = 0;                // its network card
  Bookings receives = {};          // likewise
  std::vector<double> cores = {};  // empty: as many as are asked for
};

class Simulation {
 public:
  explicit Simulation(const SimulatedRanks& options)
      : options_(options),
        mail_(options.ranks),
        nodes_(options.Nodes()),
        fair_links_(options.Nodes(), options.bytes_per_second, options.latency) {
    for (Node& node : nodes_) node.cores.resize(options.cores);
    shared_cores_.resize(options.shared_cores);
  }

  const SimulatedRanks& options() const { return options_; }
  int failed() const { return failed_; }

  /// Adds a task that starts at `now`.
  Task& Start(int rank, double now, std::function<void(Task&)> body) {
    Task& task = *tasks_.emplace_back(std::make_unique<Task>());
    task.rank = rank;
    task.now = task.wake = now;
    try {
      task.thread = StartThread([this, &task, body = std::move(body)] {
        AwaitTurn(task);
        if (failed_ < 0) Guard(task, body);
        End(task);
      });
    } catch (...) {
      tasks_.pop_back();
      throw;
    }
    return task;
  }

  /// Call instead of starting tasks: Run then only ends the waiting ones.
  void Abandon() {
    failure_ = std::current_exception();
    failed_ = 0;
  }

  /// Runs all tasks to their end; returns the time of the last.
  double Run() {
    {
      std::unique_lock lock(mutex_);
      PassOn();
      all_ended_.wait(lock, [this] { return running_ == nullptr; });
    }
    double last = 0;
    for (const auto& task : tasks_) {
      task->thread.join();
      last = std::max(last, task->now);
    }
    if (failure_) std::rethrow_exception(failure_);
    return last;
  }

  /// Lets the others run until the clock of `task` reaches `until`, or something wakes it earlier.
  void Wait(Task& task, double until) {
    task.wake = until;
    {
      std::unique_lock lock(mutex_);
      PassOn();
    }
    AwaitTurn(task);
  }

  /// Computes for so long: on a core that is free, or taking turns with others.
  void Work(Task& task, double seconds) {
    std::vector<double>& cores = CoresOf(task.rank);
    if (cores.empty()) return Wait(task, task.now + seconds);
    task.works = true;
    while (seconds > 0 && failed_ < 0) {
      double& core = *std::min_element(cores.begin(), cores.end());
      const double turn = std::min(seconds, SimulatedRanks::kTurn);
      core = std::max(core, task.now) + turn * SlowedByPolling(task.rank, cores.size());
      seconds -= turn;
      Wait(task, core);
    }
    task.works = false;
  }

  /// What it costs a task to copy a message from or to another rank.
  void Copy(Task& task, int other, size_t bytes) {
    if (other != task.rank && options_.copy_bytes_per_second < kCopiesAreFree)
      Work(task, static_cast<double>(bytes) / options_.copy_bytes_per_second);
  }

  void Send(Task& from, int to, Letter letter) {
    Copy(from, to, letter.bytes.size());
    Letter& sent = mail_[to].Put(std::move(letter));
    Deliver(from, to, sent);
    for (const auto& task : tasks_)
      if (task->rank == to && task->wants && Mailbox::Fits(*task->wants, sent.key))
        task->wake = std::min(task->wake, std::max(sent.arrival, task->now));
  }

  /// Returns false if no message arrived in time.
  bool Receive(Task& task, const MessageKey& key, double patience, Message& message) {
    Mailbox& mail = mail_[task.rank];
    const double deadline = task.now + patience;
    for (;;) {
      const Mailbox::Place place = mail.Find(key);
      const double arrival = place == mail.End() ? kNever : place->arrival;
      if (arrival <= task.now) {
        message = mail.Take(place);
        Copy(task, message.source, message.bytes.size());
        return true;
      }
      if (task.now >= deadline || failed_ >= 0) return false;
      task.wants = &key;
      Wait(task, std::min(arrival, deadline));
      task.wants = nullptr;
    }
  }

  /// Ends the waits of all tasks.
  void Fail(const Task& task, std::exception_ptr what, bool reason = true) {
    if (!failure_ || (what && reason && !has_reason_)) {
      failure_ = std::move(what);
      has_reason_ = failure_ && reason;
    }
    if (failed_ < 0) failed_ = task.rank;
    for (const auto& other : tasks_) other->wake = std::min(other->wake, task.now);
  }

  void AwaitEnd(Task& task, Task& other) {
    other.awaited_by = &task;
    while (!other.ended) Wait(task, kNever);  // a failure elsewhere wakes it
  }

 private:
  /// Sets when a message arrives that is sent now.
  void Deliver(const Task& from, int to, Letter& letter) {
    const Route route = {.connection = int64_t{from.rank} * options_.ranks + to,
                         .sender = options_.NodeOf(from.rank),
                         .receiver = options_.NodeOf(to)};
    const auto bytes = static_cast<double>(letter.bytes.size());
    if (route.sender == route.receiver)
      letter.arrival = from.now;
    else if (options_.fair_links)
      fair_links_.Send(from.now, route, bytes, letter.arrival);
    else
      letter.arrival = InTurn(from.now, route, bytes);
  }

  /// Cards are booked in the order of sending, so that no arrival moves. A message of one packet
  /// slips in between the packets of others. None overtakes an earlier message of its sender.
  double InTurn(double now, const Route& route, double bytes) {
    const double seconds = bytes / options_.bytes_per_second;
    double arrival = now + options_.latency + seconds;
    if (bytes > SimulatedRanks::kPacket) {
      Node& sender = nodes_[route.sender];
      const double left = std::max(sender.sends, now);
      sender.sends = left + seconds;
      arrival = nodes_[route.receiver].receives.Book(now, left + options_.latency, seconds);
    }
    double& last = last_arrival_[route.connection];
    return last = std::max(last, arrival);
  }

  /// What a charge's time is multiplied by.
  double SlowedByPolling(int rank, size_t cores) const {
    if (options_.polling == 0) return 1;
    size_t working = 0;
    std::set<int> waiting;
    for (const auto& task : tasks_) {
      if (task->ended || !ShareCores(task->rank, rank)) continue;
      working += task->works ? 1 : 0;
      if (task->wants) waiting.insert(task->rank);
    }
    const auto all = static_cast<double>(cores);
    const double free = all - options_.polling * static_cast<double>(waiting.size());
    return std::max(1.0, std::min(static_cast<double>(working), all) / std::max(free, all / 10));
  }

  bool ShareCores(int a, int b) const {
    return !shared_cores_.empty() || options_.NodeOf(a) == options_.NodeOf(b);
  }

  std::vector<double>& CoresOf(int rank) {
    return shared_cores_.empty() ? nodes_[options_.NodeOf(rank)].cores : shared_cores_;
  }

  void AwaitTurn(Task& task) {
    std::unique_lock lock(mutex_);
    task.turn.wait(lock, [&] { return running_ == &task; });
    task.now = std::max(task.now, task.wake);
  }

  /// Lets the task with the lowest clock run; after a failure every task, so that it fails too.
  void PassOn() {
    running_ = nullptr;
    for (const auto& task : tasks_)
      if (!task->ended && (!running_ || task->wake < running_->wake)) running_ = task.get();
    if (!running_) return all_ended_.notify_all();
    if (running_->wake == kNever) running_->wake = running_->now;  // a deadlock: ends in an error
    running_->turn.notify_all();
  }

  void Guard(Task& task, const std::function<void(Task&)>& body) {
    try {
      body(task);
    } catch (const GaveUp&) {
      Fail(task, std::current_exception(), false);
    } catch (...) {
      Fail(task, std::current_exception());
    }
  }

  void End(Task& task) {
    task.ended = true;
    if (task.awaited_by) task.awaited_by->wake = std::max(task.awaited_by->now, task.now);
    std::unique_lock lock(mutex_);
    PassOn();
  }

  SimulatedRanks options_;
  std::vector<Mailbox> mail_;
  std::vector<Node> nodes_;
  FairLinks fair_links_;
  std::vector<double> shared_cores_;  // when each is free again; empty: nodes have their own
  std::unordered_map<int64_t, double> last_arrival_;  // by pair of ranks that have exchanged
  std::vector<std::unique_ptr<Task>> tasks_;
  std::mutex mutex_;
  std::condition_variable all_ended_;
  Task* running_ = nullptr;
  int failed_ = -1;
  std::exception_ptr failure_;  // the first one; one with a reason replaces a consequence
  bool has_reason_ = false;
};

class SimulatedTransport : public Transport {
 public:
  SimulatedTransport(Simulation& simulation, Task& task) : simulation_(simulation), task_(task) {}

  int rank() const override { return task_.rank; }
  int size() const override { return simulation_.options().ranks; }
  double timeout() const override { return simulation_.options().timeout; }
  AllReduceAlgorithm all_reduce() const override { return simulation_.options().all_reduce; }

  void Send(int to, uint64_t context, int tag, std::span<const std::byte> bytes) override {
    simulation_.Send(task_, to,
                     {.key = {.context = context, .source = task_.rank, .tag = tag},
                      .bytes = {bytes.begin(), bytes.end()}});
  }

  Message Receive(const MessageKey& key, const char* operation) override {
    Message message;
    if (simulation_.Receive(task_, key, timeout(), message)) return message;
    if (simulation_.failed() >= 0)
      throw GaveUp(FailureSentence(*this, simulation_.failed(), operation));
    throw Error(TimeoutSentence(*this, key, operation));
  }

  bool TryReceive(const MessageKey& key, double seconds, Message& message) override {
    if (simulation_.Receive(task_, key, seconds, message)) return true;
    if (simulation_.failed() >= 0)
      throw GaveUp(FailureSentence(*this, simulation_.failed(), "a wait"));
    return false;
  }

  bool InVirtualTime() const override { return true; }
  double Now() override { return task_.now; }
  void Sleep(double seconds) override { simulation_.Wait(task_, task_.now + seconds); }
  double Price(const Cost& cost, const WorkPlace& place) override {
    const SimulatedRanks& options = simulation_.options();
    if (options.devices && place.examples > 0) return options.devices(task_.rank, cost, place);
    Require(place.device == "cpu", "virtual time does not know the speed of device {}",
            place.device);
    const double link = options.device_bytes_per_second;
    const double copying = link > 0 ? cost.device_bytes / link : 0;
    if (!options.service) return copying;
    return copying + options.service(task_.rank, cost) * std::max(1, place.threads);
  }
  void Work(double seconds, const WorkPlace& place) override {
    if (place.device != "cpu")
      simulation_.Wait(task_, task_.now + seconds);
    else if (simulation_.options().service || seconds > 0)
      simulation_.Work(task_, seconds);
  }
  int CpuThreads() override { return simulation_.options().cpu_threads; }

  std::shared_ptr<void> Spawn(Body body) override {
    Simulation& simulation = simulation_;
    Task& child = simulation.Start(task_.rank, task_.now, [&simulation, body](Task& task) {
      body(std::make_shared<SimulatedTransport>(simulation, task));
    });
    const int exceptions = std::uncaught_exceptions();
    return {&child, [&simulation, &parent = task_, exceptions](Task* task) {
              if (std::uncaught_exceptions() > exceptions) simulation.Fail(parent, nullptr);
              simulation.AwaitEnd(parent, *task);
            }};
  }

 private:
  Simulation& simulation_;
  Task& task_;
};

}  // namespace

double Simulate(const SimulatedRanks& options,
                const std::function<void(const Communicator&)>& body) {
  Simulation simulation(options);
  try {
    for (int rank = 0; rank < options.ranks; ++rank)
      simulation.Start(rank, 0, [&simulation, &body](Task& task) {
        body(Communicator(std::make_shared<SimulatedTransport>(simulation, task)));
      });
  } catch (...) {
    simulation.Abandon();
  }
  return simulation.Run();
}

}  // namespace yoke
