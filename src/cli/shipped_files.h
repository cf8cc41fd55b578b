// ShippedFiles: where examples and pages are on this machine.
#pragma once

#include <string>

namespace yoke {

/// Replaces `examples/demo.toml` and `docs/first-hour.md` in a help text by paths that can be
/// opened from the current directory: unchanged if they exist there, otherwise in this program's
/// clone or installation.
std::string WithShippedFiles(std::string text);

}  // namespace yoke
