// Log: messages for the developer and the run's log file; the one piece of global state.
#pragma once

#include <string>
#include <string_view>

namespace yoke {

/// Adds a file that receives every message from now on (a run's log); throws UserError if it cannot
/// be opened.
void LogToFile(const std::string& path);
void LogInfo(std::string_view message);
void LogWarning(std::string_view message);

}  // namespace yoke
