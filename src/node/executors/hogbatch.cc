// Hogbatch with fixed batches: small ones on each CPU thread, large ones on each device (Ma and
// Rusu 2020, CPU+GPU Hogbatch). Cost of a device's batch: the values to it and the gradient back.
#include "node/hogbatch.h"
#include "base/check.h"
#include "node/executors/hogbatch_options.h"

namespace yoke::executor {
namespace {

int64_t CpuBatch(const Options& options, const Work& work) {
  if (options.Has("hogbatch_cpu_batch")) return options.Int("hogbatch_cpu_batch");
  return IsPaperForm(options) ? 1 : SmallBatch(work);
}

int64_t DeviceBatch(const Options& options, const Work& work) {
  if (options.Has("hogbatch_device_batch")) return options.Int("hogbatch_device_batch");
  return IsPaperForm(options) ? kLargest : SteadyDeviceBatch(work);
}

BatchSizes::Settings FixedSizes(const Options& options, const Work& work) {
  const int64_t small = CpuBatch(options, work), large = DeviceBatch(options, work);
  return {.limits = LimitsOf(work, {.least = small, .most = small, .cpu = true},
                             {.least = large, .most = large})};
}

ExecutorEstimate EstimateFixed(const Options& options, const EstimateRequest& request) {
  ExecutorEstimate estimate = EstimateHogbatch(FixedSizes(options, WorkOf(request)), request);
  estimate.scales_rate = options.Bool("hogbatch_scale_rate");
  return estimate;
}

}  // namespace

ExecutorEntry hogbatch() {
  return {.name = "hogbatch",
          .summary = "CPU threads and devices update shared weights from small and large batches",
          .options = HogbatchOptions(
              "Paper: batches of 1 a thread and 8192 a device, asked for one by one. Yoke: they "
              "follow train.batch, workers ask ahead, devices take less near a round's end. w8a, "
              "64 and 512: loss 0.122 in 0.62 s, the paper's > 0.71.",
              {{.name = "hogbatch_cpu_batch",
                .type = OptionType::kInt,
                .help = "Examples per update of a CPU thread; by default 16, or a thread's part of "
                        "train.batch if that is less, and 1 in the paper's form.",
                .minimum = 1,
                .maximum = 1e6}}),
          .make = [](const Options& options,
                     const ExecutorContext& context) -> std::unique_ptr<Executor> {
            Check(context.rule && context.state, "hogbatch needs a rule and its state");
            return std::make_unique<Hogbatch>(
                HogbatchSettingsOf(options, context, FixedSizes(options, WorkOf(context))),
                context);
          },
          .in_place = true,
          .step_examples = RoundOf,
          .estimate = EstimateFixed};
}

}  // namespace yoke::executor
