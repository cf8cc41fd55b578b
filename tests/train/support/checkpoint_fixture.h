// A run's folder with a small model in it, for tests of checkpoints.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "train/checkpoint/checkpoint.h"
#include "train/files.h"

namespace yoke::test {

namespace fs = std::filesystem;

inline const RuleEntry& Adam() {
  for (const RuleEntry& entry : rules())
    if (entry.name == "adam") return entry;
  throw Error("no adam");
}

inline ParamLayout SmallLayout() {
  ParamLayout layout;
  layout.Add({.name = "embed.weight",
              .shape = {4, 3},
              .kind = SliceKind::kRowSparse,
              .initializer = "normal_0.01"});
  layout.Add({.name = "fc.weight", .shape = {3, 2}, .initializer = "normal_0.01"});
  layout.Add({.name = "fc.bias", .shape = {2}, .initializer = "normal_0.01"});
  layout.Pack();
  return layout;
}

/// A run's folder with a small model in it.
class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest()
      : run_(fs::temp_directory_path() / fmt::format("yoke-checkpoint-{}", getpid())),
        rule_(Adam().make(Options("train", Value(), Adam().options))),
        params_(SmallLayout(), Cpu()),
        state_(params_.layout(), *rule_, Cpu()) {
    fs::create_directories(run_);
    Initialize(params_, 1);
  }
  ~CheckpointTest() override { fs::remove_all(run_); }

  std::string Write(int64_t step, int keep = 2, bool best = false) {
    header_.position.step = step;
    return WriteCheckpoint({.run = run_, .keep = keep, .best = best},
                           {.header = header_,
                            .layout = params_.layout(),
                            .values = params_.values().Host().data(),
                            .state = state_});
  }

  std::vector<std::string> Folders() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(run_ + "/checkpoints"))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string run_;
  std::unique_ptr<UpdateRule> rule_;
  ParamStore params_;
  RuleState state_;
  CheckpointHeader header_{.job = Table{{"train", Table{{"epochs", 3}, {"learning_rate", 1.0}}}},
                           .data = {.input = {3}, .outputs = 2, .label_names = {"-1", "cat"}},
                           .position = {.epoch = 1,
                                        .examples = 10,
                                        .loss_sum = 0.1,
                                        .loss_examples = 4,
                                        .seconds = 2.5,
                                        .best = 0.5,
                                        .has_best = true},
                           .rule_steps = 9,
                           .executor = Table{},
                           .strategy = Table{{"clock", 3}},
                           .test = {{"loss", 0.25}, {"accuracy", 0.1}}};
};

/// A header's text with its checksum made anew.
inline std::string Sealed(std::string bytes) {
  const std::string before = "{\n \"checksum\": \"";
  EXPECT_TRUE(bytes.starts_with(before));
  Seal(bytes, before.size());
  return bytes;
}

/// The header with the text `from` replaced by `to`, sealed again.
inline std::string Altered(std::string bytes, const std::string& from, const std::string& to) {
  const size_t at = bytes.find(from);
  EXPECT_NE(at, bytes.npos) << from;
  bytes.replace(at, from.size(), to);
  return Sealed(bytes);
}

}  // namespace yoke::test
