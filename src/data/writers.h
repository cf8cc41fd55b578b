// Writers: write data sets in formats that other programs read (yoke synthesize).
#pragma once

#include <string>

#include "data/reader.h"

namespace yoke {

/// Writes sparse multi-label examples as XMC text: `N F L`, then `l1,l2,... f1:v1 f2:v2 ...` per
/// example. Numbers are read back exactly. The file appears when it is complete. Throws UserError
/// if the reader has other data or no file can be created at `path`, Error if writing fails (full
/// disk). Returns the number of bytes.
int64_t WriteXmc(const Reader& reader, const std::string& path);

/// Writes grey images and their classes as two idx files (unsigned bytes), undoing the reader's
/// normalization. Throws like WriteXmc.
void WriteIdx(const Reader& reader, const std::string& images_path, const std::string& labels_path);

}  // namespace yoke
