// RunsTest: whole runs of a small job in a folder of its own.
#include "train/support/runs_test.h"

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>

#include "base/check.h"
#include "train/files.h"

namespace yoke {

namespace fs = std::filesystem;

RunsTest::RunsTest(const std::string& job)
    : folder_(fs::temp_directory_path() / fmt::format("yoke-runs-{}", getpid())) {
  fs::remove_all(folder_);
  fs::create_directories(folder_);
  ReplaceFile(folder_ + "/job.toml", job);
}

RunsTest::~RunsTest() { fs::remove_all(folder_); }

EndEvent RunsTest::Run(const std::string& name, const Overrides& overrides) {
  return Train(LoadJob(folder_ + "/job.toml", overrides), Request(name));
}

EndEvent RunsTest::Resume(const std::string& name, const Overrides& overrides) {
  RunRequest request = Request(name);
  request.resume = true;
  return Train(LoadJob(request.run + "/job.toml", overrides), request);
}

std::string RunsTest::Kept(const std::string& run, const char* file) const {
  return ReadWhole(folder_ + "/" + run + "/last/" + file);
}

std::string RunsTest::Refusal(const Overrides& overrides) {
  try {
    Run("refused", overrides);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

RunRequest RunsTest::Request(const std::string& name) const {
  RunRequest request = request_;
  request.run = folder_ + "/" + name;
  return request;
}

}  // namespace yoke
