// The log goes to its file, and says so when it cannot.
#include "base/log.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/check.h"

namespace yoke::log_test {

TEST(Log, MessagesReachTheFile) {
  const std::string path = testing::TempDir() + "/yoke_log_test.txt";
  std::filesystem::remove(path);
  LogToFile(path);
  LogInfo("braces {} are text");
  LogWarning("careful");
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_THAT(text.str(), testing::HasSubstr("braces {} are text"));
  EXPECT_THAT(text.str(), testing::HasSubstr("careful"));
}

TEST(Log, WarningsAreTakenOnce) {
  TakeWarnings();
  LogInfo("no warning");
  for (int i = 0; i < 200; ++i) LogWarning(i == 0 ? "first" : "another");
  const std::vector<std::string> warnings = TakeWarnings();
  EXPECT_EQ(warnings.size(), 100U);
  EXPECT_EQ(warnings.front(), "first");
  EXPECT_TRUE(TakeWarnings().empty());
}

TEST(Log, AFileThatCannotBeOpenedIsNamed) {
  EXPECT_THROW(LogToFile("/proc/nowhere/log.txt"), UserError);
}

TEST(Log, APipeIsRefusedAndNotWaitedFor) {
  const std::string path = testing::TempDir() + "/yoke_log_test_pipe";
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THROW(LogToFile(path), UserError);
  EXPECT_THROW(LogToFile("/dev/null"), UserError);
  LogFile(path).Info("nothing");
}

TEST(LogFile, GoesOnWhereTheFileEndsApartFromTheLog) {
  const std::string path = testing::TempDir() + "/yoke_log_file_test.txt";
  std::filesystem::remove(path);
  LogFile(path).Info("first {}");
  LogFile(path).Info("second");
  LogInfo("elsewhere");
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_THAT(text.str(), testing::ContainsRegex("first \\{\\}\n.*second\n$"));
}

/// Runs work() while no file may grow beyond `most` bytes.
template <typename Work>
void WithLimit(rlim_t most, const Work& work) {
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small = {.rlim_cur = most, .rlim_max = before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  work();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
}

/// Standard error holds only the error of the run: not a word there.
TEST(LogFile, DropsWhatCannotBeWritten) {
  constexpr size_t kMost = 4096;
  const std::string full = testing::TempDir() + "/yoke_log_file_full_test.txt";
  std::ofstream(full) << std::string(kMost, ' ');
  testing::internal::CaptureStderr();
  EXPECT_NO_THROW(LogFile("/proc/nowhere/log.txt").Info("nothing"));
  WithLimit(kMost, [&] { EXPECT_NO_THROW(LogFile(full).Info("nothing")); });
  EXPECT_NO_THROW(LogFile().Info("nothing"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace yoke::log_test
