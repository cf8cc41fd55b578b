// Statistical efficiency: how many examples a candidate needs, relative to synchronous training.
#pragma once

#include <string>

#include "data/reader.h"
#include "plan/efficiency.h"
#include "train/job/job.h"

namespace yoke {

/// The gradient's noise scale tr(S) / |G|^2 in examples, S the covariance of the gradients of
/// single examples and G their mean: the batch at which noise and gradient are equally long
/// (McCandlish, Kaplan, Amodei, "An Empirical Model of Large-Batch Training", 2018, equation 2.9;
/// estimated from two batch sizes, appendix A.1). At the weights of `checkpoint`, or the initial
/// ones if it is "". 0: unknown, because gradients are sparse.
double MeasureNoiseScale(const Job& job, const Reader& data, const std::string& checkpoint);

/// By how much it grows from the first gradients to the mean of a training: an order of magnitude
/// (McCandlish et al., 2018, section 4).
inline constexpr double kNoiseGrowth = 10;

/// Examples that it needs, divided by those of synchronous updates of `batch` examples:
///   (noise + used.batch) / (noise + batch)           updates ~ 1 + noise / batch
///   x efficiency.Examples(used)
double RelativeExamples(const ExampleUse& used, double batch, double noise,
                        const Efficiency& efficiency = {});

}  // namespace yoke
