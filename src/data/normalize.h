// Normalization of a job: what [data] says of it, or what is measured on the training examples.
#pragma once

#include "base/options.h"
#include "data/reader.h"

namespace yoke {

/// The normalization that `options` ask for, before anything is measured: `loaded` as the format
/// gave it, or with mean and deviation of the job. Throws UserError when their lengths do not fit
/// the input.
Normalization ChosenNormalization(const Options& options, const DataInfo& loaded);

/// Of `values` the channel's, which may be the one of all; `otherwise` where there are none.
inline double ByChannel(const std::vector<double>& values, size_t channel, double otherwise) {
  return values.empty() ? otherwise : values[values.size() == 1 ? 0 : channel];
}

/// Whether mean and deviation are to be measured (normalize = "standard").
bool IsMeasured(const Options& options);

/// Mean and standard deviation by channel over all examples of a dense reader, in units behind its
/// scale; channels that do not vary get deviation 1. One pass.
Normalization MeasuredNormalization(const Reader& reader);

}  // namespace yoke
