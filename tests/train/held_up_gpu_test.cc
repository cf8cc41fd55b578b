// What holds up a GPU in warm steps, as CUPTI counts the calls of this process, of its libraries
// too: the table of held_up_test on a real device.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/check.h"
#include "comm/threads.h"
#include "data/reader.h"
#include "kernels/threads.h"
#include "tensor/cuda/cuda_library.h"
#include "train/replica.h"

namespace yoke::held_up_gpu_test {

constexpr int kSteps = 100, kWarm = 16;
constexpr int64_t kBatch = 64;

cuda::CudaLibrary Cupti() {
  return cuda::CudaLibrary({"libcupti.so.13", "libcupti.so.12", "libcupti.so"});
}

/// Counts the calls of CUDA's runtime and driver, by name, while it lives. Its declarations are
/// those of CUPTI's header, which lies elsewhere in each toolkit.
class ApiCalls {
 public:
  /// Throws Error where there is no CUPTI.
  ApiCalls() {
    Require("cuptiSubscribe", library_.Of<Subscribe>("cuptiSubscribe")(&subscriber_, Count, this));
    for (const uint32_t domain : {kDriver, kRuntime})
      Require("cuptiEnableDomain",
              library_.Of<Enable>("cuptiEnableDomain")(1, subscriber_, domain));
  }
  ~ApiCalls() { library_.Of<Unsubscribe>("cuptiUnsubscribe")(subscriber_); }
  ApiCalls(const ApiCalls&) = delete;
  ApiCalls& operator=(const ApiCalls&) = delete;

  static bool AreCounted() {
    try {
      Cupti();
      return true;
    } catch (const UserError&) {
      return false;
    }
  }

  /// Calls whose name this holds of: of the runtime or of the driver, whichever are more, because
  /// what the runtime asks of the driver may be counted, too.
  int64_t Those(bool (*hold)(std::string_view)) const {
    const std::lock_guard lock(mutex_);
    int64_t sums[kDomains] = {};
    for (uint32_t domain = 0; domain < kDomains; ++domain)
      for (const auto& [name, count] : counts_[domain]) sums[domain] += hold(name) ? count : 0;
    return *std::ranges::max_element(sums);
  }
  std::string Text() const {
    const std::lock_guard lock(mutex_);
    return fmt::format("runtime {}, driver {}", counts_[kRuntime], counts_[kDriver]);
  }

 private:
  static constexpr uint32_t kDriver = 1, kRuntime = 2, kDomains = 3;
  struct Data {
    int site;  // 0: the call begins
    const char* function;
  };
  using Callback = void(void* user, uint32_t domain, uint32_t id, const Data* data);
  using Subscribe = int(void** subscriber, Callback* callback, void* user);
  using Enable = int(uint32_t enable, void* subscriber, uint32_t domain);
  using Unsubscribe = int(void* subscriber);

  static void Require(const char* call, int status) {
    if (status != 0) throw Error(fmt::format("{} failed: status {}", call, status));
  }
  static void Count(void* user, uint32_t domain, uint32_t /*id*/, const Data* data) {
    auto* const calls = static_cast<ApiCalls*>(user);
    if (data->site != 0 || domain >= kDomains) return;
    const std::lock_guard lock(calls->mutex_);
    ++calls->counts_[domain][data->function];
  }

  const cuda::CudaLibrary library_ = Cupti();
  mutable std::mutex mutex_;
  std::map<std::string, int64_t> counts_[kDomains];
  void* subscriber_ = nullptr;
};

bool Has(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}
/// Copies without a stream are waited for.
bool Waits(std::string_view name) {
  return Has(name, "Synchronize") || (Has(name, "Memcpy") && !Has(name, "Async"));
}
bool Allocates(std::string_view name) {
  return Has(name, "Malloc") || Has(name, "HostAlloc") || Has(name, "MemAlloc") ||
         Has(name, "MemCreate");
}
bool Frees(std::string_view name) { return Has(name, "cudaFree") || Has(name, "MemFree"); }
bool MakesEvents(std::string_view name) { return Has(name, "EventCreate"); }
bool LaunchesGraphs(std::string_view name) { return Has(name, "GraphLaunch"); }

/// Steps of a replica on the GPU whose batches come again and again.
class Steps {
 public:
  Steps(const Job& job, const Communicator& world)
      : data_(OpenData(job.data(), job.seed())),
        replica_(job, data_.train->Info(), {.world = world, .local = {.rank = 0, .size = 1}}) {
    for (int64_t number = 0; number < 4; ++number) {
      std::vector<int64_t> examples(kBatch);
      for (int64_t i = 0; i < kBatch; ++i)
        examples[i] = (16 * number + 3 * i) % data_.train->Size();
      data_.train->Read({.examples = examples, .as_stored = true}, batches_[number]);
    }
    replica_.Broadcast();
    replica_.Prepare();
  }
  ~Steps() { replica_.Finish(); }
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  void Take(int count) {
    for (const int64_t end = step_ + count; step_ < end; ++step_) {
      replica_.Step(
          batches_[step_ % 4],
          {.step = step_, .learning_rate = 0.001, .highest_rate = 0.001, .team_examples = kBatch});
      while (replica_.LateResult(/*wanted=*/false)) continue;
    }
  }
  void End() {
    while (replica_.LateResult(/*wanted=*/true)) continue;
    replica_.Settle();
  }

 private:
  DataSets data_;
  Replica replica_;
  Batch batches_[4];
  int64_t step_ = 0;
};

class HeldUpGpu : public testing::TestWithParam<const char*> {};

TEST_P(HeldUpGpu, OnlyTheLateLossIsAwaited) {
  if (!ApiCalls::AreCounted()) GTEST_SKIP() << "libcupti is not installed here";
  const Job job = MakeJob(ParseToml(fmt::format(R"([data]
format = "synthetic-digits"
train_size = 640
test_size = 8
[model]
name = "{}"
[train]
batch = {}
[node]
devices = "cuda:0"
)",
                                                GetParam(), kBatch),
                                    "job.toml"),
                          "job", "/");
  RunThreads({.ranks = 1}, [&](const Communicator& world) {
    SetKernelThreads(1);
    Steps steps(job, world);
    steps.Take(kWarm);
    const ApiCalls calls;
    steps.Take(kSteps);
    SCOPED_TRACE(calls.Text());
    EXPECT_LE(calls.Those(Waits), kSteps);  // the loss of two steps before is read
    EXPECT_EQ(calls.Those(Allocates), 0);
    EXPECT_EQ(calls.Those(Frees), 0);
    EXPECT_EQ(calls.Those(MakesEvents), 0);
    EXPECT_EQ(calls.Those(LaunchesGraphs), kSteps);
    steps.End();
  });
}

INSTANTIATE_TEST_SUITE_P(Models, HeldUpGpu, testing::Values("mlp", "lenet", "resnet20"));

}  // namespace yoke::held_up_gpu_test
