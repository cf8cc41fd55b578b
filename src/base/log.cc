// Log: one sink for the process, spdlog underneath.
#include "base/log.h"

#include <fcntl.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <mutex>
#include <utility>

#include "base/check.h"
#include "base/files.h"
#include "base/utf8.h"

namespace yoke {
namespace {

/// The logger of the process: without a file, messages are dropped (standard error holds only the
/// error).
std::shared_ptr<spdlog::logger>& Logger() {
  static auto logger = std::make_shared<spdlog::logger>("yoke");
  return logger;
}

/// Appends each message at once. spdlog's own sink opens whatever lies there.
class FileSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FileSink(const std::string& path) : path_(path), file_(OpenRegular(path, O_APPEND)) {}
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;
  ~FileSink() override { close(file_); }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    const ssize_t written = write(file_, text.data(), text.size());
    if (written != static_cast<ssize_t>(text.size()))
      throw spdlog::spdlog_ex("cannot write " + path_, written < 0 ? errno : ENOSPC);
  }
  void flush_() override {}

 private:
  std::string path_;
  int file_;
};

std::shared_ptr<spdlog::logger> Open(const std::string& path) {
  auto logger = std::make_shared<spdlog::logger>("yoke", std::make_shared<FileSink>(path));
  logger->set_error_handler([](const std::string&) {});  // a full disk does not end a run's log
  return logger;
}

/// Warnings for a program that asks for them.
class Warnings {
 public:
  static Warnings& Get() {
    static Warnings warnings;
    return warnings;
  }
  void Add(std::string_view message) {
    constexpr size_t kMost = 100;
    const std::lock_guard lock(mutex_);
    if (messages_.size() < kMost) messages_.emplace_back(message);
  }
  std::vector<std::string> Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(messages_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> messages_;
};

}  // namespace

void LogToFile(const std::string& path) { Logger() = Open(path); }

void LogInfo(std::string_view message) { Logger()->info("{}", OneLine(message)); }

void LogWarning(std::string_view message) {
  Logger()->warn("{}", OneLine(message));
  Warnings::Get().Add(message);
}

std::vector<std::string> TakeWarnings() { return Warnings::Get().Take(); }

LogFile::LogFile(const std::string& path) {
  try {
    logger_ = Open(path);
  } catch (const UserError&) {  // nobody asked for it
  }
}

void LogFile::Info(std::string_view message) {
  if (logger_) logger_->info("{}", OneLine(message));
}

}  // namespace yoke
