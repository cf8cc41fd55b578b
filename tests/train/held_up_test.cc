// What holds up a device in warm steps: waits, allocations, copies, by cause, of each executor and
// strategy that trains on one. kTable says what may, and why.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "comm/threads.h"
#include "data/reader.h"
#include "kernels/threads.h"
#include "tensor/counting.h"
#include "train/replica.h"

namespace yoke::held_up_test {

constexpr int kSteps = 100;
constexpr int kWarm = 16;
constexpr int kPeriod = 4;
constexpr int kMeetings = kSteps / kPeriod;
constexpr int64_t kBatch = 4;

/// What a part of training may do, each time.
struct Row {
  const char* part;
  const char* cause;  ///< As CountedAs says.
  DeviceCounts each;
  const char* reason;
};

const Row kTable[] = {
    // Values on the device: a step itself does nothing of this.
    {"step", "late loss", {.waits = 1}, "the loss of two steps before is read"},
    {"meeting", "meeting", {.waits = 1, .host_reads = 1}, "the host gets the model"},
    {"statistics",
     "meeting",
     {.waits = 2, .host_reads = 1},
     "running statistics go through the host"},
    {"yellowfin", "update", {.waits = 1, .host_reads = 1}, "the host tunes the step"},
    // Exchange: what the host passes on.
    {"allreduce", "exchange", {.waits = 1, .host_reads = 1}, "the gradient goes through the host"},
    {"easgd_host", "exchange", {.waits = 1, .host_reads = 1}, "values go through the host"},
    {"easgd_device", "exchange", {.waits = 2}, "values are sent when they are ready"},
    {"outer", "exchange", {.waits = 1, .host_reads = 1}, "the change goes through the host"},
    {"rows", "exchange", {.waits = 1, .host_reads = 1}, "touched rows go through the host"},
    {"outer_statistics", "exchange", {.waits = 1, .host_reads = 1}, "so do running statistics"},
    {"sgp", "exchange", {.waits = 1, .host_reads = 1}, "half of the values go through the host"},
    {"mean", "exchange", {.waits = 2, .host_reads = 1}, "the mean goes through the host"},
    // Values on the host: each batch of a device moves them.
    {"replica", "gradient", {.waits = 1, .host_reads = 1}, "values come and the gradient goes"},
    {"replica_rows", "gradient", {.host_reads = 1}, "so do touched rows"},
    {"body",
     "gradient",
     {.waits = 5, .host_reads = 5},
     "activations and rows of two micro-batches come, and the gradient; two streams end"},
    {"worker", "Copy", {.host_reads = 1}, "as of a replica"},
    {"worker", "WaitFor", {.waits = 1}, ""},
};

using Times = std::map<std::string, int>;

/// A job, and how often each part of the table occurs in kSteps steps and a meeting.
struct Case {
  std::string name;
  std::string model;
  Overrides keys = {};
  Times parts = {};
  int ranks = 1;
};

void PrintTo(const Case& of, std::ostream* out) { *out << of.name; }

constexpr const char* kDigits = R"([data]
format = "synthetic-digits"
train_size = 64
test_size = 8
)";
constexpr const char* kSparse = R"([data]
format = "synthetic-xmc"
features = 200
labels = 20
nonzeros = 10
train_size = 64
test_size = 8
[model]
name = "mlp"
widths = [16]
)";
constexpr const char* kHashed = R"([data]
format = "synthetic-xmc"
features = 200
labels = 20
nonzeros = 10
train_size = 64
test_size = 8
[model]
name = "xmc"
output = "lsh"
hidden = 16
)";
constexpr const char* kRest = R"([train]
batch = 4
learning_rate = 0.001
[node]
devices = "strict:0"
threads = 1
)";

/// On digits, of these layers between an input of one channel and the scores.
std::string Net(const std::string& layers) {
  return fmt::format(
      "{}[model]\nlayer = [{}, {{ type = \"flatten\" }}, {{ type = \"linear\", outputs = 10 }}]\n",
      kDigits, layers);
}

const std::string kConvolution = R"({ type = "convolution", outputs = 4, kernel = 5, stride = 4 })";
const std::string kSmall = Net(kConvolution + R"(, { type = "relu" })");
const std::string kDropout = Net(kConvolution + R"(, { type = "dropout" })");
const std::string kResidual =
    Net(kConvolution + R"(, { type = "batch_norm" }, { type = "relu", name = "below" },
        { type = "convolution", outputs = 4, kernel = 3, padding = 1 },
        { type = "batch_norm", name = "above" }, { type = "add", inputs = ["above", "below"] },
        { type = "relu" })");
const std::string kResnet = std::string(kDigits) + "[model]\nname = \"resnet20\"\n";
const std::string kLenet = std::string(kDigits) + "[model]\nname = \"lenet\"\n";

Job JobOf(const Case& of) {
  const Job job = MakeJob(ParseToml(of.model + kRest, "job.toml"), "job", "/");
  Overrides keys = of.keys;
  keys.push_back({"cluster.replicas", std::to_string(of.ranks)});
  return WithKeys(job, keys);
}

/// The same batches again and again, each rank's own.
class Batches {
 public:
  Batches(const Reader& reader, int rank) {
    for (int64_t number = 0; number < 4; ++number) {
      std::vector<int64_t> examples(kBatch);
      for (int64_t i = 0; i < kBatch; ++i)
        examples[i] = (rank + 4 * number + 3 * i) % reader.Size();
      reader.Read({.examples = examples, .as_stored = true}, batches_[number]);
    }
  }
  const Batch& Of(int64_t step) const { return batches_[step % 4]; }

 private:
  Batch batches_[4];
};

void TakeSteps(Replica& replica, const Batches& batches, int64_t begin, int64_t end, int ranks) {
  for (int64_t step = begin; step < end; ++step) {
    replica.Step(batches.Of(step), {.step = step,
                                    .learning_rate = 0.001,
                                    .highest_rate = 0.001,
                                    .team_examples = kBatch * ranks});
    while (replica.LateResult(/*wanted=*/false)) continue;
  }
  while (replica.LateResult(/*wanted=*/true)) continue;
}

constexpr std::pair<const char*, int64_t DeviceCounts::*> kKinds[] = {
    {"waits", &DeviceCounts::waits},           {"allocations", &DeviceCounts::allocations},
    {"frees", &DeviceCounts::frees},           {"events", &DeviceCounts::events},
    {"host reads", &DeviceCounts::host_reads}, {"pageable copies", &DeviceCounts::pageable_copies}};

void Add(int64_t times, const DeviceCounts& counts, DeviceCounts& sums) {
  for (const auto& [name, kind] : kKinds) sums.*kind += times * counts.*kind;
  sums.bytes_sent += times * counts.bytes_sent;
}

/// Rank 0's counts in kSteps warm steps and a meeting.
CountingDevice::Counts Counted(const Case& of) {
  const Job job = JobOf(of);
  const DataSets data = OpenData(job.data(), job.seed());
  CountingDevice::Counts counts;
  RunThreads({.ranks = of.ranks}, [&](const Communicator& world) {
    SetKernelThreads(1);
    Replica replica(job, data.train->Info(),
                    {.world = world, .local = {.rank = world.rank(), .size = world.size()}});
    const auto& device = dynamic_cast<const CountingDevice&>(*replica.devices().all()[0]);
    const Batches batches(*data.train, world.rank());
    replica.Broadcast();
    replica.Prepare();
    TakeSteps(replica, batches, 0, kWarm, of.ranks);
    replica.Settle();
    const CountingDevice::Counts before = device.counts();
    TakeSteps(replica, batches, kWarm, kWarm + kSteps, of.ranks);
    replica.Settle();
    if (world.rank() == 0) counts = device.counts();
    replica.Finish();
    for (const auto& [cause, earlier] : before)
      if (world.rank() == 0) Add(-1, earlier, counts[cause]);
  });
  return counts;
}

CountingDevice::Counts Allowed(const Case& of) {
  CountingDevice::Counts counts;
  for (const Row& row : kTable)
    if (const auto part = of.parts.find(row.part); part != of.parts.end())
      Add(part->second, row.each, counts[row.cause]);
  return counts;
}

struct StrategyParts {
  std::string name;
  Times parts = {};
  Times of_statistics = {};  ///< Where the model has running statistics,
  Times of_rows = {};        ///< and sparse input.
};

const StrategyParts kStrategies[] = {
    {"none"},
    {"allreduce", {{"allreduce", kSteps}}, {{"statistics", 1}}, {{"rows", kSteps}}},
    {"easgd_sync1", {{"easgd_host", kSteps}}},
    {"easgd_sync2", {{"easgd_device", kSteps}}},
    {"easgd_sync3", {{"easgd_device", kSteps}}},
    {"local_sgd", {{"outer", kMeetings}}, {{"outer_statistics", kMeetings}}},
    {"slowmo", {{"outer", kMeetings}}, {{"outer_statistics", kMeetings}}},
    {"diloco", {{"outer", kMeetings}}, {{"outer_statistics", kMeetings}}},
    {"sgp", {{"sgp", kSteps}, {"mean", 1}}},
};

Overrides KeysOf(const StrategyParts& strategy) {
  Overrides keys = {{"cluster.strategy", strategy.name}};
  if (strategy.parts.contains("outer")) keys.push_back({"cluster.period", std::to_string(kPeriod)});
  return keys;
}

Overrides Bf16() {
  Overrides keys = {{"node.precision", "bf16"}};
  if (!DescribeKernelLibrary().fast_bf16) keys.push_back({"node.kernels", "reference"});
  return keys;
}

/// Under each strategy: values, gradients and the optimizer's state on the device.
std::vector<Case> OnTheDevice() {
  std::vector<Case> cases;
  for (const StrategyParts& strategy : kStrategies) {
    const auto add = [&](const std::string& name, const std::string& model, Overrides keys = {},
                         Times parts = {}) {
      const Overrides of_strategy = KeysOf(strategy);
      keys.insert(keys.end(), of_strategy.begin(), of_strategy.end());
      parts.insert({{"step", kSteps}, {"meeting", 1}});
      parts.insert(strategy.parts.begin(), strategy.parts.end());
      const int ranks = strategy.name == "none" ? 1 : 2;
      cases.push_back({strategy.name + "_" + name, model, keys, parts, ranks});
    };
    add("convolution", kSmall);
    add("lenet", kLenet);
    add("residual", kResidual, {}, strategy.of_statistics);
    add("dropout", kDropout);
    add("adam", kSmall, {{"train.rule", "adam"}});
    add("bf16", kSmall, Bf16());
    add("clipped", kSmall, {{"train.clip_norm", "0.5"}});
    add("sparse", kSparse, {}, strategy.of_rows);
  }
  return cases;
}

std::vector<Case> Others() {
  constexpr int kBatchesOfDevice = 4;  // in a step of hogbatch, at most
  return {
      {"accumulated",
       kSmall,
       {{"cluster.strategy", "allreduce"}, {"cluster.accumulate", std::to_string(kPeriod)}},
       {{"step", kSteps}, {"meeting", 1}}},
      {"yellowfin",
       kSmall,
       {{"train.rule", "yellowfin"}, {"train.clip_norm", "0.5"}},
       {{"step", kSteps}, {"meeting", 1}, {"yellowfin", kSteps}}},
      {"sparse_clipped", kSparse, {{"train.clip_norm", "0.5"}}, {{"step", kSteps}, {"meeting", 1}}},
      {"sparse_accumulated",
       kSparse,
       {{"cluster.strategy", "allreduce"}, {"cluster.accumulate", std::to_string(kPeriod)}},
       {{"step", kSteps}, {"meeting", 1}, {"rows", kSteps}}},
      {"split", kSmall, {{"node.executor", "split"}}, {{"replica", kSteps}}},
      {"sparse_split",
       kSparse,
       {{"node.executor", "split"}},
       {{"replica", kSteps}, {"replica_rows", kSteps}}},
      {"pipeline",
       kHashed,
       {{"node.executor", "pipeline"}, {"node.devices", R"(["strict:0", "cpu"])"}},
       {{"body", kSteps}}},
      {"resnet20", kResnet, {}, {{"step", kSteps}, {"meeting", 1}}},
      {"resnet20_allreduce",
       kResnet,
       {{"cluster.strategy", "allreduce"}},
       {{"step", kSteps}, {"meeting", 1}, {"allreduce", kSteps}, {"statistics", 1}},
       2},
      {"hogbatch",
       kSmall,
       {{"node.executor", "hogbatch"}},
       {{"worker", kBatchesOfDevice * kSteps}}},
      {"adaptive_hogbatch",
       kSmall,
       {{"node.executor", "adaptive_hogbatch"}},
       {{"worker", kBatchesOfDevice * kSteps}}}};
}

class HeldUp : public testing::TestWithParam<Case> {};

TEST_P(HeldUp, InWarmStepsByWhatTheTableSays) {
  const CountingDevice::Counts allowed = Allowed(GetParam());
  for (const auto& [cause, counts] : Counted(GetParam())) {
    const auto row = allowed.find(cause);
    const DeviceCounts most = row == allowed.end() ? DeviceCounts() : row->second;
    for (const auto& [name, kind] : kKinds)
      EXPECT_LE(counts.*kind, most.*kind) << name << " by " << cause;
  }
}

TEST(Sent, ImagesCrossAsBytes) {
  constexpr int64_t kExample = 28 * 28 + sizeof(int32_t) + sizeof(int64_t);  // class, number
  constexpr int64_t kBatchBytes = kBatch * kExample + sizeof(int64_t);       // epoch
  EXPECT_EQ(Counted({"", kSmall})["gradient"].bytes_sent, kSteps * kBatchBytes);
}

INSTANTIATE_TEST_SUITE_P(OnTheDevice, HeldUp, testing::ValuesIn(OnTheDevice()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Others, HeldUp, testing::ValuesIn(Others()),
                         [](const auto& info) { return info.param.name; });

}  // namespace yoke::held_up_test
