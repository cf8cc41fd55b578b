// NcclAllReduce: enqueues sums, and watches in a thread of its own that they end: a GPU waits for a
// lost rank forever.
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/countdown.h"
#include "comm/join_watch.h"
#include "comm/nccl.h"
#include "tensor/cuda/cuda_device.h"
#include "tensor/cuda/cuda_stream.h"

namespace yoke {
namespace {

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
    if (std::uncaught_exceptions() > 0)
      calls_.abort(comm_);  // the others may not come to its end
    else
      calls_.leave(comm_);
  }
  NcclAllReduce(const NcclAllReduce&) = delete;
  NcclAllReduce& operator=(const NcclAllReduce&) = delete;

  void Enqueue(Array<float> values, Stream& stream) override {
    {
      const std::lock_guard lock(mutex_);
      if (failure_) std::rethrow_exception(failure_);
      CheckNccl(
          calls_,
          calls_.sum(values.data, static_cast<size_t>(values.count), comm_, NativeStream(stream)),
          "ncclAllReduce");
      stream.Record(last_);
      ++enqueued_;
    }
    changed_.notify_one();
  }

 private:
  static constexpr double kLook = 0.05;  // seconds between two looks for a failed rank

  void Watch(const Communicator& channel) {
    const auto stream = device_.NewStream();  // its end waits for the sums, so they end before
    try {
      PendingMessage none = channel.ReceiveLater(kAnySource, 0);  // nobody sends it
      while (const std::shared_ptr<Event> sum = NextSum()) {
        stream->Await(sum);
        Countdown left(timeout_);
        while (!stream->WaitFor(std::min(kLook, left.Slice().count()))) {
          none.Ready();  // throws if a rank has failed
          if (left.Over())
            throw Error(fmt::format("a sum over GPUs took longer than {:g} s", timeout_));
        }
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
    calls_.abort(comm_);
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
  NativeStream(device.stream());  // its GPU becomes the current one
  ncclComm* comm = nullptr;
  {
    const JoinWatch watch(world.timeout());
    CheckNccl(*calls, calls->join(&comm, world.size(), made.id, world.rank()), "ncclCommInitRank");
    const Buffer one(device, sizeof(float));  // the first sum connects the ranks
    Stream& stream = device.stream();
    CheckNccl(*calls, calls->sum(one.As<float>(), 1, comm, NativeStream(stream)), "ncclAllReduce");
    stream.Wait();
  }
  return std::make_unique<NcclAllReduce>(*calls, comm, world, device);
}

}  // namespace yoke
