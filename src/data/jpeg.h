// JPEG decoding apart from image.cc: the one place where libjpeg's jumps are caught.
#pragma once

#include "data/image.h"

namespace yoke {

/// DecodeImage for what begins as a JPEG file does.
Image DecodeJpeg(std::string_view bytes, const std::string& name, const DecodeRequest& request);

}  // namespace yoke
