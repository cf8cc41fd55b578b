// PNG decoding apart from image.cc: the one place where libpng's jumps are caught.
#pragma once

#include "data/image.h"

namespace yoke {

/// DecodeImage for what begins as a PNG file does. The samples are those that the file holds, as
/// Pillow reads them: of 16 bits the high byte, fewer bits stretched to 0..255, colours of a
/// palette; gamma, colour profiles and transparency change nothing.
Image DecodePng(std::string_view bytes, const std::string& name, const DecodeRequest& request);

}  // namespace yoke
