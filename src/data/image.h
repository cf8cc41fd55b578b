// Image: decodes JPEG and PNG files in memory. A damaged file gives an error message, never a
// crash.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace yoke {

struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
  bool operator==(const ImageSize&) const = default;
};

/// Pixels row by row, with interleaved channels.
struct Image {
  ImageSize size;
  int channels = 3;
  std::vector<uint8_t> pixels;  ///< height * width * channels
};

enum class ImageKind { kNone, kJpeg, kPng };

/// The kind of image, from its first bytes.
ImageKind KindOfImage(std::string_view bytes);
/// The name of an image format that yoke does not read ("GIF"), from the first bytes; "" if they
/// are of none.
std::string_view ForeignImage(std::string_view bytes);

/// Images with more pixels are refused, because a small file can claim any size.
inline constexpr int64_t kMaxPixels = 100'000'000;

/// Throws UserError when a size is 0 or above kMaxPixels; called before anything of that size is
/// allocated.
void CheckImageSize(const ImageSize& size, const std::string& name);

struct DecodeRequest {
  int channels = 3;         ///< 3: RGB, 1: grey; the file's channels are converted.
  ImageSize at_least = {};  ///< A JPEG may be decoded at 1/2, 1/4 or 1/8 of its size if the result
                            ///< is at least this large; {0, 0}: full size.
};

/// Decodes a JPEG or PNG file. Ignores transparency and a camera's orientation. Throws UserError
/// "name: sentence" if it is neither, damaged, truncated or too large.
Image DecodeImage(std::string_view bytes, const std::string& name, const DecodeRequest& request);

/// DecodeImage for bytes that start like a JPEG file.
Image DecodeJpeg(std::string_view bytes, const std::string& name, const DecodeRequest& request);

/// DecodeImage for bytes that start like a PNG file. Samples are read as Pillow reads them: the
/// high byte of 16 bits, fewer bits stretched to 0..255, colours of a palette; gamma, colour
/// profiles and transparency are ignored.
Image DecodePng(std::string_view bytes, const std::string& name, const DecodeRequest& request);

/// Stretches the image to `size`. Enlarging interpolates linearly between pixels; shrinking
/// averages with a triangle filter two new pixels wide, so no pixel is skipped.
Image Resize(const Image& image, const ImageSize& size);

}  // namespace yoke
