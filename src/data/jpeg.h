// JPEG decoding, separate from image.cc: the only place that catches libjpeg's longjmp.
#pragma once

#include "data/image.h"

namespace yoke {

/// DecodeImage for bytes that start like a JPEG file.
Image DecodeJpeg(std::string_view bytes, const std::string& name, const DecodeRequest& request);

}  // namespace yoke
