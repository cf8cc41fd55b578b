// Output: the one way to standard output: lines for people or, under --json, lines for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace yoke {

using Json = nlohmann::ordered_json;

/// Writes to a file descriptor, each line at once. A reader that went away (EPIPE) is no error: the
/// rest is dropped. Throws Error when writing fails for another reason (a full disk).
class Output {
 public:
  Output(int descriptor, bool json) : descriptor_(descriptor), json_(json) {}

  bool json() const { return json_; }
  bool closed() const { return closed_; }  ///< The reader went away.
  bool IsTerminal() const;  ///< A person watches, and the terminal can move its cursor.
  int Columns() const;      ///< Width of the terminal; 80 where there is none.

  /// A line for people; nothing under --json. A live line is wiped first.
  void Text(std::string_view line);
  /// A line for programs, with its `event` first; nothing without --json.
  void Event(std::string_view name, const Json& object);
  /// The same for a line that is JSON already.
  void RawEvent(std::string_view line);
  /// Replaces the live line of a terminal ("" wipes it).
  void Live(const std::string& line);

 private:
  void Write(std::string_view bytes);

  int descriptor_;
  bool json_;
  bool closed_ = false;
  bool live_ = false;  ///< A live line stands on the terminal.
};

/// Rows of cells in columns two blanks apart; `right` names the columns that are flush right. The
/// first row is the heading.
std::vector<std::string> TableLines(const std::vector<std::vector<std::string>>& rows,
                                    const std::vector<size_t>& right = {});

/// Lines of at most `width` characters, broken between words; lines after the first begin with
/// `indent` blanks.
std::vector<std::string> Wrap(const std::string& text, size_t width, size_t indent);

}  // namespace yoke
