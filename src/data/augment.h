// Augment: random changes of training images, the same for the same seed, epoch and example.
#pragma once

#include <memory>
#include <vector>

#include "base/options.h"
#include "data/reader.h"

namespace yoke {

/// The keys of [data] augment.
const std::vector<OptionSpec>& augment_options();

/// A reader that changes images each time they are read. The draws depend only on the request's
/// seed and epoch and on the example, not on the order of reading. Throws UserError for unknown
/// keys and for data that are not images.
std::unique_ptr<Reader> Augment(std::shared_ptr<const Reader> source, const Value& table);

}  // namespace yoke
