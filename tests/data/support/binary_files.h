// Makes idx and CIFAR files in memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace yoke::testing_support {

/// An idx file: type byte (8: u8), lengths of the axes, the numbers as they are to lie in the file.
std::string Idx(int type, const std::vector<uint32_t>& axes, const std::string& numbers);

/// `n` pixel bytes counting from `first`.
std::string Pixels(size_t n, int first = 0);

/// One CIFAR-10 record, or with two labels one of CIFAR-100.
std::string CifarRecord(const std::vector<int>& labels, int first_pixel = 0);

}  // namespace yoke::testing_support
