// A ring of groups of batches between reading threads and one consumer.
//
// Step s belongs to group s / group size, and group g to slot g mod slots. A thread takes the next
// group once its slot is free, fills its batches without the lock, and marks it ready; the consumer
// frees a slot when it moves on. Groups make one hand-over serve many small batches. Where the
// consumer waits for much of its time, threads are added.
#include "data/prefetch.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/thread.h"

namespace yoke {
namespace {

constexpr int64_t kExamplesPerGroup = 256;
constexpr int64_t kMostBatchesPerGroup = 64;
constexpr double kMuchWaiting = 0.1;  // of the time of some groups: then a thread is added
constexpr int64_t kGroups = 4;        // for which this is looked at, the epoch's first left out

int64_t GroupSize(int64_t batch) {
  return std::clamp<int64_t>(kExamplesPerGroup / std::max<int64_t>(batch, 1), 1,
                             kMostBatchesPerGroup);
}

}  // namespace

struct Prefetch::State {
  struct Slot {
    std::vector<Batch> batches;
    std::exception_ptr error;
    bool ready = false;
  };

  State(const Reader& r, StepExamples s, const Settings& given)
      : reader(r), examples_of(std::move(s)), settings(given) {
    if (settings.threads > 0 && settings.steps > 0)
      group = GroupSize(static_cast<int64_t>(examples_of(0).size()));
    groups = (settings.steps + group - 1) / group;
    most = std::max(settings.most, settings.threads);
    slots.resize(static_cast<size_t>(settings.threads > 0 ? std::max(Ahead(), most) + 1 : 1));
    for (Slot& slot : slots) slot.batches.resize(static_cast<size_t>(group));
    try {
      reading = settings.threads;
      for (int i = 0; i < reading; ++i) threads.push_back(StartThread([this] { Work(); }));
    } catch (...) {
      End();
      throw;
    }
  }

  ~State() { End(); }

  void End() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    changed.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  int Ahead() const { return std::max(settings.ahead, 1); }
  Slot& SlotOf(int64_t g) { return slots[static_cast<size_t>(g) % slots.size()]; }

  void ReadStep(int64_t step, Batch& batch) const {
    reader.Read({.examples = examples_of(step),
                 .seed = settings.seed,
                 .epoch = settings.epoch,
                 .as_stored = settings.as_stored},
                batch);
  }

  void Work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] {
        return stopping || next == groups || next <= freed + std::max(Ahead(), reading);
      });
      if (stopping || next == groups) return;
      const int64_t g = next++;
      lock.unlock();
      std::exception_ptr error = Fill(g);
      lock.lock();
      SlotOf(g).error = error;
      SlotOf(g).ready = true;
      changed.notify_all();
    }
  }

  std::exception_ptr Fill(int64_t g) {
    try {
      const int64_t begin = g * group, end = std::min(begin + group, settings.steps);
      for (int64_t step = begin; step < end; ++step)
        ReadStep(step, SlotOf(g).batches[static_cast<size_t>(step - begin)]);
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  // Waits for group g, and frees the slots of the groups before it.
  const Slot& Await(int64_t g) {
    std::unique_lock lock(mutex);
    if (g > freed) {
      SlotOf(g - 1).ready = false;
      freed = g;
      changed.notify_all();
    }
    const double began = Now();
    changed.wait(lock, [&] { return SlotOf(g).ready; });
    if (SlotOf(g).error) std::rethrow_exception(SlotOf(g).error);
    if (reading < most) Judge(g, began);
    return SlotOf(g);
  }

  /// The consumer has waited for group g since `began`.
  void Judge(int64_t g, double began) {
    const double now = Now();
    if (g > judged) waited += now - began;
    if (g > judged && g < judged + kGroups) return;
    if (g > judged && waited > kMuchWaiting * (now - since)) AddThread();
    judged = g;
    since = now;
    waited = 0;
  }

  void AddThread() {
    try {
      threads.push_back(StartThread([this] { Work(); }));
      ++reading;
    } catch (const Error&) {
      most = reading;  // the system refuses one: those that there are go on
    }
  }

  const Batch* Next() {
    if (step == settings.steps) return nullptr;
    const int64_t at = step++;
    if (threads.empty()) {
      ReadStep(at, slots[0].batches[0]);
      return slots[0].batches.data();
    }
    if (at % group == 0) Await(at / group);
    return &SlotOf(at / group).batches[static_cast<size_t>(at % group)];
  }

  const Reader& reader;
  const StepExamples examples_of;
  const Settings settings;
  int64_t group = 1;   // batches per group
  int64_t groups = 0;  // groups in the epoch
  int64_t step = 0;    // the step that Next returns
  std::vector<Slot> slots;
  std::mutex mutex;  // guards the following members, Slot::ready and error
  std::condition_variable changed;
  int64_t next = 0;   // the next group to read
  int64_t freed = 0;  // groups that the consumer has finished
  bool stopping = false;
  int reading = 0, most = 0;  // threads: now, and to become
  int64_t judged = 0;         // the group from which on waiting is counted
  double since = 0, waited = 0;
  std::vector<std::thread> threads;
};

Prefetch::Prefetch(const Reader& reader, StepExamples examples_of, const Settings& settings)
    : state_(std::make_unique<State>(reader, std::move(examples_of), settings)) {}

Prefetch::~Prefetch() = default;

const Batch* Prefetch::Next() { return state_->Next(); }

int Prefetch::threads() const { return state_->reading; }

}  // namespace yoke
