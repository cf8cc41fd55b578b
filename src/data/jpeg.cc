// libjpeg reports errors by a function that must not return. Ours jumps back to Guarded, over
// frames of libjpeg and of lambdas that own nothing, so no destructor is skipped.
#include "data/image.h"

#include <csetjmp>
#include <cstdio>
// jpeglib.h needs size_t and FILE.
#include <jerror.h>
#include <jpeglib.h>

#include <vector>

#include "base/check.h"

namespace yoke {
namespace {

// Converts CMYK to light. Adobe's files store 255 - ink, others the ink itself.
void InksToLight(const std::vector<uint8_t>& inks, bool inverted, Image& image) {
  const auto light = [&](uint8_t stored) { return inverted ? stored : 255 - stored; };
  uint8_t* to = image.pixels.data();
  for (size_t at = 0; at < inks.size(); at += 4) {
    int rgb[3];
    for (int c = 0; c < 3; ++c) rgb[c] = light(inks[at + c]) * light(inks[at + 3]) / 255;
    if (image.channels == 1) {
      *to++ = static_cast<uint8_t>((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
    } else {
      for (const int value : rgb) *to++ = static_cast<uint8_t>(value);
    }
  }
}

class JpegReader {
 public:
  explicit JpegReader(const std::string& name) : name_(name) {
    jpeg_.err = jpeg_std_error(&errors_);
    errors_.error_exit = &JumpBack;
    errors_.emit_message = &NoteMessage;
    jpeg_.client_data = this;
  }
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  Image Decode(std::string_view bytes, const DecodeRequest& request) {
    ReadHead(bytes);
    CheckImageSize({jpeg_.image_height, jpeg_.image_width}, name_);
    Start(request);
    Image image = {.size = {jpeg_.output_height, jpeg_.output_width},
                   .channels = request.channels,
                   .pixels = {}};
    image.pixels.resize(image.size.height * image.size.width * image.channels);
    if (jpeg_.out_color_space == JCS_CMYK) {
      std::vector<uint8_t> inks(image.size.height * image.size.width * 4);
      ReadRows(inks.data(), image.size.width * 4);
      InksToLight(inks, jpeg_.saw_Adobe_marker, image);
    } else {
      ReadRows(image.pixels.data(), image.size.width * image.channels);
    }
    Require(!broke_off_, "{}: damaged JPEG image (it is truncated)", name_);
    return image;
  }

 private:
  void ReadHead(std::string_view bytes) {
    Guarded([&] {
      void* client = jpeg_.client_data;
      jpeg_create_decompress(&jpeg_);
      jpeg_.client_data = client;
      jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
      jpeg_read_header(&jpeg_, TRUE);
    });
  }

  void Start(const DecodeRequest& request) {
    Guarded([&] {
      const bool inks = jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK;
      jpeg_.out_color_space = inks ? JCS_CMYK : request.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
      jpeg_.scale_num = 1;
      jpeg_.scale_denom = Shrinking(request.at_least);
      jpeg_start_decompress(&jpeg_);
    });
  }

  void ReadRows(uint8_t* pixels, int64_t stride) {
    Guarded([&] {
      while (jpeg_.output_scanline < jpeg_.output_height) {
        JSAMPROW row = pixels + jpeg_.output_scanline * stride;
        jpeg_read_scanlines(&jpeg_, &row, 1);
      }
      jpeg_finish_decompress(&jpeg_);
    });
  }

  // The largest of 8, 4, 2, 1 by which the image can be reduced and still be as large as requested.
  unsigned Shrinking(const ImageSize& at_least) const {
    if (at_least == ImageSize{}) return 1;
    unsigned by = 8;
    while (by > 1 &&
           (jpeg_.image_height / by < at_least.height || jpeg_.image_width / by < at_least.width))
      by /= 2;
    return by;
  }

  // Runs calls of libjpeg; throws UserError if one reports an error. `calls` must own nothing.
  template <typename Calls>
  void Guarded(const Calls& calls) {
    if (setjmp(back_) == 0) {
      calls();
      return;
    }
    throw UserError(fmt::format("{}: damaged JPEG image ({})", name_, message_));
  }

  static JpegReader& Of(j_common_ptr jpeg) { return *static_cast<JpegReader*>(jpeg->client_data); }

  [[noreturn]] static void JumpBack(j_common_ptr jpeg) {
    jpeg->err->format_message(jpeg, Of(jpeg).message_);
    std::longjmp(Of(jpeg).back_, 1);
  }

  // Records warnings: libjpeg continues truncated data with grey.
  static void NoteMessage(j_common_ptr jpeg, int level) {
    const int code = jpeg->err->msg_code;
    if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)) Of(jpeg).broke_off_ = true;
  }

  jpeg_decompress_struct jpeg_ = {};
  jpeg_error_mgr errors_ = {};
  std::jmp_buf back_ = {};
  char message_[JMSG_LENGTH_MAX] = {};
  bool broke_off_ = false;
  const std::string& name_;
};

}  // namespace

Image DecodeJpeg(std::string_view bytes, const std::string& name, const DecodeRequest& request) {
  return JpegReader(name).Decode(bytes, request);
}

}  // namespace yoke
