// Gunzip: the content of a gzip file, with the checksum and the length that it ends in compared.
#pragma once

#include <memory>

#include "data/source.h"

namespace yoke {

/// Whether a file that begins like this is compressed by gzip.
bool IsGzip(std::string_view head);

/// What `compressed` holds: one or more gzip members one behind another; zeros may follow them
/// (tapes). Next() throws UserError naming the file when it breaks off, when a member does not have
/// the checksum or the length that stands at its end, and when other bytes follow.
std::unique_ptr<ByteSource> Gunzip(std::unique_ptr<ByteSource> compressed);

}  // namespace yoke
