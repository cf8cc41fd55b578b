// PNG decoding, separate from image.cc: the only place that catches libpng's longjmp.
#pragma once

#include "data/image.h"

namespace yoke {

/// DecodeImage for bytes that start like a PNG file. Samples are read as Pillow reads them: the
/// high byte of 16 bits, fewer bits stretched to 0..255, colours of a palette; gamma, colour
/// profiles and transparency are ignored.
Image DecodePng(std::string_view bytes, const std::string& name, const DecodeRequest& request);

}  // namespace yoke
