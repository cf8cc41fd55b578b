// Hogwild: each thread takes small batches of the step, computes on the shared weights and writes
// its updates into them without a lock (Niu, Recht, Re, Wright 2011; with small batches: Hogbatch).
// Cost of a small batch of h examples: its passes, and the weights read and written once; with
// plain descent linear layers update the weights where they compute the gradient
// (CompileRequest::immediate).
#include "base/check.h"
#include "node/executors/hogbatch_options.h"
#include "node/hogbatch.h"

namespace yoke::executor {
namespace {

BatchSizes::Settings HogwildSizes(const Options& options, const Work& work) {
  const int64_t small =
      options.Has("hogwild_batch") ? options.Int("hogwild_batch") : SmallBatch(work);
  return {.limits = {{.least = small, .most = small, .cpu = true}}};
}

ExecutorEstimate EstimateHogwild(const Options& options, const EstimateRequest& request) {
  ExecutorEstimate estimate = EstimateHogbatch(HogwildSizes(options, WorkOf(request)), request);
  estimate.scales_rate = options.Bool("hogwild_scale_rate");
  return estimate;
}

}  // namespace

ExecutorEntry hogwild() {
  return {.name = "hogwild",
          .summary = "Threads update the shared weights from small batches, without locks",
          .options = {{.name = "hogwild_batch",
                       .type = OptionType::kInt,
                       .help = "Examples per update; by default 16, or a thread's part of the "
                               "batch if that is less.",
                       .minimum = 1,
                       .maximum = 1e6},
                      {.name = "hogwild_scale_rate",
                       .type = OptionType::kBool,
                       .fallback = true,
                       .help = "The learning rate is that of a whole batch, and an update takes "
                               "its part of the rate: the fraction, with Adam by the root "
                               "(docs/executors/hogwild.md); false: each update takes the whole "
                               "rate."}},
          .make = [](const Options& options,
                     const ExecutorContext& context) -> std::unique_ptr<Executor> {
            Check(context.rule && context.state, "hogwild needs a rule and its state");
            HogbatchSettings settings;
            settings.sizes = HogwildSizes(options, WorkOf(context));
            settings.rate_examples = context.batch;
            settings.scale_rate = options.Bool("hogwild_scale_rate");
            return std::make_unique<Hogbatch>(settings, context);
          },
          .supports = OnlyTheCpu,
          .in_place = true,
          .estimate = EstimateHogwild};
}

}  // namespace yoke::executor
