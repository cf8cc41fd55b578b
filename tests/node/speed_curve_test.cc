// SpeedCurve: its formula by hand; files that are read, and files that are refused.
#include "node/speed_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>

#include "base/check.h"

namespace yoke::speed_curve_test {

constexpr const char* kFile = R"(title = "A device"
source = "Made up"
operations_per_second = 1e9
half_batch = 20
bytes_per_second = 2e8
)";

/// The curve of this text, read from a file.
SpeedCurve Read(const std::string& text) {
  const std::string path = testing::TempDir() + "/yoke-speed-curve.toml";
  std::ofstream(path) << text;
  return ReadSpeedCurve(path);
}

std::string Refusal(const std::string& text) {
  try {
    Read(text);
    return "";
  } catch (const UserError& error) {
    return error.what();
  }
}

TEST(SpeedCurve, TimesADeviceByItsLaunchesPeakMemoryAndLink) {
  const SpeedCurve device = {.operations_per_second = 1000,
                             .half_batch = 10,
                             .bytes_per_second = 100,
                             .launch_seconds = 0.5,
                             .link_bytes_per_second = 20};
  const Cost cost = {.operations = 500, .bytes = 200, .kernels = 3, .device_bytes = 10};
  // 1.5 s of launches, 0.5 s at the peak, 2 s of memory, 0.5 s of copies.
  EXPECT_DOUBLE_EQ(device.Seconds(cost, {.examples = 10}), 1.5 + 0.5 * 2 + 2 + 0.5);
  EXPECT_DOUBLE_EQ(device.Seconds(cost, {.examples = 30}), 1.5 + 0.5 * 4 / 3 + 2 + 0.5);
  EXPECT_DOUBLE_EQ(device.Seconds(cost, {.examples = 1}), 1.5 + 0.5 * 11 + 2 + 0.5);
  EXPECT_DOUBLE_EQ(device.Seconds(cost, {}), 1.5 + 0.5 * 11 + 2 + 0.5);
}

TEST(SpeedCurve, SharesACpuAmongItsThreads) {
  const SpeedCurve cpu = {.operations_per_second = 1000,
                          .half_batch = 10,
                          .bytes_per_second = 100,
                          .threads = 4,
                          .thread_bytes_per_second = 40};
  const Cost cost = {.operations = 750, .bytes = 200, .kernels = 3, .device_bytes = 10};
  // All together: each has 10 of the 40 examples.
  EXPECT_DOUBLE_EQ(cpu.Seconds(cost, {.examples = 40}), 0.75 * 2 + 2);
  EXPECT_DOUBLE_EQ(cpu.Seconds(cost, {.examples = 2}), 0.75 * 11 + 2);
  // One: a quarter of the peak; its own 40 bytes a second, or a third or fourth of 100.
  EXPECT_DOUBLE_EQ(cpu.Seconds(cost, {.examples = 30, .threads = 1}), 3.0 * 4 / 3 + 5);
  EXPECT_DOUBLE_EQ(cpu.Seconds(cost, {.examples = 30, .threads = 2}), 3.0 * 4 / 3 + 5);
  EXPECT_DOUBLE_EQ(cpu.Seconds(cost, {.examples = 30, .threads = 3}), 3.0 * 4 / 3 + 6);
  EXPECT_DOUBLE_EQ(cpu.Seconds(cost, {.examples = 30, .threads = 4}), 3.0 * 4 / 3 + 8);
}

constexpr Cost kArithmetic = {.operations = 8000};

/// 16 threads of which a team of all is 8 times, and one of 4 is 3 times as fast as one thread.
SpeedCurve Grown() {
  return {.operations_per_second = 8000,
          .bytes_per_second = 400,
          .threads = 16,
          .growth = {{1, 1}, {4, 3}, {16, 8}}};
}

TEST(SpeedCurve, TeamsGrowByATable) {
  const SpeedCurve cpu = Grown();
  EXPECT_DOUBLE_EQ(cpu.GrowthOf(1), 1);
  EXPECT_DOUBLE_EQ(cpu.GrowthOf(10), 5.5);
  EXPECT_DOUBLE_EQ(cpu.GrowthOf(16), 8);
  const auto seconds = [&](int teams) {
    return cpu.Seconds(kArithmetic, {.examples = 64, .teams = teams});
  };
  EXPECT_DOUBLE_EQ(seconds(1), 1);
  EXPECT_DOUBLE_EQ(seconds(4), 8.0 / (4 * 3));
  EXPECT_DOUBLE_EQ(seconds(16), 8.0 / 16);
  EXPECT_DOUBLE_EQ(seconds(64), seconds(16));
  // As many teams as threads are threads that work apart.
  EXPECT_DOUBLE_EQ(16 * seconds(16), cpu.Seconds(kArithmetic, {.examples = 4, .threads = 16}));
}

TEST(SpeedCurve, ATableIsBoundedByMemoryAndALossIsNot) {
  const Cost cost = {.operations = 8000, .bytes = 200};
  SpeedCurve cpu = Grown();
  EXPECT_DOUBLE_EQ(cpu.Seconds(cost, {.examples = 64}), 1);  // half a second of bytes is within
  EXPECT_DOUBLE_EQ(cpu.Seconds(cost, {.examples = 64, .teams = 16}), 0.5);
  cpu.bytes_per_second = 100;
  EXPECT_DOUBLE_EQ(cpu.Seconds(cost, {.examples = 64, .teams = 4}), 2);
  cpu.growth.clear();
  cpu.team_loss = 0.2;  // 4 times as long in a team of all, 1.6 times in one of 4
  EXPECT_DOUBLE_EQ(cpu.Seconds(cost, {.examples = 64}), 1 + 2);
  EXPECT_DOUBLE_EQ(cpu.Seconds(cost, {.examples = 64, .teams = 4}), (1 + 2) * 1.6 / 4);
}

TEST(SpeedCurve, ATeamOfSeveralNodesReadsFromAfar) {
  SpeedCurve cpu = Grown();
  cpu.memory_nodes = 2;
  cpu.far_bytes_per_second = 100;
  const Cost bytes = {.bytes = 400};
  EXPECT_DOUBLE_EQ(cpu.Seconds(bytes, {.examples = 64}), 0.5 + 0.5 * 4);
  EXPECT_DOUBLE_EQ(cpu.Seconds(bytes, {.examples = 64, .teams = 2}), 1);
  EXPECT_DOUBLE_EQ(cpu.Seconds(bytes, {.examples = 4, .threads = 16}), 16);
}

TEST(SpeedCurve, OneOfSeveralTeamsHasItsPart) {
  SpeedCurve cpu = Grown();
  cpu.memory_nodes = 2;
  cpu.far_bytes_per_second = 100;
  cpu.near_bytes = 1000;
  for (const int teams : {2, 4, 16}) {
    const SpeedCurve one = OneOf(cpu, teams);
    EXPECT_EQ(one.threads, 16 / teams);
    EXPECT_EQ(one.memory_nodes, 1);
    for (const Cost& cost : {kArithmetic, Cost{.bytes = 400}}) {
      const Cost part = {.operations = cost.operations / teams, .bytes = cost.bytes / teams};
      EXPECT_DOUBLE_EQ(one.Seconds(part, {.examples = 64 / teams}),
                       cpu.Seconds(cost, {.examples = 64, .teams = teams}))
          << teams;
    }
    EXPECT_DOUBLE_EQ(one.GrowthOf(one.threads), cpu.GrowthOf(one.threads));
  }
}

TEST(SpeedCurve, OneOfSeveralTeamsHasTheMemoryOfItsThreads) {
  SpeedCurve cpu = Grown();
  cpu.thread_bytes_per_second = cpu.bytes_per_second / 64;  // all 16 take a quarter
  for (const int teams : {2, 16})
    EXPECT_DOUBLE_EQ(OneOf(cpu, teams).Seconds({.bytes = 400.0 / teams}, {.examples = 4}),
                     cpu.Seconds({.bytes = 400}, {.examples = 4 * teams, .teams = teams}))
        << teams;
  cpu.threads = 12;
  cpu.memory_nodes = 3;
  for (const auto& [teams, nodes] : {std::pair(1, 3), std::pair(2, 2), std::pair(3, 1)})
    EXPECT_EQ(OneOf(cpu, teams).memory_nodes, nodes) << teams;
}

TEST(SpeedCurve, IsReadFromAFile) {
  const SpeedCurve curve = Read(std::string(kFile) + "threads = 3\n");
  EXPECT_EQ(curve.title, "A device");
  EXPECT_EQ(curve.operations_per_second, 1e9);
  EXPECT_EQ(curve.half_batch, 20);
  EXPECT_EQ(curve.bytes_per_second, 2e8);
  EXPECT_EQ(curve.launch_seconds, 0);
  EXPECT_EQ(curve.link_bytes_per_second, 0);
  EXPECT_EQ(curve.threads, 3);
  const SpeedCurve grown =
      Read(std::string(kFile) + "threads = 16\ngrowth = { 1 = 1, 4 = 3.5, 16 = 8.0 }\n" +
           "memory_nodes = 2\nfar_bytes_per_second = 1e8\n");
  EXPECT_EQ(grown.growth, (std::map<int, double>{{1, 1}, {4, 3.5}, {16, 8}}));
  EXPECT_EQ(grown.memory_nodes, 2);
  EXPECT_EQ(grown.far_bytes_per_second, 1e8);
  for (const char* name : {"k80", "cpu-16-cores"})
    EXPECT_GT(ReadSpeedCurve(std::string("examples/devices/") + name + ".toml").bytes_per_second, 0)
        << name;
}

TEST(SpeedCurve, RefusesAFileBySayingWhereAndWhy) {
  const std::string path = testing::TempDir() + "/yoke-speed-curve.toml", file = kFile;
  EXPECT_EQ(
      Refusal(file.substr(0, file.find("bytes_per"))),
      path + ": device: the key 'bytes_per_second' is missing: Of its memory, by all threads.");
  EXPECT_EQ(Refusal(file + "launch_seconds = -1e-6\n"),
            path + ":6: device.launch_seconds: expected at least 0 and at most 1e+30, got -1e-06");
  EXPECT_EQ(Refusal(file + "threads = 0\n"),
            path + ":6: device.threads: expected at least 1 and at most 4096, got 0");
  EXPECT_THAT(
      Refusal(file + "trheads = 2\n"),
      testing::StartsWith(path + ":6: unknown key 'device.trheads'; did you mean 'threads'?"));
  const auto refused = [&](const std::string& growth) {
    return Refusal(file + "threads = 4\n" + growth);
  };
  EXPECT_EQ(refused("growth = { 1 = 1, 8 = 6 }\n"),
            path + ":7: device.growth: expected threads from 1 to the curve's 4, got '8'");
  EXPECT_EQ(
      refused("growth = { 1 = 1, 4 = 0 }\n"),
      path + ":7: device.growth.4: expected how many times as fast as one thread they are, got 0");
  EXPECT_EQ(refused("growth = { 2 = 2, 4 = 3 }\n"),
            path + ":7: device.growth: expected 1 thread and all 4 among its points");
  EXPECT_EQ(refused("team_loss = 0.1\ngrowth = { 1 = 1, 4 = 3 }\n"),
            path + ":8: device.growth: the curve has a team_loss too: leave one of them out");
  EXPECT_THAT(refused("memory_nodes = 2\n"),
              testing::HasSubstr("far_bytes_per_second need each other"));
  EXPECT_EQ(refused("memory_nodes = 3\nfar_bytes_per_second = 1\n"),
            path + ":7: device.memory_nodes: 4 threads cannot be divided evenly between 3 nodes");
  EXPECT_THROW(ReadSpeedCurve(path + ".toml"), UserError);
}

}  // namespace yoke::speed_curve_test
