// Regular files: opens nothing else in their place, such as a pipe, which would wait for its other
// end.
#pragma once

#include <string>

namespace yoke {

/// Opens a file for reading and writing, and creates it if it is missing; `flags` are those of
/// open() beside these. Returns its descriptor. Throws UserError at a link and at whatever is not a
/// regular file, without waiting for it.
int OpenRegular(const std::string& path, int flags = 0);

}  // namespace yoke
