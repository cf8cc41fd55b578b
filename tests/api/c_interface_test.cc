// The C interface (yoke.h) from several threads at once: load, predict, errors, free.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yoke.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "api/model.h"
#include "api/run_job.h"
#include "base/files.h"

namespace yoke::c_interface_test {

constexpr int kThreads = 4, kInputs = 784, kOutputs = 10, kExamples = 300;

using Handle = std::unique_ptr<YokeModel, decltype(&yoke_free)>;

Handle Load(const std::string& path) { return {yoke_load(path.c_str()), yoke_free}; }

/// Runs work(thread) on several threads at once.
template <typename Work>
void OnThreads(const Work& work) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
}

class CInterface : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>("c-interface-test");
    std::ofstream(folder_->path() + "/job.toml")
        << "[data]\nformat = \"synthetic-digits\"\ntrain_size = 200\ntest_size = 50\n"
           "[model]\nname = \"mlp\"\nwidths = [16]\n"
           "[train]\nepochs = 1\nlearning_rate = 0.05\n[node]\nthreads = 2\n";
    RunJob(LoadJob(folder_->path() + "/job.toml", {}), {.run = Run()});
    Model(Run()).Export(Onnx());
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static std::string Run() { return folder_->path() + "/run"; }
  static std::string Onnx() { return folder_->path() + "/model.onnx"; }

  /// Numbers of `count` examples, the same in every call.
  static std::vector<float> Numbers(int count) {
    std::vector<float> numbers;
    for (int i = 0; i < count * kInputs; ++i)
      numbers.push_back(static_cast<float>(i * 7919 % 251) / 251);
    return numbers;
  }

 private:
  static std::unique_ptr<TemporaryFolder> folder_;
};
std::unique_ptr<TemporaryFolder> CInterface::folder_;

TEST_F(CInterface, ThreadsShareAModel) {
  const Handle model = Load(Run());
  ASSERT_TRUE(model) << yoke_error();
  EXPECT_EQ(yoke_inputs(model.get()), kInputs);
  EXPECT_EQ(yoke_outputs(model.get()), kOutputs);
  EXPECT_EQ(yoke_output_name(model.get(), kOutputs), nullptr);
  const std::vector<float> numbers = Numbers(kExamples);
  std::vector<float> whole(size_t{kExamples} * kOutputs);
  ASSERT_EQ(yoke_predict(model.get(), numbers.data(), kExamples, whole.data()), 0) << yoke_error();
  OnThreads([&](int /*thread*/) {
    std::vector<float> some(whole.size());
    for (const int count : {1, 20, kExamples}) {
      EXPECT_EQ(yoke_predict(model.get(), numbers.data(), count, some.data()), 0) << yoke_error();
      for (int i = 0; i < count * kOutputs; ++i) EXPECT_NEAR(some[i], whole[i], 1e-5);
    }
  });
}

TEST_F(CInterface, ThreadsHaveModelsOfTheirOwn) {
  const std::vector<float> numbers = Numbers(1);
  std::array<std::array<float, kOutputs>, kThreads> found = {};
  OnThreads([&](int thread) {
    for (int turn = 0; turn < 3; ++turn) {
      const Handle model = Load(thread % 2 == 0 ? Run() : Onnx());
      ASSERT_TRUE(model) << yoke_error();
      EXPECT_EQ(yoke_predict(model.get(), numbers.data(), 1, found[thread].data()), 0);
    }
  });
  EXPECT_EQ(found[0], found[2]);
  EXPECT_EQ(found[1], found[3]);
}

TEST_F(CInterface, AThreadHasItsOwnError) {
  OnThreads([&](int thread) {
    EXPECT_STREQ(yoke_error(), "");
    const std::string absent = "absent" + std::to_string(thread);
    EXPECT_FALSE(Load(absent));
    EXPECT_EQ(yoke_error(), "there is no checkpoint " + absent);
  });
}

TEST_F(CInterface, RefusesExamples) {
  const Handle model = Load(Run());
  ASSERT_TRUE(model) << yoke_error();
  std::vector<float> numbers = Numbers(1), outputs(kOutputs);
  EXPECT_EQ(yoke_predict(model.get(), numbers.data(), -1, outputs.data()), 2);
  EXPECT_STREQ(yoke_error(), "there are -1 examples");
  numbers[3] = NAN;
  EXPECT_EQ(yoke_predict(model.get(), numbers.data(), 1, outputs.data()), 2);
  EXPECT_THAT(yoke_error(), ::testing::HasSubstr("example 0 has a value of nan"));
}

}  // namespace yoke::c_interface_test
