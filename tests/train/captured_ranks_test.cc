// Steps of several ranks with a GPU each, on mocks of CUDA and NCCL: under each strategy that keeps
// values there, what a warm step launches, and the bits of steps that are enqueued kernel by
// kernel.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "comm/support/mock_nccl.h"
#include "comm/threads.h"
#include "data/reader.h"
#include "kernels/threads.h"
#include "strategy/strategy.h"
#include "tensor/support/mock_cuda.h"
#include "train/replica.h"

namespace yoke::captured_ranks_test {

using testing::IsEmpty;

constexpr int kRanks = 2;
constexpr int64_t kBatch = 8, kWarm = 48, kSteps = 100;

constexpr const char* kJob = R"([data]
format = "synthetic-digits"
train_size = 64
test_size = 8
[model]
layer = [{ type = "flatten" }, { type = "linear", outputs = 20 }, { type = "relu" }, { type = "dropout" }, { type = "linear", outputs = 10 }]
)";

/// Of sets of labels, 0 to 7 an example.
constexpr const char* kSetsJob = R"([data]
format = "csv"
label = "labels"
task = "multi_label"
test_share = 0.2
[model]
layer = [{ type = "linear", outputs = 20 }, { type = "relu" }, { type = "linear", outputs = 7 }]
)";

constexpr const char* kRest = R"([train]
batch = 8
rule = "momentum"
learning_rate = 0.01
[node]
devices = ["cuda:0", "cuda:1"]
threads = 1
)";

std::string Sets() {
  std::string text = "x,y,labels\n";
  for (int example = 0; example < 64; ++example) {
    text += std::to_string(example % 7) + "," + std::to_string(example % 5) + ",";
    for (int label = 0; label < example / 8; ++label)
      text += (label > 0 ? ";l" : "l") + std::to_string(label);
    text += "\n";
  }
  return text;
}

struct Counts {
  std::map<std::string, int64_t> of_driver;
  int64_t sums = 0;
};

/// What kSteps warm steps of both ranks did, and rank 0's values after them.
struct Trained {
  Counts counts;
  std::vector<float> values;
};

class CapturedRanksTest : public testing::Test {
 protected:
  CapturedRanksTest() { GiveCudaDriver(&cuda_.driver()); }
  ~CapturedRanksTest() override { GiveCudaDriver(nullptr); }

  Trained Train(const Overrides& keys, bool nccl, const char* text = kJob) {
    Overrides all = keys;
    all.push_back({"cluster.replicas", std::to_string(kRanks)});
    const Job job =
        WithKeys(MakeJob(ParseToml(std::string(text) + kRest, "job.toml"), "job", "/"), all);
    const DataSets data = OpenData(job.data(), job.seed());
    Trained trained;
    const auto make = [&](const Communicator& world, Device& device) {
      return MakeNcclAllReduce(world, device, nccl ? &nccl_.calls() : nullptr);
    };
    RunThreads({.ranks = kRanks, .device_all_reduce = make}, [&](const Communicator& world) {
      SetKernelThreads(1);
      Replica replica(job, data.train->Info(),
                      {.world = world, .local = {.rank = world.rank(), .size = kRanks}});
      replica.Broadcast();
      replica.Prepare();
      Steps(replica, *data.train, world.rank(), 0, kWarm);
      world.Barrier();
      const Counts before = Now();
      world.Barrier();
      Steps(replica, *data.train, world.rank(), kWarm, kWarm + kSteps);
      world.Barrier();
      if (world.rank() == 0) trained.counts = Since(before);
      world.Barrier();
      replica.Settle();
      const std::span<const float> model = replica.Model();
      if (world.rank() == 0) trained.values = {model.begin(), model.end()};
      replica.Finish();
    });
    EXPECT_THAT(cuda_.broken(), IsEmpty());
    return trained;
  }

  MockCuda cuda_{{.devices = kRanks}};
  MockNccl nccl_{cuda_.driver()};

 private:
  /// An epoch's last batch is smaller, on both ranks.
  static void Steps(Replica& replica, const Reader& reader, int rank, int64_t begin, int64_t end) {
    for (int64_t step = begin; step < end; ++step) {
      std::vector<int64_t> examples(step % 8 == 7 ? 3 : kBatch);
      for (size_t i = 0; i < examples.size(); ++i)
        examples[i] = (17 * rank + 5 * step + int64_t(i)) % reader.Size();
      Batch batch;
      reader.Read({.examples = examples, .epoch = step / 8, .as_stored = true}, batch);
      replica.Step(batch, {.step = step,
                           .learning_rate = 0.01,
                           .highest_rate = 0.01,
                           .team_examples = kRanks * std::ssize(examples)});
      while (replica.LateResult(/*wanted=*/false)) continue;
    }
    while (replica.LateResult(/*wanted=*/true)) continue;
  }
  Counts Now() const { return {.of_driver = cuda_.calls(), .sums = nccl_.sums}; }
  Counts Since(const Counts& before) const {
    Counts counts = Now();
    for (const auto& [call, times] : before.of_driver) counts.of_driver[call] -= times;
    counts.sums -= before.sums;
    return counts;
  }
};

/// Forward, backward, NCCL's sums and the update.
TEST_F(CapturedRanksTest, AllReduceIsInTheGraphOfAStep) {
  for (const char* bucket_mb : {"4", "0"}) {
    const Overrides keys = {{"cluster.strategy", "allreduce"}, {"cluster.bucket_mb", bucket_mb}};
    Trained captured = Train(keys, /*nccl=*/true);
    auto& made = captured.counts.of_driver;
    EXPECT_EQ(made["launch"], kRanks * kSteps);
    EXPECT_EQ(made["launch_host"], kRanks * kSteps);  // the updates' starts
    EXPECT_EQ(captured.counts.sums, 0);               // all in graphs
    for (const char* call : {"allocate", "free", "allocate_pinned", "free_pinned", "create_stream",
                             "begin_capture", "instantiate"})
      EXPECT_EQ(made[call], 0) << call;
    EXPECT_EQ(captured.values, Train(keys, /*nccl=*/false).values);
  }
}

/// The number of labels differs between ranks, so where one would capture, the other would launch.
TEST_F(CapturedRanksTest, SumsOfSetsOfLabelsAreInNoGraph) {
  const std::string file = testing::TempDir() + "yoke-sets-" + std::to_string(getpid()) + ".csv";
  std::ofstream(file) << Sets();
  const Overrides keys = {{"cluster.strategy", "allreduce"}, {"data.train", file}};
  Trained apart = Train(keys, /*nccl=*/true, kSetsJob);
  EXPECT_EQ(apart.counts.of_driver["launch"], 0);
  EXPECT_EQ(apart.counts.sums, kRanks * kSteps);
  EXPECT_EQ(apart.values, Train(keys, /*nccl=*/false, kSetsJob).values);
  std::filesystem::remove(file);
}

/// Under the others the update follows the gradient, before anything is exchanged. Values are near
/// those of the CPU, whose kernels add in another order.
TEST_F(CapturedRanksTest, UpdatesAreInTheGraphOfAStep) {
  for (const StrategyEntry& entry : strategies()) {
    if (!entry.values_on_device || entry.name == "none") continue;
    SCOPED_TRACE(entry.name);
    const Overrides keys = {{"cluster.strategy", entry.name}};
    Trained trained = Train(keys, /*nccl=*/false);
    const bool beside = entry.name == "allreduce";  // through the host
    EXPECT_EQ(trained.counts.of_driver["launch"], beside ? 0 : kRanks * kSteps);
    EXPECT_EQ(trained.counts.of_driver["begin_capture"], 0);
    Overrides on_cpu = keys;
    on_cpu.push_back({"node.devices", "cpu"});
    const std::vector<float> expected = Train(on_cpu, false).values;
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(trained.values[i], expected[i], 1e-4) << i;
  }
}

}  // namespace yoke::captured_ranks_test
