// ClassLabels: turns the labels of single-label files into class numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/reader.h"
#include "data/storage.h"

namespace yoke {

/// Labels compare as numbers where they are numbers ("-1.0" is "-1", "+1" is "1"), else as texts.
/// Training files name the classes; then Close sorts them, and other files must keep to them.
class ClassLabels {
 public:
  /// `like`: null, or what names the classes already.
  explicit ClassLabels(const DataInfo* like);

  /// The class of a label; a new one while open, -1 for an unknown one when closed. Throws
  /// UserError for a new one that is not UTF-8, which no checkpoint could hold.
  int32_t Index(std::string_view label);
  /// Sorts the classes (numbers by value, then texts) and renumbers `classes` to match; does
  /// nothing when closed.
  void Close(GrowingArray<int32_t>& classes);
  const std::vector<std::string>& names() const { return names_; }
  /// What a message says about an unknown label.
  std::string Known() const;

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, int32_t> index_;
  bool closed_ = false;
  std::string last_label_;
  int32_t last_index_ = -1;
};

}  // namespace yoke
