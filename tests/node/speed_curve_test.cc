// SpeedCurve: its formula by hand; files that are read, and files that are refused.
#include "node/speed_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
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

TEST(SpeedCurve, IsReadFromAFile) {
  const SpeedCurve curve = Read(std::string(kFile) + "threads = 3\n");
  EXPECT_EQ(curve.title, "A device");
  EXPECT_EQ(curve.operations_per_second, 1e9);
  EXPECT_EQ(curve.half_batch, 20);
  EXPECT_EQ(curve.bytes_per_second, 2e8);
  EXPECT_EQ(curve.launch_seconds, 0);
  EXPECT_EQ(curve.link_bytes_per_second, 0);
  EXPECT_EQ(curve.threads, 3);
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
  EXPECT_THROW(ReadSpeedCurve(path + ".toml"), UserError);
}

}  // namespace yoke::speed_curve_test
