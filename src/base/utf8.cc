// UTF-8: a character at a time.
#include "base/utf8.h"

#include <fmt/core.h>

#include <cstdint>

namespace yoke {
namespace {

bool Continues(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

/// Bytes of the character that `text` begins with; 0: it is no UTF-8. Neither overlong forms nor
/// surrogates are, nor what lies beyond U+10FFFF.
size_t CharacterAt(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return 1;
  const size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  const auto second = static_cast<uint8_t>(text[1]);
  const uint8_t least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const uint8_t most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (second < least || second > most) return 0;
  for (size_t i = 2; i < size; ++i)
    if (!Continues(text[i])) return 0;
  return size;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t size = CharacterAt(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string OneLine(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const size_t size = CharacterAt(text);
    const auto first = static_cast<uint8_t>(text[0]);
    if (size == 0 || first < 0x20 || first == 0x7F)
      line += fmt::format("\\x{:02X}", first);
    else
      line += text.substr(0, size);
    text.remove_prefix(size > 0 ? size : 1);
  }
  return line;
}

}  // namespace yoke
