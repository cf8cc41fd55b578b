// Big-endian headers and counting pixels.
#include "data/support/binary_files.h"

namespace yoke::testing_support {

std::string Idx(int type, const std::vector<uint32_t>& axes, const std::string& numbers) {
  std::string file = {0, 0, static_cast<char>(type), static_cast<char>(axes.size())};
  for (const uint32_t length : axes)
    for (int shift = 24; shift >= 0; shift -= 8) file += static_cast<char>(length >> shift);
  return file + numbers;
}

std::string Pixels(size_t n, int first) {
  std::string pixels;
  for (size_t i = 0; i < n; ++i) pixels += static_cast<char>(first + static_cast<int>(i));
  return pixels;
}

std::string CifarRecord(const std::vector<int>& labels, int first_pixel) {
  std::string record;
  for (const int label : labels) record += static_cast<char>(label);
  return record + Pixels(3072, first_pixel);
}

}  // namespace yoke::testing_support
