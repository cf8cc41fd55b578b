// LineReader and number parsing for the text formats, with file and line in messages.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "data/scan_number.h"
#include "data/source.h"

namespace yoke {

/// Finds a text in a table without a copy of it.
struct TextHash {
  using is_transparent = void;  // NOLINT(readability-identifier-naming): the library's
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

struct SparseArrays;  // memory_reader.h

/// Some editors write it first.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Text for a message: quoted, with unprintable bytes as \xNN, truncated after 40 characters.
std::string Quoted(std::string_view text);

/// Parses all of `text` as a finite number. A leading + is allowed, and underflow gives 0. Returns
/// false if it is not a number.
bool ParseNumber(std::string_view text, double& value);

/// The digits of a whole number, however long and however written ("-1.0", "+1" and "1e0" give
/// "-1", "1" and "1"); "" if `text` is none.
std::string WholeNumber(std::string_view text);

/// Whether all of `text` is a number that is not finite: "nan", "-inf", "1e999".
bool IsNotFinite(std::string_view text);

/// Parses a finite f32 at `begin` and moves `begin` past it; returns false if there is none.
bool ScanAnyFloat(const char*& begin, const char* end, float& value);
inline bool ScanFloat(const char*& begin, const char* end, float& value) {
  return ScanPlain(begin, end, value) || ScanAnyFloat(begin, end, value);
}

/// Parses an unsigned integer at `begin` and moves `begin` past it; returns false if there is none
/// or it exceeds `maximum`.
inline bool ScanIndex(const char*& begin, const char* end, int64_t maximum, int64_t& value) {
  if (begin == end || *begin < '0' || *begin > '9') return false;
  const auto [stop, error] = std::from_chars(begin, end, value);
  begin = stop;
  return error == std::errc() && value <= maximum;
}

inline bool IsBlank(char c) { return c == ' ' || c == '\t'; }

/// `text` without leading and trailing blanks.
std::string_view Trimmed(std::string_view text);

/// The word at `begin`, up to the next blank.
std::string_view WordAt(const char* begin, const char* end);

/// A line without the CR of a CR LF.
inline std::string_view WithoutReturn(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

/// Lines of a text file without their line ends (LF or CR LF), which the last line may lack.
class LineReader {
 public:
  explicit LineReader(ByteSource& source) : source_(&source) {}

  /// The next line, valid until the next call; false at the end of the file.
  bool Next(std::string_view& line);
  /// The next nonblank line. Blank lines are allowed only at the end of a file; otherwise throws
  /// UserError.
  bool NextFilled(std::string_view& line);
  /// Whole lines behind the current one, valid until the next call, which do not become the
  /// current line: all that end in a piece of the file, or one that lies in several, without its
  /// LF. False at the end of the file.
  bool NextLines(std::string_view& lines);
  /// Makes a line that NextLines gave the current one.
  void GoTo(int64_t number) { number_ = number; }
  /// The number of the current line, from 1.
  int64_t Number() const { return number_; }
  const std::string& Name() const { return source_->Name(); }

  /// Throws UserError "file:line: sentence".
  template <typename... Args>
  [[noreturn]] void Fail(fmt::format_string<Args...> sentence, Args&&... args) const {
    throw UserError(fmt::format("{}:{}: {}", Name(), number_,
                                fmt::format(sentence, std::forward<Args>(args)...)));
  }

 private:
  /// The rest of a line, which begins in the current piece, without its LF.
  bool Take(std::string_view& line);
  /// Removes a byte order mark; refuses other encodings.
  void CheckStart(std::string_view& line) const;

  ByteSource* source_;
  std::string_view piece_;
  std::string carried_;  // beginning of a line that started in an earlier piece
  int64_t number_ = 0;
};

/// Ends the row of `rows` that started at entry `begin` and sorts its ids. A duplicate id is an
/// error at the current line.
void EndSparseRow(const LineReader& lines, int64_t begin, SparseArrays& rows);

}  // namespace yoke
