// libpng reports errors by a function that must not return. Ours jumps back to Guarded, over frames
// of libpng and of lambdas that own nothing, so no destructor is skipped.
#include "data/image.h"

#include <png.h>

#include <csetjmp>
#include <cstring>
#include <vector>

#include "base/check.h"

namespace yoke {
namespace {

// ITU-R 601 in 16-bit arithmetic, equal to Pillow's.
uint8_t Grey(const uint8_t* rgb) {
  constexpr int kRed = 19595, kGreen = 38470, kBlue = 7471, kHalf = 1 << 15;
  return static_cast<uint8_t>((kRed * rgb[0] + kGreen * rgb[1] + kBlue * rgb[2] + kHalf) >> 16);
}

std::vector<uint8_t> ToGrey(const std::vector<uint8_t>& colour) {
  std::vector<uint8_t> grey(colour.size() / 3);
  for (size_t i = 0; i < grey.size(); ++i) grey[i] = Grey(&colour[3 * i]);
  return grey;
}

class PngReader {
 public:
  PngReader(std::string_view bytes, const std::string& name) : rest_(bytes), name_(name) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &JumpBack, &IgnoreWarning);
    Check(png_ != nullptr, "libpng has no memory");
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  Image Decode(int channels) {
    ReadHead();
    const ImageSize size = {png_get_image_height(png_, info_), png_get_image_width(png_, info_)};
    CheckImageSize(size, name_);
    const bool colour = (png_get_color_type(png_, info_) & PNG_COLOR_MASK_COLOR) != 0;
    Ask(channels == 3 && !colour);
    const int read = channels == 3 || colour ? 3 : 1;
    Image image = {.size = size, .channels = channels, .pixels = {}};
    image.pixels.resize(size.height * size.width * read);
    ReadRows(image, size.width * read);
    if (read != channels) image.pixels = ToGrey(image.pixels);
    return image;
  }

 private:
  void ReadHead() {
    Guarded([&] {
      info_ = png_create_info_struct(png_);
      png_set_read_fn(png_, this, &Feed);
      png_set_benign_errors(png_, 1);
      png_read_info(png_, info_);
    });
  }

  // Requests 8-bit samples, grey or RGB.
  void Ask(bool grey_as_colour) {
    Guarded([&] {
      png_set_expand(png_);
      png_set_strip_16(png_);
      png_set_strip_alpha(png_);
      if (grey_as_colour) png_set_gray_to_rgb(png_);
      png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
    });
  }

  void ReadRows(Image& image, int64_t stride) {
    std::vector<png_bytep> rows(image.size.height);
    for (size_t y = 0; y < rows.size(); ++y) rows[y] = image.pixels.data() + y * stride;
    Guarded([&] {
      if (png_get_rowbytes(png_, info_) != static_cast<size_t>(stride))
        png_error(png_, "unexpected samples");
      png_read_image(png_, rows.data());
      png_read_end(png_, nullptr);
    });
  }

  // Runs calls of libpng; throws UserError if one reports an error. `calls` must own nothing.
  template <typename Calls>
  void Guarded(const Calls& calls) {
    if (setjmp(back_) == 0) {
      calls();
      return;
    }
    throw UserError(fmt::format("{}: damaged PNG image ({})", name_, message_));
  }

  [[noreturn]] static void JumpBack(png_structp png, png_const_charp message) {
    auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(reader->message_, message, sizeof(message_) - 1);
    std::longjmp(reader->back_, 1);
  }

  static void IgnoreWarning(png_structp, png_const_charp) {}

  static void Feed(png_structp png, png_bytep to, size_t size) {
    auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
    if (size > reader->rest_.size()) png_error(png, "it is truncated");
    std::memcpy(to, reader->rest_.data(), size);
    reader->rest_.remove_prefix(size);
  }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf back_ = {};
  char message_[128] = {};
  std::string_view rest_;  // unread bytes of the file
  const std::string& name_;
};

}  // namespace

Image DecodePng(std::string_view bytes, const std::string& name, const DecodeRequest& request) {
  return PngReader(bytes, name).Decode(request.channels);
}

}  // namespace yoke
