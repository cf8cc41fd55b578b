// Log: messages for the developer and the run's log file; the one piece of global state.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace spdlog {
class logger;
}

namespace yoke {

/// Adds a file that receives every message from now on (a run's log); throws UserError if it cannot
/// be opened.
void LogToFile(const std::string& path);
void LogInfo(std::string_view message);
void LogWarning(std::string_view message);

/// A log of one's own, written like the process's and apart from it.
class LogFile {
 public:
  LogFile() = default;  ///< Drops what it is given.
  /// Goes on where `path` ends; drops everything where that cannot be written.
  explicit LogFile(const std::string& path);
  void Info(std::string_view message);

 private:
  std::shared_ptr<spdlog::logger> logger_;
};

}  // namespace yoke
