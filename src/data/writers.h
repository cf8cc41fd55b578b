// Writers: data sets as files of the formats that other programs read (yoke synthesize).
#pragma once

#include <string>

#include "data/reader.h"

namespace yoke {

/// Writes sparse multi-label examples as XMC text: `N F L`, then `l1,l2,... f1:v1 f2:v2 ...` an
/// example. Numbers read back exactly. The file appears when it is complete. Throws UserError when
/// the reader holds other data or no file can be made at `path`, Error when writing fails (full
/// disk).
void WriteXmc(const Reader& reader, const std::string& path);

/// Writes grey images and their classes as two idx files (unsigned bytes), undoing the reader's
/// normalization. Throws as WriteXmc.
void WriteIdx(const Reader& reader, const std::string& images_path, const std::string& labels_path);

}  // namespace yoke
