// DeviceReplica: copies and passes in the order of one stream.
#include "node/device_replica.h"

namespace yoke {

DeviceReplica::DeviceReplica(const ExecutorContext& context, Device& device, int64_t usual)
    : context_(context),
      stream_(device.NewStream()),
      values_(device, context.graph.layout().size() * SizeOf(DType::kF32)),
      gradients_(context.graph.layout(), device),
      plans_(context, usual, {.target = {.device = &device, .stream = stream_.get()}}) {}

StepResult DeviceReplica::Step(const Batch& batch, const ParamView& params) {
  GraphPlan& plan = plans_.For(batch.size);
  const ParamLayout& layout = context_.graph.layout();
  auto* const values = values_.As<float>();
  stream_->Copy(values, params.values, values_.bytes());
  ParamView view = params;
  view.values = values;
  view.bf16 = nullptr;
  view.gradients = &gradients_;
  plan.Forward(batch, view);
  plan.Backward(batch, view, {});
  const int64_t statistics = layout.statistics_begin();
  stream_->Copy(params.gradients->dense(), gradients_.dense(),
                layout.dense_size() * SizeOf(DType::kF32));
  stream_->Copy(params.values + statistics, values + statistics,
                (layout.size() - statistics) * SizeOf(DType::kF32));
  stream_->Wait();
  return {.loss = plan.Loss(), .examples = batch.size};
}

}  // namespace yoke
