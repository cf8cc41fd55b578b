// Detects the kind of an image, which jpeg.cc or png.cc decodes.
#include "data/image.h"

#include "base/check.h"
#include "data/jpeg.h"
#include "data/png.h"

namespace yoke {

ImageKind KindOfImage(std::string_view bytes) {
  if (bytes.starts_with("\xFF\xD8\xFF")) return ImageKind::kJpeg;
  if (bytes.starts_with("\x89PNG\r\n\x1A\n")) return ImageKind::kPng;
  return ImageKind::kNone;
}

void CheckImageSize(const ImageSize& size, const std::string& name) {
  Require(size.height > 0 && size.width > 0, "{}: damaged image (a side of length 0)", name);
  Require(size.height <= kMaxPixels / size.width,
          "{}: an image of {}x{} pixels; expected at most {} million pixels", name, size.width,
          size.height, kMaxPixels / 1'000'000);
}

Image DecodeImage(std::string_view bytes, const std::string& name, const DecodeRequest& request) {
  switch (KindOfImage(bytes)) {
    case ImageKind::kJpeg:
      return DecodeJpeg(bytes, name, request);
    case ImageKind::kPng:
      return DecodePng(bytes, name, request);
    case ImageKind::kNone:
      break;
  }
  throw UserError(
      fmt::format("{}: {}; expected a JPEG or PNG image", name,
                  bytes.empty() ? "the file is empty" : "neither a JPEG nor a PNG image"));
}

}  // namespace yoke
