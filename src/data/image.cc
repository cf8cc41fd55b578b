// Tells the kind of an image; PNG by libpng's simplified interface, which keeps its jumps to
// itself.
#include "data/image.h"

#include <png.h>

#include <memory>

#include "base/check.h"
#include "data/jpeg.h"

namespace yoke {
namespace {

struct FreePng {
  void operator()(png_image* image) const { png_image_free(image); }
};

Image DecodePng(std::string_view bytes, const std::string& name, const DecodeRequest& request) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  const std::unique_ptr<png_image, FreePng> release(&png);
  Require(png_image_begin_read_from_memory(&png, bytes.data(), bytes.size()),
          "{}: damaged PNG image ({})", name, png.message);
  CheckImageSize({png.height, png.width}, name);
  png.format = request.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Image image = {.size = {png.height, png.width}, .channels = request.channels, .pixels = {}};
  image.pixels.resize(PNG_IMAGE_SIZE(png));  // zeros: what lies below transparent pixels
  Require(png_image_finish_read(&png, nullptr, image.pixels.data(), 0, nullptr),
          "{}: damaged PNG image ({})", name, png.message);
  return image;
}

}  // namespace

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
