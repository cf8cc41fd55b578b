// UTF-8: a character at a time.
#include "base/utf8.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>

namespace yoke {
namespace {

constexpr size_t kLongestWord = 400;   ///< Of a message, in bytes.
constexpr size_t kLongestLine = 4000;  ///< The list of all keys fits.

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

/// Bytes of the character that `text` begins with; 0: it has to be escaped.
size_t PlainCharacterAt(std::string_view text) {
  const size_t size = CharacterAt(text);
  const auto first = static_cast<uint8_t>(text[0]);
  const bool control = first < 0x20 || first == 0x7F ||
                       (first == 0xC2 && size == 2 && static_cast<uint8_t>(text[1]) < 0xA0);
  return control ? 0 : size;
}

std::string Escaped(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const size_t size = PlainCharacterAt(text);
    if (size == 0)
      escaped += fmt::format("\\x{:02X}", static_cast<uint8_t>(text[0]));
    else
      escaped += text.substr(0, size);
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return escaped;
}

std::string WithShortWords(std::string_view text) {
  std::string result;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size() - 1) + 1;
    result += Shortened(std::string(text.substr(begin, end - begin)), kLongestWord);
    begin = end;
  }
  return result;
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

std::string_view WideEncoding(std::string_view text) {
  using namespace std::string_view_literals;
  const auto zero = [&](size_t i) { return text[i] == '\0'; };
  if (text.starts_with("\xFF\xFE\0\0"sv) || text.starts_with("\0\0\xFE\xFF"sv)) return "UTF-32";
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) return "UTF-16";
  return text.size() >= 2 && zero(0) != zero(1) ? "UTF-16" : "";
}

bool IsPlain(std::string_view text) {
  while (!text.empty()) {
    const size_t size = PlainCharacterAt(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string OneLine(std::string_view text) {
  return Shortened(WithShortWords(Escaped(text)), kLongestLine);
}

std::string Shortened(const std::string& name, size_t width) {
  if (name.size() <= width) return name;
  size_t head = (width - 2) / 2, tail = name.size() - (width - 2 - head);
  while (head > 0 && Continues(name[head])) --head;
  while (tail < name.size() && Continues(name[tail])) ++tail;
  return name.substr(0, head) + ".." + name.substr(tail);
}

}  // namespace yoke
