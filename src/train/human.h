// Human: how numbers are written for people: counts with separators, durations, bytes, rates.
#pragma once

#include <cstdint>
#include <string>

namespace yoke {

std::string Count(int64_t number);      ///< "431,080"
std::string Duration(double seconds);   ///< "0.42 s", "12 s", "3:07", "2:03:07"
std::string Bytes(double bytes);        ///< "512 B", "3.2 MB" (powers of ten)
std::string BinaryBytes(double bytes);  ///< "48 KiB", "32 MiB": how caches and memory are sold
std::string Short(double number);  ///< Three digits and a suffix: "863", "12.3k", "4.59M", "220G"
std::string Metric(
    double value);  ///< Four digits after the point; scientific where that would hide the number.

}  // namespace yoke
