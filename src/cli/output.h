// Output: writes to standard output: lines for people or, under --json, lines for programs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace yoke {

/// Writes each line immediately to a file descriptor. A reader that closed the pipe (EPIPE) is not
/// an error: the rest is dropped. Throws Error if writing fails for another reason (a full disk).
class Output {
 public:
  Output(int descriptor, bool json) : descriptor_(descriptor), json_(json) {}

  bool json() const { return json_; }
  bool closed() const { return closed_; }  ///< The reader closed the pipe.
  bool IsTerminal() const;                 ///< It is a terminal that can move its cursor.
  int Columns() const;                     ///< Width of the terminal; 80 without one.

  /// The end of a write error's sentence: how to continue.
  void Advise(std::function<std::string()> advice) { advice_ = std::move(advice); }

  /// Writes a line for people; nothing under --json. Clears a live line first.
  void Text(std::string_view line);
  /// Writes a sentence about the input, or under --json the event `note`. `aside`: each line is a
  /// result for programs, so only a terminal gets the sentence.
  void Note(const std::string& sentence, bool aside);
  /// Writes a line for programs, with `event` first; nothing without --json.
  void Event(const char* name, Table fields);
  /// The same for a line that is already JSON.
  void RawEvent(std::string_view line);
  /// Replaces the terminal's live line ("" clears it).
  void Live(const std::string& line);

 private:
  void Write(std::string_view bytes);

  int descriptor_;
  bool json_;
  std::function<std::string()> advice_;
  bool closed_ = false;
  bool live_ = false;  ///< A live line is on the terminal.
};

/// Formats rows of cells in columns, two spaces apart; the columns in `right` are right-aligned.
/// The first row is the heading.
std::vector<std::string> TableLines(const std::vector<std::vector<std::string>>& rows,
                                    const std::vector<size_t>& right = {});

/// Wraps text between words into lines of at most `width` characters; lines after the first start
/// with `indent` spaces.
std::vector<std::string> Wrap(const std::string& text, size_t width, size_t indent);

}  // namespace yoke
