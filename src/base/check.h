// Errors: one sentence that says what is wrong and what was expected, and whether it is the
// caller's mistake.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace yoke {

/// A failure of the program or the machine. exit_status() is the command's exit status.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& sentence, int exit_status = 1)
      : std::runtime_error(sentence), exit_status_(exit_status) {}
  int exit_status() const { return exit_status_; }

 private:
  int exit_status_;
};

/// The caller's mistake (job, arguments, data): exit status 2.
class UserError : public Error {
 public:
  explicit UserError(const std::string& sentence) : Error(sentence, 2) {}
};

/// Throws UserError with the formatted sentence unless `condition` holds.
template <typename... Args>
void Require(bool condition, fmt::format_string<Args...> sentence, Args&&... args) {
  if (!condition) throw UserError(fmt::format(sentence, std::forward<Args>(args)...));
}

/// Throws Error with sentence and place unless `condition` holds: a bug in our own code.
void Check(bool condition, std::string_view sentence, const char* file = __builtin_FILE(),
           int line = __builtin_LINE());

/// The system's text for an errno; for a full disk and for limits on files also what to do. 0
/// (unknown) asks whether the disk is full.
std::string ReasonOf(int error);

}  // namespace yoke
