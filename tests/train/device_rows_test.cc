// Touched rows on a device: every strategy that keeps values there trains sparse input with the
// host's bits.
#include <string>

#include "strategy/strategy.h"
#include "train/support/runs_test.h"

namespace yoke::device_rows_test {

constexpr const char* kJob = R"([data]
format = "synthetic-xmc"
features = 300
labels = 20
nonzeros = 10
train_size = 200
test_size = 20
[model]
name = "mlp"
widths = [16]
[train]
batch = 8
rule = "adam"
[node]
threads = 1
)";

class DeviceRowsTest : public RunsTest {
 protected:
  DeviceRowsTest() : RunsTest(kJob) {}

  void ExpectTheHostsBits(const std::string& name, Overrides keys) {
    Run(name, keys);
    keys.push_back({"node.devices", "emulated:0"});
    Run(name + "-there", keys);
    for (const char* file : {"model.safetensors", "optimizer.safetensors"})
      EXPECT_EQ(Kept(name, file), Kept(name + "-there", file)) << name << " " << file;
  }
};

TEST_F(DeviceRowsTest, HaveTheHostsBitsUnderEachStrategy) {
  for (const StrategyEntry& entry : strategies())
    if (entry.values_on_device)
      ExpectTheHostsBits(entry.name, {{"cluster.strategy", entry.name},
                                      {"cluster.replicas", entry.name == "none" ? "1" : "2"}});
}

TEST_F(DeviceRowsTest, AreAccumulated) {
  for (const char* replicas : {"1", "2"})
    ExpectTheHostsBits(replicas, {{"cluster.strategy", "allreduce"},
                                  {"cluster.replicas", replicas},
                                  {"cluster.accumulate", "3"}});
}

}  // namespace yoke::device_rows_test
