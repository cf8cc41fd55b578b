// Encodes by libpng's simplified interface and by libjpeg.
#include "data/support/images.h"

#include <cstdio>
#include <cstdlib>
// jpeglib.h needs size_t and FILE.
#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

#include <array>

namespace yoke::testing_support {
namespace {

void AppendBigEndian(uint32_t number, std::string& text) {
  for (int shift = 24; shift >= 0; shift -= 8) text.push_back(static_cast<char>(number >> shift));
}

}  // namespace

Image MakeImage(const ImageSize& size, int channels,
                const std::function<int(int64_t row, int64_t column, int channel)>& pixel) {
  Image image = {.size = size, .channels = channels, .pixels = {}};
  for (int64_t y = 0; y < size.height; ++y)
    for (int64_t x = 0; x < size.width; ++x)
      for (int c = 0; c < channels; ++c)
        image.pixels.push_back(static_cast<uint8_t>(pixel(y, x, c)));
  return image;
}

Image PlainImage(const ImageSize& size, int r, int g, int b) {
  return MakeImage(size, 3, [&](int64_t, int64_t, int c) { return c == 0 ? r : c == 1 ? g : b; });
}

std::string Png(const Image& image) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.height = static_cast<uint32_t>(image.size.height);
  png.width = static_cast<uint32_t>(image.size.width);
  png.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::string file(bytes, '\0');
  png_image_write_to_memory(&png, file.data(), &bytes, 0, image.pixels.data(), 0, nullptr);
  file.resize(bytes);
  return file;
}

std::string Jpeg(const Image& image, int quality, bool adobe) {
  jpeg_compress_struct jpeg = {};
  jpeg_error_mgr errors = {};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): libjpeg's type
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_height = static_cast<JDIMENSION>(image.size.height);
  jpeg.image_width = static_cast<JDIMENSION>(image.size.width);
  jpeg.input_components = image.channels;
  jpeg.in_color_space = image.channels == 1   ? JCS_GRAYSCALE
                        : image.channels == 4 ? JCS_CMYK
                                              : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg.write_Adobe_marker = adobe;
  jpeg_set_quality(&jpeg, quality, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    auto* row = const_cast<uint8_t*>(image.pixels.data()) +
                jpeg.next_scanline * image.size.width * image.channels;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string file(reinterpret_cast<char*>(bytes), size);
  std::free(bytes);
  return file;
}

std::string PngThatPromises(uint32_t height, uint32_t width) {
  std::string head = "IHDR";
  AppendBigEndian(width, head);
  AppendBigEndian(height, head);
  head += std::string{8, 2, 0, 0, 0};
  std::string file = "\x89PNG\r\n\x1A\n";
  AppendBigEndian(13, file);
  file += head;
  AppendBigEndian(static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(head.data()), 17)),
                  file);
  AppendBigEndian(0, file);
  file += "IDAT";
  AppendBigEndian(0x35AF061E, file);  // checksum of an empty IDAT
  return file;
}

std::string JpegThatPromises(uint16_t height, uint16_t width) {
  std::string file = Jpeg(PlainImage({8, 8}, 1, 2, 3));
  const size_t frame = file.find("\xFF\xC0") + 5;  // behind marker, length and precision
  const std::array<char, 4> sides = {static_cast<char>(height >> 8), static_cast<char>(height),
                                     static_cast<char>(width >> 8), static_cast<char>(width)};
  return file.replace(frame, 4, sides.data(), 4);
}

}  // namespace yoke::testing_support
