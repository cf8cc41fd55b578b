// Marks: the set of ids in a list, so that none is appended twice.
#pragma once

#include <cstdint>
#include <vector>

namespace yoke {

/// No id is marked between two calls of a sampler, so clearing costs only the appended ids.
class Marks {
 public:
  /// Marks all ids in `ids`; they are in [0, rows).
  void Begin(int64_t rows, const std::vector<int32_t>& ids) {
    if (static_cast<int64_t>(marked_.size()) < rows) marked_.resize(rows);
    for (int32_t id : ids) marked_[id] = 1;
  }
  /// Appends an id unless it is already in the list.
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
