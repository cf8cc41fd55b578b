// What the entries of hogwild, hogbatch and adaptive_hogbatch share: options and default sizes.
#pragma once

#include <algorithm>
#include <vector>

#include "base/options.h"
#include "node/hogbatch.h"

namespace yoke::executor {

/// Batch size from which on products run at full speed (measured).
inline constexpr int64_t kFullSpeed = 16;
/// The largest batch of a device by default (the paper's).
inline constexpr int64_t kLargest = 8192;

/// What default sizes follow.
struct Work {
  int64_t batch = 0, step_examples = 0;  ///< As in ExecutorContext.
  int workers = 1;                       ///< Threads of the CPU.
  std::vector<bool> on_cpu = {};         ///< By device.
};
inline Work WorkOf(const ExecutorContext& context) {
  Work work = {context.batch, context.step_examples, context.Workers()};
  for (const Device* device : context.devices) work.on_cpu.push_back(device->IsHost());
  return work;
}
inline Work WorkOf(const EstimateRequest& request) {
  Work work = {request.batch, request.step_examples, request.Workers()};
  for (const std::string& device : request.devices) work.on_cpu.push_back(device == "cpu");
  return work;
}

/// Examples per update of a CPU thread by default.
inline int64_t SmallBatch(const Work& work) {
  return std::clamp<int64_t>(work.batch / work.workers, 1, kFullSpeed);
}

/// Examples of a step: several in an epoch, because strategies exchange between steps.
inline int64_t RoundOf(const Options& options, int64_t batch, int64_t epoch) {
  constexpr int64_t kBatches = 64, kInAnEpoch = 4;
  if (options.Has("hogbatch_round")) return options.Int("hogbatch_round");
  return std::max(batch, std::min(kBatches * batch, epoch / kInAnEpoch));
}

/// Examples per update of a device: enough to keep it busy, and several in a step.
inline int64_t SteadyDeviceBatch(const Work& work) {
  constexpr int64_t kBatches = 8, kInAStep = 4;
  const int64_t round = std::max(work.step_examples, work.batch);
  return std::clamp<int64_t>(std::min(kBatches * work.batch, round / kInAStep), 1, kLargest);
}

/// The options of both, and each one's own. `form_help`: what differs between its forms.
inline std::vector<OptionSpec> HogbatchOptions(const char* form_help, std::vector<OptionSpec> own) {
  std::vector<OptionSpec> options = {
      {.name = "hogbatch_device_batch",
       .type = OptionType::kInt,
       .help = "Examples per update of a device other than the CPU, for adaptive_hogbatch at most, "
               "where it starts. By default 8 batches, at most 8192 and a quarter of a round; for "
               "adaptive_hogbatch 8192, at most a round; in the paper's form 8192.",
       .minimum = 1,
       .maximum = 1e6},
      {.name = "hogbatch_round",
       .type = OptionType::kInt,
       .help =
           "Examples of a step. Devices wait only where the strategy exchanges, and at an epoch's "
           "end. By default 64 batches, at most a quarter of an epoch.",
       .minimum = 1,
       .maximum = 1e9},
      {.name = "hogbatch_scale_rate",
       .type = OptionType::kBool,
       .fallback = true,
       .help = "An update of fewer examples than train.batch takes its part of the rate: the "
               "fraction, with Adam by the root (docs/executors/hogwild.md); false: each update "
               "takes the whole rate."},
      {.name = "merge",
       .fallback = "add",
       .help = "add: updates are added to the shared values without a lock, so a few may be lost. "
               "locked: they take locks, and none is lost. overwrite: a device replaces the shared "
               "values by its own, which loses updates of others (for comparison).",
       .choices = {"add", "locked", "overwrite"}},
      FormOption("yoke", /*paper_by_default=*/false, form_help)};
  options.insert(options.end(), own.begin(), own.end());
  return options;
}

/// Limits by device.
inline std::vector<BatchSizes::Limits> LimitsOf(const Work& work, const BatchSizes::Limits& cpu,
                                                const BatchSizes::Limits& device) {
  std::vector<BatchSizes::Limits> limits;
  for (const bool on_cpu : work.on_cpu) limits.push_back(on_cpu ? cpu : device);
  return limits;
}

inline HogbatchSettings HogbatchSettingsOf(const Options& options, const ExecutorContext& context,
                                           const BatchSizes::Settings& sizes) {
  return {.sizes = sizes,
          .rate_examples = context.batch,
          .scale_rate = options.Bool("hogbatch_scale_rate"),
          .overwrite = options.String("merge") == "overwrite",
          .locked = options.String("merge") == "locked",
          .paper_form = IsPaperForm(options)};
}

}  // namespace yoke::executor
