// RunsTest: whole runs of a small job in a folder of its own.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "train/job/job.h"
#include "train/trainer.h"

namespace yoke {

class RunsTest : public testing::Test {
 protected:
  explicit RunsTest(const std::string& job);
  ~RunsTest() override;

  EndEvent Run(const std::string& name, const Overrides& overrides);
  EndEvent Resume(const std::string& name, const Overrides& overrides);
  /// A file of the last checkpoint.
  std::string Kept(const std::string& run, const char* file) const;
  /// What Run says of a mistake; "": it finds none.
  std::string Refusal(const Overrides& overrides);

  std::string folder_;
  RunRequest request_;  ///< Of each run but for its folder.

 private:
  RunRequest Request(const std::string& name) const;
};

}  // namespace yoke
