// FuzzFormat: any bytes as a file of a format are either data that keeps its promises or a
// UserError.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace yoke::fuzz {

inline void Insist(bool condition) {
  if (!condition) std::abort();
}

/// Loads `bytes` as the training file of `format` and again, in small pieces, as its test file, and
/// reads all examples. Aborts where an array is not what DataInfo says. Returns 0 for libFuzzer.
int FuzzFormat(const std::string& name, const uint8_t* bytes, size_t size);

}  // namespace yoke::fuzz
