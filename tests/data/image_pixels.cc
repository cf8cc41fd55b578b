// image_pixels: the pixels that yoke reads from images, for the tests that compare them with
// Pillow's. Reads lines FILE CHANNELS with a tab between, answers each with a line: "HEIGHT WIDTH"
// and the pixels in hexadecimal, or "refused: " and why.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iostream>
#include <sstream>

#include "base/check.h"
#include "data/image.h"
#include "data/source.h"

namespace yoke {
namespace {

std::string Answer(const std::string& line) {
  std::istringstream words(line);
  std::string file;
  DecodeRequest request;
  std::getline(words, file, '\t') >> request.channels;
  try {
    const Image image = DecodeImage(ReadAll(*OpenSource(file)), file, request);
    return fmt::format("{} {} {:02x}", image.size.height, image.size.width,
                       fmt::join(image.pixels, ""));
  } catch (const UserError& error) {
    return fmt::format("refused: {}", error.what());
  }
}

}  // namespace
}  // namespace yoke

int main() {
  for (std::string line; std::getline(std::cin, line);) fmt::print("{}\n", yoke::Answer(line));
  return 0;
}
