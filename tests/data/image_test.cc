// DecodeImage: what was encoded comes back, conversions, scaled decoding, and a sentence for each
// kind of damage.
#include "data/image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/check.h"
#include "data/support/images.h"

namespace yoke::image_test {

using testing_support::Jpeg;
using testing_support::MakeImage;
using testing_support::PlainImage;
using testing_support::Png;

Image Stripes(const ImageSize& size, int channels) {
  return MakeImage(size, channels,
                   [](int64_t y, int64_t x, int c) { return (y * 7 + x * 3 + c * 50) % 256; });
}

int LargestDifference(const Image& a, const Image& b) {
  int largest = 0;
  for (size_t i = 0; i < a.pixels.size(); ++i)
    largest = std::max(largest, std::abs(a.pixels[i] - b.pixels.at(i)));
  return largest;
}

std::string Failure(const std::string& bytes) {
  try {
    DecodeImage(bytes, "box/1.jpg", {});
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(DecodeImage, PngIsExact) {
  for (const int channels : {1, 3}) {
    const Image image = Stripes({13, 17}, channels);
    const Image decoded = DecodeImage(Png(image), "a.png", {.channels = channels});
    EXPECT_EQ(decoded.size, image.size);
    EXPECT_EQ(decoded.pixels, image.pixels);
  }
}

TEST(DecodeImage, JpegIsClose) {
  for (const int channels : {1, 3}) {
    const Image image = MakeImage({40, 30}, channels, [](int64_t y, int64_t x, int c) {
      return 20 + 3 * y + 2 * x + 10 * c;
    });
    const Image decoded = DecodeImage(Jpeg(image), "a.jpg", {.channels = channels});
    EXPECT_EQ(decoded.size, image.size);
    EXPECT_LE(LargestDifference(decoded, image), 12);
  }
}

TEST(DecodeImage, ConvertsBetweenColourAndGrey) {
  const Image grey = MakeImage({8, 8}, 1, [](int64_t y, int64_t, int) { return y * 20; });
  for (const std::string& file : {Png(grey), Jpeg(grey, 100)}) {
    const Image colour = DecodeImage(file, "a", {.channels = 3});
    ASSERT_EQ(colour.pixels.size(), 8U * 8 * 3);
    for (int c = 0; c < 3; ++c) EXPECT_NEAR(colour.pixels[(3 * 8 + 4) * 3 + c], 60, 3);
  }
  const Image green = PlainImage({8, 8}, 0, 200, 0);
  for (const std::string& file : {Png(green), Jpeg(green, 100)}) {
    const Image decoded = DecodeImage(file, "a", {.channels = 1});
    ASSERT_EQ(decoded.pixels.size(), 64U);
    EXPECT_NEAR(decoded.pixels[0], 117, 1);
  }
}

TEST(DecodeImage, FourInksBecomeColour) {
  const std::vector<int> inks = {255, 51, 0, 51}, light = {0, 163, 204};  // light: 255 - ink
  for (const bool adobe : {false, true}) {
    const Image image = MakeImage(
        {8, 8}, 4, [&](int64_t, int64_t, int c) { return adobe ? 255 - inks[c] : inks[c]; });
    const std::string file = Jpeg(image, 100, adobe);
    const Image colour = DecodeImage(file, "a", {.channels = 3});
    ASSERT_EQ(colour.pixels.size(), 8U * 8 * 3);
    for (int c = 0; c < 3; ++c) EXPECT_NEAR(colour.pixels[60 + c], light[c], 3) << adobe;
    const Image grey = DecodeImage(file, "a", {.channels = 1});
    ASSERT_EQ(grey.pixels.size(), 64U);
    EXPECT_NEAR(grey.pixels[20], 119, 3);
  }
}

TEST(DecodeImage, JpegIsDecodedSmallerButNotTooSmall) {
  const std::string file = Jpeg(PlainImage({400, 600}, 90, 90, 90));
  EXPECT_EQ(DecodeImage(file, "a", {.at_least = {50, 75}}).size, (ImageSize{50, 75}));
  EXPECT_EQ(DecodeImage(file, "a", {.at_least = {51, 75}}).size, (ImageSize{100, 150}));
  EXPECT_EQ(DecodeImage(file, "a", {.at_least = {500, 10}}).size, (ImageSize{400, 600}));
  EXPECT_EQ(DecodeImage(file, "a", {.at_least = {10, 500}}).size, (ImageSize{400, 600}));
  EXPECT_EQ(DecodeImage(file, "a", {}).size, (ImageSize{400, 600}));
}

TEST(DecodeImage, KindIsToldByContent) {
  EXPECT_EQ(KindOfImage(Png(PlainImage({2, 2}, 0, 0, 0))), ImageKind::kPng);
  EXPECT_EQ(KindOfImage(Jpeg(PlainImage({2, 2}, 0, 0, 0))), ImageKind::kJpeg);
  EXPECT_EQ(KindOfImage("GIF89a"), ImageKind::kNone);
  EXPECT_EQ(KindOfImage(""), ImageKind::kNone);
}

struct BadImage {
  const char* what;
  std::string bytes;
  const char* said;
};

TEST(DecodeImage, DamageIsOneSentenceThatNamesTheFile) {
  const std::string png = Png(Stripes({60, 60}, 3)), jpeg = Jpeg(Stripes({60, 60}, 3));
  std::string altered_png = png;
  altered_png[png.size() / 2] ^= 0x55;
  std::string no_tables = jpeg;
  no_tables[no_tables.find("\xFF\xDB") + 1] =
      '\xFE';  // a comment in place of the first quantization table
  const BadImage cases[] = {
      {"empty", "", "the file is empty"},
      {"wrong magic", "GIF: and so on", "neither a JPEG nor a PNG"},
      {"GIF", "GIF89a and so on", "a GIF image; expected JPEG or PNG"},
      {"WebP", std::string("RIFF\x1a\0\0\0WEBPVP8L", 16), "a WebP image"},
      {"TIFF", std::string("II*\0 and so on", 14), "a TIFF image"},
      {"cut PNG", png.substr(0, png.size() / 2), "PNG"},
      {"only PNG's magic", png.substr(0, 8), "PNG"},
      {"altered PNG", altered_png, "PNG"},
      {"cut JPEG", jpeg.substr(0, jpeg.size() / 2), "truncated"},
      {"cut JPEG header", jpeg.substr(0, 100), "JPEG"},
      {"only JPEG's magic", jpeg.substr(0, 3), "JPEG"},
      {"JPEG without a table", no_tables, "JPEG"},
      {"PNG bomb", testing_support::PngThatPromises(60000, 60000), "100 million"},
      {"JPEG bomb", testing_support::JpegThatPromises(65000, 65000), "100 million"},
      {"PNG larger than its data", testing_support::PngThatPromises(9000, 9000), "PNG"},
      {"JPEG larger than its data", testing_support::JpegThatPromises(500, 500), "truncated"},
  };
  for (const BadImage& bad : cases) {
    ::testing::internal::CaptureStderr();
    const std::string sentence = Failure(bad.bytes);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << bad.what;
    EXPECT_EQ(sentence.find("box/1.jpg: "), 0U) << bad.what << ": " << sentence;
    EXPECT_NE(sentence.find(bad.said), std::string::npos) << bad.what << ": " << sentence;
    EXPECT_EQ(std::count(sentence.begin(), sentence.end(), '\n'), 0) << bad.what;
  }
}

// Whatever byte is altered: an image or a sentence, never a crash (the sanitizers watch).
TEST(DecodeImage, SurvivesAnyAlteredByte) {
  for (const std::string& good : {Png(Stripes({12, 12}, 3)), Jpeg(Stripes({12, 12}, 3))}) {
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(bytes[i] ^ 0xFF);
      Failure(bytes);
      Failure(good.substr(0, i));
    }
  }
}

}  // namespace yoke::image_test
