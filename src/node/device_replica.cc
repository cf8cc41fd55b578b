// DeviceReplica: copies and passes in the order of one stream.
#include "node/device_replica.h"

namespace yoke {

DeviceReplica::DeviceReplica(const ExecutorContext& context, Device& device, int64_t usual)
    : context_(context),
      device_(device),
      stream_(device.NewStream()),
      values_(device, context.graph.layout().size() * SizeOf(DType::kF32)),
      gradients_(context.graph.layout(), device),
      plans_(context, usual, {.target = {.device = &device, .stream = stream_.get()}}) {}

void DeviceReplica::Begin(const Batch& batch, const ParamView& params) {
  plan_ = &plans_.For(batch.size);
  params_ = params;
  examples_ = batch.size;
  stream_->Copy(values_.data(), params.values, values_.bytes());
  stream_->Wait();
  ParamView view = params;
  view.values = values_.As<float>();
  view.bf16 = nullptr;
  view.gradients = &gradients_;
  plan_->Forward(batch, view);
  plan_->Backward(batch, view, {});
}

StepResult DeviceReplica::Finish() {
  const ParamLayout& layout = context_.graph.layout();
  const int64_t statistics = layout.statistics_begin();
  stream_->Copy(params_.gradients->dense(), gradients_.dense(),
                layout.dense_size() * SizeOf(DType::kF32));
  stream_->Copy(params_.values + statistics, values_.As<float>() + statistics,
                (layout.size() - statistics) * SizeOf(DType::kF32));
  stream_->Wait();
  return {.loss = plan_->Loss(), .examples = examples_};
}

}  // namespace yoke
