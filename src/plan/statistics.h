// Statistical efficiency: how many examples a candidate needs, relative to synchronous training, by
// the gradient's noise and as trials found it.
#pragma once

#include <string>
#include <vector>

#include "data/reader.h"
#include "plan/efficiency.h"
#include "plan/trials.h"
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

/// Of the first loss: a higher one does not tell that anything was learned.
inline constexpr double kLearned = 0.9;

/// A candidate that was tried.
struct TriedUse {
  ExampleUse use = {};
  double first_loss = 0;              ///< Before its trials.
  std::vector<LossPoint> curve = {};  ///< Of all of them, not empty.
};

/// Of each, beside the first one of synchronous updates: its examples to the lowest loss that both
/// reached, divided by what their batches cost at this noise scale (RelativeExamples). Left out are
/// those that have not learned, or were there in the first tenth of the trials. Empty: there were
/// no synchronous updates.
std::vector<MeasuredUse> MeasuredUses(const std::vector<TriedUse>& tried, double noise);

}  // namespace yoke
