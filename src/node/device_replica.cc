// DeviceReplica: copies and passes in the order of one stream.
#include "node/device_replica.h"

#include <fmt/core.h>

#include <mutex>

#include "base/check.h"
#include "base/log.h"
#include "node/sub_batch.h"

namespace yoke {

struct DeviceReplica::Queue {
  Queue(const ExecutorContext& context, Device& device, int64_t usual)
      : layout(context.graph.layout()),
        host_values(device.staging(), layout.size() * SizeOf(DType::kF32)),
        host_gradient(device.staging(), layout.dense_size() * SizeOf(DType::kF32)),
        statistics(static_cast<size_t>(layout.size() - layout.statistics_begin())),
        stream(device.NewStream()),
        values(device, host_values.bytes()),
        gradients(layout, device),
        plans(context, usual, {.target = {.device = &device, .stream = stream.get()}}) {
    plans.For(usual);
  }

  const ParamLayout layout;
  Batch batch;
  Buffer host_values, host_gradient;
  std::vector<float> statistics;
  std::unique_ptr<Stream> stream;
  Buffer values;
  Gradients gradients;
  Plans plans;
  GraphPlan* plan = nullptr;  ///< Of the pass under way.
  bool stalled = false;
};

DeviceReplica::DeviceReplica(const ExecutorContext& context, Device& device, int64_t usual)
    : device_(device),
      timeout_(context.device_timeout),
      queue_(std::make_unique<Queue>(context, device, usual)) {}

DeviceReplica::~DeviceReplica() {
  try {
    if (!queue_->stalled) Await();
  } catch (const std::exception&) {  // its reason has been told
  }
  if (!queue_->stalled) return;
  static std::mutex mutex;
  static auto& left_alone = *new std::vector<std::unique_ptr<Queue>>;
  const std::lock_guard lock(mutex);
  left_alone.push_back(std::move(queue_));
}

void DeviceReplica::Await() {
  if (!queue_->stalled && queue_->stream->WaitFor(timeout_)) return;
  queue_->stalled = true;
  throw Error(fmt::format("{} has not answered for {:.3g} s, node.device_timeout", device_.name(),
                          timeout_));
}

void DeviceReplica::Begin(const Batch& batch, const ParamView& params) {
  Await();  // nothing of an earlier pass that failed is under way
  Queue& queue = *queue_;
  CopyBatch(batch, queue.batch);
  Copy(AllOf<float>(queue.host_values), params.values);
  queue.plan = &queue.plans.For(batch.size);
  busy_before_ = queue.stream->busy_seconds();
  ParamView view = params;
  view.values = view.writable = AllOf<float>(queue.values);
  view.bf16 = nullptr;
  view.gradients = &queue.gradients;
  queue.stream->Copy(queue.values.data(), queue.host_values.data(), queue.values.bytes());
  queue.plan->Forward(queue.batch, view);
  queue.plan->Backward(queue.batch, view, {});
}

StepResult DeviceReplica::Finish(Gradients& gradients) {
  Queue& queue = *queue_;
  queue.stream->Copy(queue.host_gradient.data(), queue.gradients.dense().data,
                     queue.host_gradient.bytes());
  queue.stream->Copy(queue.statistics.data(),
                     queue.values.As<float>() + queue.layout.statistics_begin(),
                     static_cast<int64_t>(queue.statistics.size() * sizeof(float)));
  Await();
  busy_seconds_ = queue.stream->busy_seconds() - busy_before_;
  Copy(gradients.dense(), AllOf<float>(queue.host_gradient));
  return {.loss = queue.plan->Loss(), .examples = queue.batch.size};
}

const std::vector<float>& DeviceReplica::statistics() const { return queue_->statistics; }

std::string DeviceReplica::FirstNonFinite() const { return queue_->plans.FirstNonFinite(); }

}  // namespace yoke
