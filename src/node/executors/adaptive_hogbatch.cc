// Hogbatch with batches that follow the counts of updates (Ma and Rusu 2020, Adaptive Hogbatch).
#include <algorithm>

#include "base/check.h"
#include "node/executors/hogbatch_options.h"
#include "node/hogbatch.h"

namespace yoke::executor {
namespace {

/// The most of a device, where it starts.
int64_t LargestOf(const Options& options, const Work& work) {
  if (options.Has("hogbatch_device_batch")) return options.Int("hogbatch_device_batch");
  return IsPaperForm(options) ? kLargest
                              : std::min(kLargest, std::max(work.step_examples, work.batch));
}

/// Limits by default are the paper's.
BatchSizes::Settings AdaptiveSizes(const Options& options, const Work& work) {
  constexpr int64_t kMostOfAThread = 64;
  const int64_t least = options.Int("adaptive_cpu_least");
  const int64_t most = options.Has("adaptive_cpu_most") ? options.Int("adaptive_cpu_most")
                                                        : std::max(least, kMostOfAThread);
  Require(least <= most, "{}: {} is more than adaptive_cpu_most = {}",
          options.Where("adaptive_cpu_least"), least, most);
  const bool given = options.Has("adaptive_device_least");
  const int64_t largest = LargestOf(options, work);
  Require(!given || options.Int("adaptive_device_least") <= largest,
          "{}: more than the devices' largest batch, {} (hogbatch_device_batch)",
          options.Where("adaptive_device_least"), largest);
  return {.limits = LimitsOf(
              work, {.least = least, .most = most, .cpu = true, .workers = work.workers},
              {.least = given ? options.Int("adaptive_device_least") : 1, .most = largest}),
          .adaptive = true,
          .alpha = options.Float("adaptive_alpha"),
          .beta = options.Float("adaptive_beta")};
}

bool MeasuresLeast(const Options& options) { return !options.Has("adaptive_device_least"); }

ExecutorEstimate EstimateAdaptive(const Options& options, const EstimateRequest& request) {
  ExecutorEstimate estimate =
      EstimateAdaptiveHogbatch(AdaptiveSizes(options, WorkOf(request)), MeasuresLeast(options),
                               IsPaperForm(options), request);
  estimate.scales_rate = options.Bool("hogbatch_scale_rate");
  return estimate;
}

}  // namespace

ExecutorEntry adaptive_hogbatch() {
  return {
      .name = "adaptive_hogbatch",
      .summary = "hogbatch with batch sizes that balance the numbers of updates",
      .options = HogbatchOptions(
          "Paper: a worker asks when it is done, for a whole batch. Yoke: workers ask ahead, "
          "devices take less near a round's end, threads together at most the whole rate. w8a: "
          "loss 0.122 in > 0.67 s, the paper's 0.53.",
          {{.name = "adaptive_cpu_least",
            .type = OptionType::kInt,
            .fallback = 1,
            .help = "Least examples per update of a CPU thread, where it starts.",
            .minimum = 1,
            .maximum = 1e6},
           {.name = "adaptive_cpu_most",
            .type = OptionType::kInt,
            .help = "Most examples per update of a CPU thread; by default 64.",
            .minimum = 1,
            .maximum = 1e6},
           {.name = "adaptive_device_least",
            .type = OptionType::kInt,
            .help = "Least examples per update of a device; by default what still keeps it at half "
                    "of its speed, measured in the first step.",
            .minimum = 1,
            .maximum = 1e6},
           {.name = "adaptive_alpha",
            .type = OptionType::kFloat,
            .fallback = 2.0,
            .help = "Factor by which a batch grows or shrinks.",
            .minimum = 1,
            .maximum = 16,
            .exclusive_minimum = true},
           {.name = "adaptive_beta",
            .type = OptionType::kFloat,
            .fallback = 1.0,
            .help =
                "Weight of a CPU thread's update in the comparison: below 1 if threads overwrite "
                "each other's updates.",
            .minimum = 0,
            .maximum = 1,
            .exclusive_minimum = true}}),
      .make = [](const Options& options,
                 const ExecutorContext& context) -> std::unique_ptr<Executor> {
        Check(context.rule && context.state, "adaptive_hogbatch needs a rule and its state");
        HogbatchSettings settings =
            HogbatchSettingsOf(options, context, AdaptiveSizes(options, WorkOf(context)));
        settings.measure_least = MeasuresLeast(options);
        return std::make_unique<Hogbatch>(settings, context);
      },
      .in_place = true,
      .step_examples = RoundOf,
      .estimate = EstimateAdaptive};
}

}  // namespace yoke::executor
