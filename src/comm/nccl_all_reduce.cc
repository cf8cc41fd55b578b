// NcclAllReduce: enqueues sums, and watches in a thread of its own that they end: a GPU waits for a
// lost rank forever. Calls that wait for other ranks run in threads that can be left.
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/countdown.h"
#include "base/log.h"
#include "base/thread.h"
#include "comm/join_watch.h"
#include "comm/nccl.h"
#include "tensor/cuda/cuda_device.h"
#include "tensor/cuda/cuda_stream.h"

namespace yoke {
namespace {

constexpr double kLook = 0.05;  // seconds between two looks for a failed rank

/// A library's call that may never return. It runs in a thread of its own, which is left to itself
/// once nobody waits for the call any longer.
class LeaveableCall {
 public:
  /// Starts `call`, which returns a status. It owns what it uses, or that stays until the process
  /// ends.
  explicit LeaveableCall(std::function<int()> call);
  /// Waits at most so many seconds for its status; none: it has not returned.
  std::optional<int> WaitFor(double seconds);

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<int> status;
  };
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

LeaveableCall::LeaveableCall(std::function<int()> call) {
  StartThread([shared = shared_, call = std::move(call)] {
    const int status = call();
    {
      const std::lock_guard lock(shared->mutex);
      shared->status = status;
    }
    shared->changed.notify_all();
  }).detach();
}

std::optional<int> LeaveableCall::WaitFor(double seconds) {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait_for(lock, WaitTime(seconds),
                            [this] { return shared_->status.has_value(); });
  return shared_->status;
}

void CheckNccl(const NcclCalls& calls, int status, const char* what) {
  if (status != 0) throw Error(fmt::format("NCCL failed in {}: {}", what, calls.text(status)));
}

/// The GPU behind a device, the same for all processes that share it; "": it has no NCCL.
std::string SharedName(const Device& device, const NcclCalls* calls) {
  const std::string bus = calls ? CudaBusOf(device) : "";
  if (bus.empty()) return "";
  std::string machine;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> machine;
  return machine + " " + bus;
}

/// Whether all ranks have NCCL and a GPU that no other has.
bool EachHasOne(const Communicator& world, const std::string& mine) {
  std::set<std::string> unlike;
  for (const std::vector<std::byte>& name : world.AllGather(std::as_bytes(std::span(mine))))
    unlike.emplace(reinterpret_cast<const char*>(name.data()), name.size());
  return unlike.size() == static_cast<size_t>(world.size()) && !unlike.contains("");
}

/// Calls `looks(seconds)`, which waits that long, until it returns true. Throws Error if a rank of
/// the channel fails, or with `late` after so many seconds.
template <typename Look>
void AwaitRanks(PendingMessage& none, double seconds, const char* late, const Look& looks) {
  Countdown left(seconds);
  while (!looks(std::min(kLook, left.Slice().count()))) {
    none.Ready();  // throws if a rank has failed
    if (left.Over()) throw Error(fmt::format("{} {:g} s", late, seconds));
  }
}

/// Ends a communicator, by `abort` or `leave`. NCCL may wait there for ranks that are lost, or for
/// the end of graphs that hold sums: then training goes on without its end.
void EndComm(const NcclCalls& calls, int (*end)(ncclComm*), ncclComm* comm,
             const Device& device) noexcept try {
  LeaveableCall call([end, comm, &device] {
    (void)UseCudaDevice(device);  // a lost one is left as well
    return end(comm);
  });
  const bool aborts = end == calls.abort;
  const double timeout = aborts ? calls.abort_timeout : calls.leave_timeout;
  const std::optional<int> status = call.WaitFor(timeout);
  const char* const name = aborts ? "ncclCommAbort" : "ncclCommDestroy";
  if (!status)
    LogWarning(fmt::format("{} has not returned after {:g} s and is left", name, timeout));
  else if (*status != 0)
    LogWarning(fmt::format("NCCL failed in {}: {}", name, calls.text(*status)));
} catch (const std::exception& error) {
  LogWarning(error.what());
}

class NcclAllReduce : public DeviceAllReduce {
 public:
  NcclAllReduce(const NcclCalls& calls, ncclComm* comm, const Communicator& world, Device& device)
      : calls_(calls), comm_(comm), timeout_(world.timeout()), device_(device) {
    watch_ = world.Spawn([this](const Communicator& channel) { Watch(channel); });
  }
  ~NcclAllReduce() override {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_one();
    watch_.reset();
    if (failure_) return;
    const bool failing = std::uncaught_exceptions() > 0;  // the others may not come to its end
    EndComm(calls_, failing ? calls_.abort : calls_.leave, comm_, device_);
  }
  NcclAllReduce(const NcclAllReduce&) = delete;
  NcclAllReduce& operator=(const NcclAllReduce&) = delete;

  void Enqueue(Array<float> values, Stream& stream) override {
    const std::unique_lock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    CheckNccl(
        calls_,
        calls_.sum(values.data, static_cast<size_t>(values.count), comm_, NativeStream(stream)),
        "ncclAllReduce");
    if (!IsCaptured(stream)) WatchTo(stream);
  }
  void Launched(Stream& stream) override {
    const std::unique_lock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    WatchTo(stream);
  }

 private:
  /// The watch looks for the end of what the stream has so far. Under the lock.
  void WatchTo(Stream& stream) {
    stream.Record(last_);
    ++enqueued_;
    changed_.notify_one();
  }

  void Watch(const Communicator& channel) {
    const auto stream = device_.NewStream();  // its end waits for the sums, so they end before
    try {
      PendingMessage none = channel.ReceiveLater(kAnySource, 0);  // nobody sends it
      while (const std::shared_ptr<Event> sum = NextSum()) {
        stream->Await(sum);
        AwaitRanks(none, timeout_, "a sum over GPUs took longer than",
                   [&](double seconds) { return stream->WaitFor(seconds); });
      }
    } catch (...) {
      Fail(std::current_exception(), *stream);
    }
  }

  /// Waits for sums that were enqueued since; null: there will be none.
  std::shared_ptr<Event> NextSum() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return over_ || watched_ < enqueued_; });
    return std::exchange(watched_, enqueued_) < enqueued_ ? last_ : nullptr;
  }

  /// `stream` is of the same GPU as the sums'.
  void Fail(const std::exception_ptr& failure, Stream& stream) {
    {
      const std::lock_guard lock(mutex_);
      failure_ = failure;
    }
    FailStream(stream, failure);
    EndComm(calls_, calls_.abort, comm_, device_);
  }

  const NcclCalls& calls_;
  ncclComm* comm_;
  const double timeout_;
  Device& device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  int64_t enqueued_ = 0, watched_ = 0;
  std::shared_ptr<Event> last_;  // behind the last sum
  std::exception_ptr failure_;
  std::shared_ptr<void> watch_;
};

/// This rank's communicator. NCCL waits for the others there, and says nothing of one that is lost.
ncclComm* Join(const Communicator& world, const Device& device, const NcclCalls& calls,
               PendingMessage& none, const NcclId& id) {
  const auto comm = std::make_shared<ncclComm*>();
  LeaveableCall call([comm, ranks = world.size(), id, rank = world.rank(), &calls, &device] {
    const int status = UseCudaDevice(device);
    return status != 0 ? status : calls.join(comm.get(), ranks, id, rank);
  });
  std::optional<int> status;
  AwaitRanks(none, JoinTimeout(world.timeout()), "the ranks did not come together in NCCL within",
             [&](double seconds) { return (status = call.WaitFor(seconds)).has_value(); });
  CheckNccl(calls, *status, "ncclCommInitRank");
  return *comm;
}

/// The first sum connects the ranks.
void Connect(const Communicator& world, Device& device, const NcclCalls& calls,
             PendingMessage& none, ncclComm* comm) {
  const Buffer one(device, sizeof(float));
  Stream& stream = device.stream();
  try {
    CheckNccl(calls, calls.sum(one.As<float>(), 1, comm, NativeStream(stream)), "ncclAllReduce");
    AwaitRanks(none, JoinTimeout(world.timeout()),
               "the ranks' first sum over GPUs took longer than",
               [&](double seconds) { return stream.WaitFor(seconds); });
  } catch (...) {
    EndComm(calls, calls.abort, comm, device);  // or the buffer's end would wait for it
    throw;
  }
}

}  // namespace

std::unique_ptr<DeviceAllReduce> MakeNcclAllReduce(const Communicator& world, Device& device,
                                                   const NcclCalls* calls) {
  if (!EachHasOne(world, SharedName(device, calls))) return nullptr;
  struct {
    int status = 0;
    NcclId id = {};
  } made;
  if (world.rank() == 0) made.status = calls->make_id(&made.id);
  world.Broadcast(std::as_writable_bytes(std::span(&made, 1)), 0);
  CheckNccl(*calls, made.status, "ncclGetUniqueId");
  const Communicator channel = world.Duplicate();
  PendingMessage none = channel.ReceiveLater(kAnySource, 0);  // nobody sends it
  ncclComm* const comm = Join(world, device, *calls, none, made.id);
  Connect(world, device, *calls, none, comm);
  return std::make_unique<NcclAllReduce>(*calls, comm, world, device);
}

}  // namespace yoke
