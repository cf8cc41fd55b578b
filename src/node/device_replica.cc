// DeviceReplica: copies and passes in the order of one stream.
#include "node/device_replica.h"

namespace yoke {

DeviceReplica::DeviceReplica(const ExecutorContext& context, Device& device, int64_t usual)
    : context_(context),
      device_(device),
      statistics_(static_cast<size_t>(context.graph.layout().size() -
                                      context.graph.layout().statistics_begin())),
      stream_(device.NewStream()),
      values_(device, context.graph.layout().size() * SizeOf(DType::kF32)),
      gradients_(context.graph.layout(), device),
      plans_(context, usual, {.target = {.device = &device, .stream = stream_.get()}}) {
  plans_.For(usual);
}

void DeviceReplica::Begin(const Batch& batch, const ParamView& params) {
  plan_ = &plans_.For(batch.size);
  target_ = params.gradients;
  examples_ = batch.size;
  busy_before_ = stream_->busy_seconds();
  ParamView view = params;
  view.values = view.writable = AllOf<float>(values_);
  view.bf16 = nullptr;
  view.gradients = &gradients_;
  try {
    stream_->Copy(values_.data(), params.values.Host().data(), values_.bytes());
    stream_->Wait();
    plan_->Forward(batch, view);
    plan_->Backward(batch, view, {});
  } catch (...) {
    Drain();
    throw;
  }
}

StepResult DeviceReplica::Finish() {
  const ParamLayout& layout = context_.graph.layout();
  const Array<float> gradient = gradients_.dense();
  stream_->Copy(target_->dense().Host().data(), gradient.data, gradient.Bytes());
  stream_->Copy(statistics_.data(), values_.As<float>() + layout.statistics_begin(),
                static_cast<int64_t>(statistics_.size() * sizeof(float)));
  stream_->Wait();
  busy_seconds_ = stream_->busy_seconds() - busy_before_;
  return {.loss = plan_->Loss(), .examples = examples_};
}

void DeviceReplica::Drain() noexcept {
  try {
    stream_->Wait();
  } catch (...) {  // its reason has been told
  }
}

}  // namespace yoke
