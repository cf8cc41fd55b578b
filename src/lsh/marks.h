// Marks: which ids a list holds, so that none is appended twice.
#pragma once

#include <cstdint>
#include <vector>

namespace yoke {

/// Between two calls of a sampler no id is marked, so clearing costs what was appended.
class Marks {
 public:
  /// Marks what `ids` holds; ids are in [0, rows).
  void Begin(int64_t rows, const std::vector<int32_t>& ids) {
    if (static_cast<int64_t>(marked_.size()) < rows) marked_.resize(rows);
    for (int32_t id : ids) marked_[id] = 1;
  }
  /// Appends an id unless it is there.
  void Append(int32_t id, std::vector<int32_t>& ids) {
    if (marked_[id]) return;
    marked_[id] = 1;
    ids.push_back(id);
  }
  bool Has(int64_t id) const { return marked_[id] != 0; }
  void End(const std::vector<int32_t>& ids) {
    for (int32_t id : ids) marked_[id] = 0;
  }

 private:
  std::vector<uint8_t> marked_;
};

}  // namespace yoke
