// LayerNamer: what layers are called that were given no name.
#pragma once

#include <fmt/core.h>

#include <map>
#include <string>

namespace yoke {

/// Names a model's layers, asked in order: as given, else by type and number ("linear2" is the
/// second linear layer, named or not).
class LayerNamer {
 public:
  /// `given`: "" where there is none.
  std::string Name(const std::string& type, const std::string& given) {
    const int number = ++numbers_[type];
    return given.empty() ? fmt::format("{}{}", type, number) : given;
  }

 private:
  std::map<std::string, int> numbers_;  // of each type
};

}  // namespace yoke
