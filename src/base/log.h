// Log: messages for the developer and the run's log file. It is the only global state.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace spdlog {
class logger;
}

namespace yoke {

/// Writes every message from now on to this file too (a run's log). Throws UserError if it cannot
/// be opened, and at what is not a regular file.
void LogToFile(const std::string& path);
void LogInfo(std::string_view message);
void LogWarning(std::string_view message);
/// The warnings since the last call, at most the first hundred. Thread-safe.
std::vector<std::string> TakeWarnings();

/// A separate log, in the same format as the process's log.
class LogFile {
 public:
  LogFile() = default;  ///< Discards all messages.
  /// Appends to `path`; discards all messages if it cannot be written.
  explicit LogFile(const std::string& path);
  void Info(std::string_view message);

 private:
  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace yoke
