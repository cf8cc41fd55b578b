// ShippedFiles: where examples and pages are on this machine.
#pragma once

#include <string>

namespace yoke {

/// A help text with each `examples/demo.toml` and `docs/first-hour.md` as a path that can be opened
/// from the current directory: as it stands in a clone, else in the clone or the installation that
/// this program belongs to.
std::string WithShippedFiles(std::string text);

}  // namespace yoke
