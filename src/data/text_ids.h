// TextIds: the numbers of texts, which it finds without a copy: of short ones by one comparison.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace yoke {

class TextIds {
 public:
  /// -1: the text has none.
  int32_t Find(std::string_view text) const {
    if (slots_.empty()) return -1;
    const int32_t entry = slots_[Place(text, Head(text))].entry;
    return entry < 0 ? -1 : ids_[static_cast<size_t>(entry)];
  }
  /// Gives a text that has no number the next one.
  void Add(std::string_view text) {
    if (2 * (size() + 1) > slots_.size()) Grow();
    const uint64_t head = Head(text);
    const auto id = static_cast<int32_t>(size());
    slots_[Place(text, head)] = {head, id, static_cast<uint32_t>(text.size())};
    texts_.emplace_back(text);
    ids_.push_back(id);
  }
  /// `numbers`: by number, the new one.
  void Renumber(const std::vector<int32_t>& numbers) {
    for (int32_t& id : ids_) id = numbers[static_cast<size_t>(id)];
  }
  size_t size() const { return texts_.size(); }

 private:
  struct Slot {
    uint64_t head = 0;
    int32_t entry = -1;
    uint32_t size = 0;
  };

  /// The first eight bytes, or all of them and zeros.
  static uint64_t Head(std::string_view text) {
    const auto byte = [&](size_t i) {
      return uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
    };
    const size_t size = text.size();
    if (size == 0) return 0;
    if (size < 4) return byte(0) | byte(size / 2) | byte(size - 1);
    if (size < 8) return Load<uint32_t>(text, 0) | Load<uint32_t>(text, size - 4) << 8 * (size - 4);
    return Load<uint64_t>(text, 0);
  }
  template <typename T>
  static uint64_t Load(std::string_view text, size_t at) {
    T bytes{};
    std::memcpy(&bytes, text.data() + at, sizeof(T));
    return bytes;
  }

  /// The slot of a text, or the empty one where it belongs.
  size_t Place(std::string_view text, uint64_t head) const {
    constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;
    const uint64_t more = text.size() > 8 ? std::hash<std::string_view>()(text) : text.size();
    for (size_t at = ((head ^ more) * kOdd) >> 32;; ++at) {
      const Slot& slot = slots_[at & (slots_.size() - 1)];
      const auto entry = static_cast<size_t>(slot.entry);
      if (slot.entry < 0 || (slot.head == head && slot.size == text.size() &&
                             (text.size() <= 8 || texts_[entry] == text)))
        return at & (slots_.size() - 1);
    }
  }

  void Grow() {
    std::vector<Slot> before(slots_.empty() ? 16 : 2 * slots_.size());
    before.swap(slots_);
    for (const Slot& slot : before)
      if (slot.entry >= 0) slots_[Place(texts_[static_cast<size_t>(slot.entry)], slot.head)] = slot;
  }

  std::vector<Slot> slots_;  // a power of 2 of them, at most half of which are in use
  std::vector<std::string> texts_;
  std::vector<int32_t> ids_;  // of these
};

}  // namespace yoke
