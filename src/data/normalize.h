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

/// The normalization of numbers that were rescaled and nothing else: it gives them as stored.
inline Normalization RescaledOnly(const Rescaling& rescaling) {
  return {.mean = rescaling.origin, .deviation = rescaling.unit, .rescaling = rescaling};
}

/// What a pass over the examples tells.
struct MeasuredChannels {
  Normalization normalization;
  /// Which channels f32 does not hold well enough: their standard deviation is below 1e-4 of the
  /// mean, or its inverse is no normal f32. Empty if there are none.
  Rescaling needed;
};

/// Mean and standard deviation per channel over all examples of a dense reader, after its own
/// normalization. Constant channels get standard deviation 1. One pass.
MeasuredChannels MeasureChannels(const Reader& reader);

}  // namespace yoke
