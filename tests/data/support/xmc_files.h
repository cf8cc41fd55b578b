// Files of format xmc-binary in memory, good and bad, and what sets loaded from files hold.
#pragma once

#include <string>
#include <vector>

#include "data/xmc_binary.h"

namespace yoke::testing_support {

/// What an xmc-binary file is to hold, right or wrong: two examples, with features 1 and 4, and 0,
/// of 5; labels 2, and 0 and 1, of 3.
struct XmcImage {
  XmcBinaryHeader header = {
      .examples = 2, .features = 5, .labels = 3, .feature_entries = 3, .label_entries = 3};
  std::vector<int64_t> feature_offsets = {0, 2, 3};
  std::vector<int32_t> feature_ids = {1, 4, 0};
  std::vector<float> values = {0.5F, 1, -2};
  std::vector<int64_t> label_offsets = {0, 1, 3};
  std::vector<int32_t> label_ids = {2, 0, 1};
};

/// The file, with its sections filled up and its checksum right.
std::string BytesOf(const XmcImage& image);

/// The training set of a format read from files on the disk.
LoadedData LoadDisk(const std::string& format, const std::vector<std::string>& paths);

std::string FileBytes(const std::string& path);

/// Fails the test unless both hold the same examples, bit for bit.
void ExpectSameSet(const MemoryData& a, const MemoryData& b);

}  // namespace yoke::testing_support
