// Gunzip: the content of a gzip file, verified against its checksum and length.
#pragma once

#include <memory>

#include "data/source.h"

namespace yoke {

/// Whether a file that begins like this is a gzip file.
bool IsGzip(std::string_view head);

/// The content of `compressed`: one or more gzip members, which zeros may follow (tapes). Next()
/// throws UserError with the file if it is truncated, if a member does not match its checksum or
/// length, or if other bytes follow.
std::unique_ptr<ByteSource> Gunzip(std::unique_ptr<ByteSource> compressed);

}  // namespace yoke
