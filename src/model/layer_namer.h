// LayerNamer: names for layers without one.
#pragma once

#include <fmt/core.h>

#include <map>
#include <string>

namespace yoke {

/// Names a model's layers in order: by the given name, otherwise by type and number ("linear2" is
/// the second linear layer, whether named or not).
class LayerNamer {
 public:
  /// `given` is "" for unnamed layers.
  std::string Name(const std::string& type, const std::string& given) {
    const int number = ++counts_[type];
    return given.empty() ? fmt::format("{}{}", type, number) : given;
  }

 private:
  std::map<std::string, int> counts_;  // by type
};

}  // namespace yoke
