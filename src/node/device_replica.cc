// DeviceReplica: passes and their copies in the order of one stream, batches on another.
#include "node/device_replica.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "base/algorithms.h"
#include "base/check.h"
#include "base/log.h"
#include "node/sub_batch.h"
#include "tensor/growing_buffer.h"

namespace yoke {

struct DeviceReplica::Queue {
  Queue(const ExecutorContext& context, Device& device, int64_t usual)
      : layout(context.graph.layout()),
        host_values(device.staging(), layout.size() * SizeOf(DType::kF32)),
        host_gradient(device.staging(), layout.dense_size() * SizeOf(DType::kF32)),
        host_loss(device.staging(), sizeof(double)),
        host_statistics(device.staging(),
                        (layout.size() - layout.statistics_begin()) * SizeOf(DType::kF32)),
        stream(device.NewStream()),
        sending(device.NewStream()),
        batches{SentBatch(device, *sending), SentBatch(device, *sending)},
        values(device, host_values.bytes()),
        gradients(layout, device),
        plans(context, usual, {.target = {.device = &device, .stream = stream.get()}}) {
    for (size_t s = 0; s < layout.slices().size(); ++s)
      host_rows.push_back({GrowingBuffer({.device = &device.staging()})});
    plans.For(usual);
  }

  /// Starts the copies of touched rows' gradients to staging memory.
  void FetchRows() {
    for (size_t s = 0; s < host_rows.size(); ++s) {
      const Array<const float> there = gradients.rows(static_cast<int>(s)).values_there;
      host_rows[s].values = host_rows[s].memory.Reserve<float>(there.count);
      stream->Copy(host_rows[s].values, there.data, there.Bytes());
    }
  }
  /// Gives them away when they have come.
  void TakeRows(Gradients& to) {
    for (size_t s = 0; s < host_rows.size(); ++s) {
      RowGradient& from = gradients.rows(static_cast<int>(s));
      RowGradient& rows = to.rows(static_cast<int>(s));
      std::swap(rows.ids, from.ids);
      ResizeWithRoom(rows.values, from.values_there.count);
      std::copy_n(host_rows[s].values, from.values_there.count, rows.values.data());
    }
  }

  struct HostRows {
    GrowingBuffer memory;
    float* values = nullptr;
  };

  const ParamLayout layout;
  Buffer host_values, host_gradient, host_loss, host_statistics;
  std::vector<HostRows> host_rows;  ///< By slice.
  std::unique_ptr<Stream> stream, sending;
  SentBatch batches[2];
  int sent = 0, now = 0;  ///< The one sent last, and that of the pass under way.
  Buffer values;
  Gradients gradients;
  Plans plans;
  GraphPlan* plan = nullptr;  ///< Of the pass under way.
  const Batch& batch() const { return batches[now].batch; }
  bool under_way = false;  ///< A pass, or one that failed: nothing of it has been awaited.
  bool stalled = false;
  Queue* next_stalled = nullptr;
};

DeviceReplica::DeviceReplica(const ExecutorContext& context, Device& device, int64_t usual)
    : device_(device),
      timeout_(context.devices.size() > 1 ? context.device_timeout
                                          : std::numeric_limits<double>::infinity()),
      queue_(std::make_unique<Queue>(context, device, usual)) {}

DeviceReplica::~DeviceReplica() {
  const auto ends = [this](Stream& stream) {
    try {
      return stream.WaitFor(timeout_);
    } catch (const std::exception&) {  // its reason has been told
      return true;
    }
  };
  if (!queue_->stalled && ends(*queue_->stream) && ends(*queue_->sending)) return;
  // Reachable, and never destroyed.
  static std::mutex mutex;
  static Queue* stalled = nullptr;
  const std::lock_guard lock(mutex);
  queue_->next_stalled = std::exchange(stalled, queue_.get());
  (void)queue_.release();
}

/// For a pass under way: the only wait of a batch.
void DeviceReplica::Await() {
  if (!queue_->under_way) return;
  if (!queue_->stalled && queue_->stream->WaitFor(timeout_)) {
    queue_->under_way = false;
    return;
  }
  queue_->stalled = true;
  throw Error(fmt::format("{} has not answered for {:.3g} s, node.device_timeout", device_.name(),
                          timeout_));
}

std::span<float> DeviceReplica::values() {
  Await();  // one that failed
  return AllOf<float>(queue_->host_values).Host();
}

void DeviceReplica::Send(const Batch& batch) {
  sending_before_ = queue_->sending->busy_seconds();
  queue_->batches[queue_->sent ^= 1].Send(batch);
}

void DeviceReplica::Begin() {
  Await();
  Queue& queue = *queue_;
  queue.now = queue.sent;
  queue.under_way = true;
  const Batch& batch = queue.batch();
  queue.plan = &queue.plans.For(batch);
  queue.plan->LeaveLossAt({.loss = queue.host_loss.As<double>()});
  busy_before_ = queue.stream->busy_seconds();
  const ParamView view = {.layout = &queue.layout,
                          .values = AllOf<float>(queue.values),
                          .writable = AllOf<float>(queue.values),
                          .gradients = &queue.gradients};
  queue.stream->Copy(queue.values.data(), queue.host_values.data(), queue.values.bytes());
  queue.plan->Forward(batch, view);
  queue.plan->Backward(batch, view, {});
}

StepResult DeviceReplica::Finish(Gradients& gradients) {
  Queue& queue = *queue_;
  queue.stream->Copy(queue.host_gradient.data(), queue.gradients.dense().data,
                     queue.host_gradient.bytes());
  queue.stream->Copy(queue.host_statistics.data(),
                     queue.values.As<float>() + queue.layout.statistics_begin(),
                     queue.host_statistics.bytes());
  queue.FetchRows();
  Await();
  busy_seconds_ = queue.stream->busy_seconds() - busy_before_;
  if (queue.now == queue.sent) busy_seconds_ += queue.sending->busy_seconds() - sending_before_;
  Copy(gradients.dense(), AllOf<float>(queue.host_gradient));
  queue.TakeRows(gradients);
  return {.loss = *queue.host_loss.As<double>(), .examples = queue.batch().size};
}

std::span<const float> DeviceReplica::statistics() const {
  return AllOf<float>(queue_->host_statistics).Host();
}

std::string DeviceReplica::FirstNonFinite() const { return queue_->plans.FirstNonFinite(); }

void LogGoingOnWithout(const Device& device, const std::string& why) {
  LogWarning(fmt::format("device {} failed ({}): training goes on without it", device.name(), why));
}

}  // namespace yoke
