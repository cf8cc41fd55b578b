// LineReader and number parsing: what the text formats share, with messages that name file and
// line.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "data/source.h"

namespace yoke {

/// Text for a message: in quotes, unprintable bytes as \xNN, cut after 40 characters.
std::string Quoted(std::string_view text);

/// The whole of `text` as a finite number (a leading + is allowed; what is too small becomes 0);
/// false when it is none.
bool ParseNumber(std::string_view text, double& value);

/// Reads a finite f32 at `begin` and moves `begin` behind it; false when there is none.
bool ScanFloat(const char*& begin, const char* end, float& value);

/// Reads a whole number without sign at `begin` and moves `begin` behind it; false when there is
/// none or it passes `maximum`.
inline bool ScanIndex(const char*& begin, const char* end, int64_t maximum, int64_t& value) {
  if (begin == end || *begin < '0' || *begin > '9') return false;
  const auto [stop, error] = std::from_chars(begin, end, value);
  begin = stop;
  return error == std::errc() && value <= maximum;
}

inline bool IsBlank(char c) { return c == ' ' || c == '\t'; }

/// `text` without blanks at its ends.
std::string_view Trimmed(std::string_view text);

/// The word that begins at `begin`: up to the next blank.
std::string_view WordAt(const char* begin, const char* end);

/// Lines of a text file, without their ends (LF or CR LF); the last one need not have one.
class LineReader {
 public:
  explicit LineReader(ByteSource& source) : source_(&source) {}

  /// The next line, valid until the next call; false at the end of the file.
  bool Next(std::string_view& line);
  /// The next line that is not blank; throws UserError when only blank lines lie before it (they
  /// may only end a file).
  bool NextFilled(std::string_view& line);
  /// The number of the last line, from 1.
  int64_t Number() const { return number_; }
  const std::string& Name() const { return source_->Name(); }

  /// Throws UserError "file:line: sentence".
  template <typename... Args>
  [[noreturn]] void Fail(fmt::format_string<Args...> sentence, Args&&... args) const {
    throw UserError(fmt::format("{}:{}: {}", Name(), number_,
                                fmt::format(sentence, std::forward<Args>(args)...)));
  }

 private:
  /// Takes the mark off that some editors put in front; refuses another encoding.
  void CheckStart(std::string_view& line) const;

  ByteSource* source_;
  std::string_view piece_;
  std::string carried_;  // a line that began in an earlier piece
  int64_t number_ = 0;
};

}  // namespace yoke
