// Log: one sink for the process, spdlog underneath.
#include "base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "base/check.h"
#include "base/new_file.h"
#include "base/utf8.h"

namespace yoke {
namespace {

/// The logger of the process: without a file, messages are dropped (standard error holds only the
/// error).
std::shared_ptr<spdlog::logger>& Logger() {
  static auto logger = std::make_shared<spdlog::logger>("yoke");
  return logger;
}

/// Throws spdlog_ex where that is not possible, and at a link, which may lead anywhere.
std::shared_ptr<spdlog::logger> Open(const std::string& path) {
  if (IsLink(path)) throw spdlog::spdlog_ex("it is a link; expected a file");
  auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
  auto logger = std::make_shared<spdlog::logger>("yoke", std::move(sink));
  logger->flush_on(spdlog::level::info);
  return logger;
}

}  // namespace

void LogToFile(const std::string& path) {
  try {
    Logger() = Open(path);
  } catch (const spdlog::spdlog_ex& error) {
    throw UserError(fmt::format("cannot write the log {}: {}", path, error.what()));
  }
}

void LogInfo(std::string_view message) { Logger()->info("{}", OneLine(message)); }
void LogWarning(std::string_view message) { Logger()->warn("{}", OneLine(message)); }

LogFile::LogFile(const std::string& path) {
  try {
    logger_ = Open(path);
    logger_->set_error_handler([](const std::string&) {});
  } catch (const spdlog::spdlog_ex&) {  // nobody asked for it
  }
}

void LogFile::Info(std::string_view message) {
  if (logger_) logger_->info("{}", OneLine(message));
}

}  // namespace yoke
