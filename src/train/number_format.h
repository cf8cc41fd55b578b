// Number format: numbers for people: counts with separators, durations, bytes, rates.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace yoke {

std::string Count(int64_t number);     ///< "431,080"
std::string Duration(double seconds);  ///< "0.42 s", "12 s", "3:07", "2:03:07"
std::string Bytes(double bytes);       ///< "512 B", "3.2 MB" (powers of ten)
/// "75 MB (model 3.5, data < 0.1)": two digits of a size, and of parts in the unit of the whole.
std::string BytesOfParts(double bytes, const std::vector<std::pair<std::string, double>>& parts);
std::string BinaryBytes(double bytes);  ///< "48 KiB", "32 MiB": for caches and memory
std::string Short(double number);  ///< Three digits and a suffix: "863", "12.3k", "4.59M", "220G"
/// Four digits after the point; scientific if these would all be zero.
std::string Metric(double value);

}  // namespace yoke
