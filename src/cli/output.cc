// Output: plain write(2), so that every failure is seen where it occurs.
#include "cli/output.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "base/check.h"

namespace yoke {

bool Output::IsTerminal() const {
  const char* kind = std::getenv("TERM");
  return isatty(descriptor_) == 1 && kind != nullptr && std::strcmp(kind, "dumb") != 0;
}

int Output::Columns() const {
  winsize size{};
  const bool known = ioctl(descriptor_, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

void Output::Write(std::string_view bytes) {
  while (!bytes.empty() && !closed_) {
    const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EPIPE || errno == EIO) {  // EIO: the terminal was closed
      closed_ = true;
    } else if (errno != EINTR) {
      closed_ = true;
      std::string sentence = "cannot write standard output: " + ReasonOf(errno);
      if (advice_) sentence += "; " + advice_();
      throw Error(sentence);
    }
  }
}

void Output::Text(std::string_view line) {
  if (json_) return;
  Live("");
  Write(std::string(line) + "\n");
}

void Output::Note(const std::string& sentence, bool aside) {
  Event("note", {{"text", sentence}});
  if (!aside || IsTerminal()) Text(sentence);
}

void Output::Event(const char* name, Table fields) {
  if (json_) RawEvent(FormatJson(Join({{"event", name}}, std::move(fields))));
}

void Output::RawEvent(std::string_view line) {
  if (json_) Write(std::string(line) + "\n");
}

void Output::Live(const std::string& line) {
  if (json_ || (line.empty() && !live_)) return;
  Write("\r\033[K" + line);  // to the first column, erase to the end of the line
  live_ = !line.empty();
}

std::vector<std::string> TableLines(const std::vector<std::vector<std::string>>& rows,
                                    const std::vector<size_t>& right) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - row[i].size(), ' ');
      const bool flush_right = std::find(right.begin(), right.end(), i) != right.end();
      line += (i ? "  " : "") + (flush_right ? blanks + row[i] : row[i] + blanks);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> Wrap(const std::string& text, size_t width, size_t indent) {
  std::vector<std::string> lines(1);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const bool starts = lines.back().find_first_not_of(' ') == std::string::npos;
    if (!starts && lines.back().size() + 1 + word.size() > width)
      lines.emplace_back(std::string(indent, ' ') + word);
    else
      lines.back() += (starts ? "" : " ") + word;
  }
  return lines;
}

}  // namespace yoke
