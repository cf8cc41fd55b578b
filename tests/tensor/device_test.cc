// Devices: memory, order of work, speed; one body for the CPU and the emulated device.
#include "tensor/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "base/check.h"
#include "base/clock.h"

namespace yoke::device_test {

class DeviceTest : public testing::TestWithParam<bool> {
 protected:
  DeviceTest() : emulated_(NewEmulatedDevice(0, {})) {}
  Device& device() { return GetParam() ? *emulated_ : Cpu(); }

 private:
  std::unique_ptr<Device> emulated_;
};

TEST_P(DeviceTest, MemoryIsAlignedAndZero) {
  const Buffer buffer(device(), 100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0U);
  EXPECT_EQ(std::vector<char>(100), std::vector<char>(buffer.As<char>(), buffer.As<char>() + 100));
}

TEST_P(DeviceTest, LargeMemoryBeginsAtAHugePageAndIsZero) {
  constexpr int64_t kBytes = (5 << 20) + 100;
  for (int again = 0; again < 2; ++again) {
    const Buffer buffer(device(), kBytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % (2 << 20), 0U);
    char* const bytes = buffer.As<char>();
    EXPECT_EQ(std::count(bytes, bytes + kBytes, 0), kBytes);
    std::memset(bytes, 1, kBytes);
  }
  EXPECT_THROW(Buffer(device(), int64_t{1} << 60), Error);
}

TEST_P(DeviceTest, CopiesAndWorkRunInOrder) {
  const auto stream = device().NewStream();
  const Buffer buffer(device(), 4 * sizeof(int));
  const std::vector<int> in = {1, 2, 3, 4};
  std::vector<int> out(4);
  device().CopyIn(buffer.data(), in.data(), buffer.bytes(), *stream);
  stream->Enqueue([&] { buffer.As<int>()[0] = 10; });
  device().CopyOut(out.data(), buffer.data(), buffer.bytes(), *stream);
  stream->Wait();
  EXPECT_EQ(out, (std::vector<int>{10, 2, 3, 4}));
}

TEST_P(DeviceTest, BuffersMove) {
  Buffer a(device(), 64);
  void* data = a.data();
  Buffer b = std::move(a);
  EXPECT_EQ(b.data(), data);
}

INSTANTIATE_TEST_SUITE_P(All, DeviceTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "emulated" : "cpu"; });

TEST(EmulatedDevice, WaitThrowsWhatWorkThrew) {
  const auto device = NewEmulatedDevice(1, {});
  const auto stream = device->NewStream();
  stream->Enqueue([] { throw std::runtime_error("work failed"); });
  EXPECT_THROW(stream->Wait(), std::runtime_error);
  stream->Wait();  // told once
}

TEST(EmulatedDevice, IsAsynchronousAndAsSlowAsAsked) {
  const auto device = NewEmulatedDevice(2, {.copy_bytes_per_second = 1e6, .slowdown = 1});
  const auto stream = device->NewStream();
  std::vector<char> host(50000);
  const Buffer buffer(*device, 50000);
  const double start = Now();
  device->CopyIn(buffer.data(), host.data(), 50000, *stream);
  EXPECT_LT(Now() - start, 0.04);  // enqueued, not done
  stream->Wait();
  EXPECT_GE(Now() - start, 0.05);
}

}  // namespace yoke::device_test
