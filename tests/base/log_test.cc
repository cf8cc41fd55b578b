// The log goes to its file, and says so when it cannot.
#include "base/log.h"

#include <gmock/gmock.h>

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

TEST(Log, AFileThatCannotBeOpenedIsNamed) {
  EXPECT_THROW(LogToFile("/proc/nowhere/log.txt"), UserError);
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

/// Standard error holds only the error of the run: not a word there.
TEST(LogFile, DropsWhatCannotBeWritten) {
  testing::internal::CaptureStderr();
  EXPECT_NO_THROW(LogFile("/proc/nowhere/log.txt").Info("nothing"));
  EXPECT_NO_THROW(LogFile("/dev/full").Info("nothing"));
  EXPECT_NO_THROW(LogFile().Info("nothing"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace yoke::log_test
