// Normalization of a job: given in [data], or measured on the training examples.
#pragma once

#include "base/options.h"
#include "data/reader.h"

namespace yoke {

/// The normalization before any measurement: that of the format, or with the mean and standard
/// deviation in `options`. Throws UserError if their lengths do not fit the input.
Normalization ChosenNormalization(const Options& options, const DataInfo& loaded);

/// The channel's value, which may be one for all channels; `otherwise` if `values` is empty.
inline double ByChannel(const std::vector<double>& values, size_t channel, double otherwise) {
  return values.empty() ? otherwise : values[values.size() == 1 ? 0 : channel];
}

/// Whether mean and standard deviation are measured (normalize = "standard").
bool IsMeasured(const Options& options);

/// Mean and standard deviation per channel over all examples of a dense reader, after its scale.
/// Constant channels get standard deviation 1. One pass.
Normalization MeasuredNormalization(const Reader& reader);

}  // namespace yoke
