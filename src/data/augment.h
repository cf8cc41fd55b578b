// Augment: random changes of training images, the same ones for the same seed, epoch and example.
#pragma once

#include <memory>
#include <vector>

#include "base/options.h"
#include "data/reader.h"

namespace yoke {

/// The keys of [data] augment.
const std::vector<OptionSpec>& augment_options();

/// A reader whose images are changed each time they are read. The draws depend on the request's
/// seed and epoch and on the example alone, not on the order of reading. Throws UserError for
/// unknown keys and for data that is not images.
std::unique_ptr<Reader> Augment(std::unique_ptr<Reader> source, const Value& table);

}  // namespace yoke
