// What changes examples as they are read: normalization, given in [data] or measured on the
// training examples, and augmentation, random changes of training images.
#pragma once

#include <memory>
#include <vector>

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

/// The keys of [data] augment.
const std::vector<OptionSpec>& augment_options();

/// A reader that changes images each time they are read. The draws depend only on the request's
/// seed and epoch and on the example, not on the order of reading. Throws UserError for unknown
/// keys and for data that are not images.
std::unique_ptr<Reader> Augment(std::shared_ptr<const Reader> source, const Value& table);

}  // namespace yoke
