// Devices: memory, order of work, speed; one body for all kinds (cpu, cuda, emulated, strict), and
// for cuda on a mock driver.
#include "tensor/device.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "tensor/batch_arrays.h"
#include "tensor/cuda/cuda_device.h"
#include "tensor/devices.h"
#include "tensor/emulated.h"
#include "tensor/support/mock_cuda.h"

namespace yoke::devices_conformance_test {

class DeviceTest : public testing::TestWithParam<DeviceEntry> {
 protected:
  DeviceTest() : device_(GetParam().make(0, {})) {}
  Device& device() { return *device_; }
  std::vector<char> OnHost(const Buffer& buffer) {
    std::vector<char> copy(buffer.bytes(), 7);
    const auto stream = device().NewStream();
    stream->Copy(copy.data(), buffer.data(), buffer.bytes());
    stream->Wait();
    return copy;
  }

 private:
  std::shared_ptr<Device> device_;
};

TEST_P(DeviceTest, MemoryIsAlignedAndZero) {
  const Buffer buffer(device(), 100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % 64, 0U);
  EXPECT_EQ(OnHost(buffer), std::vector<char>(100));
}

/// What a kernel does that a stream keeps: it has memory of the device, which work under way uses.
TEST_P(DeviceTest, StreamsEndBeforeWhatTheyNeed) {
  const std::vector<char> ones(1 << 20, 1);
  const std::shared_ptr<Device> ends = GetParam().make(0, {});
  const std::unique_ptr<Stream> other = ends->NewStream();
  for (Stream* stream : {&ends->stream(), other.get()}) {
    void* const attached =
        stream->Attached([&] { return std::make_shared<Buffer>(*ends, 1 << 20); });
    stream->Copy(static_cast<Buffer*>(attached)->data(), ones.data(), 1 << 20);
  }
}

TEST_P(DeviceTest, LargeMemoryIsZeroAgain) {
  constexpr int64_t kBytes = (5 << 20) + 100;
  const std::vector<char> ones(kBytes, 1);
  for (int again = 0; again < 2; ++again) {
    const Buffer buffer(device(), kBytes);
    EXPECT_EQ(OnHost(buffer), std::vector<char>(kBytes));
    const auto stream = device().NewStream();
    stream->Copy(buffer.data(), ones.data(), kBytes);
    stream->Wait();
    EXPECT_EQ(OnHost(buffer), ones);
  }
  EXPECT_THROW(Buffer(device(), int64_t{1} << 60), Error);
}

TEST_P(DeviceTest, CopiesRunInOrder) {
  const auto stream = device().NewStream();
  const Buffer buffer(device(), 4 * sizeof(int));
  const std::vector<int> in = {1, 2, 3, 4};
  std::vector<int> out(4);
  stream->Copy(buffer.data(), in.data(), buffer.bytes());
  stream->Clear(buffer.data(), sizeof(int));
  stream->Copy(out.data(), buffer.data(), buffer.bytes());
  stream->Wait();
  EXPECT_EQ(out, (std::vector<int>{0, 2, 3, 4}));
}

/// Of a device whose work is queued: others work at once, and nobody waits.
class QueueTest : public DeviceTest {};

/// Stops a process for longer than it is to wait, then writes to the pipe. Does not return.
[[noreturn]] void StopAndGoOn(pid_t process, int pipe) {
  using namespace std::chrono_literals;
  std::this_thread::sleep_for(100ms);
  kill(process, SIGSTOP);
  std::this_thread::sleep_for(1500ms);
  kill(process, SIGCONT);
  std::this_thread::sleep_for(100ms);
  _exit(write(pipe, "", 1) == 1 ? 0 : 1);
}

TEST_P(QueueTest, AWaitDoesNotCountWhileTheProcessIsStopped) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto wait = [this] {
    int ends[2] = {};
    Check(pipe(ends) == 0, "no pipe");
    const pid_t process = getpid();
    if (fork() == 0) StopAndGoOn(process, ends[1]);
    const auto stream = device().NewStream();
    const auto work = [&ends] {
      char byte = 0;
      Check(read(ends[0], &byte, 1) == 1, "nothing was written");
    };
    stream->work_queue()->Enqueue(work);
    _exit(stream->WaitFor(1) ? 0 : 1);
  };
  EXPECT_EXIT(wait(), testing::ExitedWithCode(0), "");
}

TEST_P(QueueTest, AWaitIsForWhatIsEnqueuedSoFar) {
  std::atomic<bool> over = false;
  const auto stream = device().NewStream();
  std::function<void()> again = [&] {
    if (!over) stream->work_queue()->Enqueue(again);
  };
  again();
  stream->Wait();
  EXPECT_TRUE(stream->WaitFor(60));
  over = true;
  stream->Wait();
}

TEST_P(DeviceTest, BuffersMove) {
  Buffer a(device(), 64);
  void* data = a.data();
  Buffer b = std::move(a);
  EXPECT_EQ(b.data(), data);
}

Batch SmallBatch(int64_t size) {
  Batch batch;
  batch.size = size;
  batch.ResizeDense({2});
  for (int64_t i = 0; i < size; ++i) {
    batch.examples.push_back(10 * i);
    batch.classes.push_back(static_cast<int32_t>(i));
    batch.dense.As<float>()[2 * i] = static_cast<float>(i);
  }
  batch.sparse = {.width = 9, .offsets = {0, size}, .ids = batch.classes, .values = {}};
  batch.sparse.values.assign(size, 0.5F);
  return batch;
}

TEST_P(DeviceTest, ABatchsArraysFollowIt) {
  const auto stream = device().NewStream();
  BatchArrays arrays({.device = &device(), .stream = stream.get()});
  for (const int64_t size : {2, 5, 3}) {
    const Batch batch = SmallBatch(size);
    Batch taken = SmallBatch(size);
    arrays.Take(taken);
    if (!device().IsHost()) taken = {};
    std::vector<float> dense(2 * size);
    std::vector<int32_t> classes(size);
    std::vector<int64_t> examples(size);
    const SparseRows& there = arrays.sparse();
    SparseStorage sparse{.width = there.width, .offsets = {}, .ids = {}, .values = {}};
    sparse.offsets.resize(there.rows + 1);
    sparse.ids.resize(size), sparse.values.resize(size);
    stream->Copy(sparse.offsets.data(), there.offsets, 8 * (there.rows + 1));
    stream->Copy(sparse.ids.data(), there.ids, 4 * size);
    stream->Copy(sparse.values.data(), there.values, 4 * size);
    stream->Copy(dense.data(), arrays.dense().data, 8 * size);
    stream->Copy(classes.data(), arrays.labels().classes, 4 * size);
    stream->Copy(examples.data(), arrays.examples(), 8 * size);
    stream->Wait();
    EXPECT_EQ(dense,
              std::vector<float>(batch.dense.As<float>(), batch.dense.As<float>() + 2 * size));
    EXPECT_EQ(classes, batch.classes);
    EXPECT_EQ(examples, batch.examples);
    EXPECT_EQ(sparse.width, batch.sparse.width);
    EXPECT_EQ(sparse.offsets, batch.sparse.offsets);
    EXPECT_EQ(sparse.ids, batch.sparse.ids);
    EXPECT_EQ(sparse.values, batch.sparse.values);
  }
}

TEST_P(DeviceTest, OneStreamAwaitsAnother) {
  const std::vector<char> ones(1 << 20, 1);
  const Buffer first(device(), std::ssize(ones)), second(device(), std::ssize(ones));
  const auto writer = device().NewStream(), reader = device().NewStream();
  std::vector<char> read(ones.size());
  std::shared_ptr<Event> written, copied;
  for (int round = 0; round < 20; ++round) {
    writer->Clear(first.data(), first.bytes());
    writer->Copy(first.data(), ones.data(), first.bytes());
    writer->Record(written);
    reader->Await(written);
    reader->Copy(second.data(), first.data(), first.bytes());
    reader->Copy(read.data(), second.data(), first.bytes());
    reader->Record(copied);
    writer->Await(copied);  // the next round's writing
    reader->Wait();
    written->Wait();
    ASSERT_EQ(read, ones) << round;
  }
  writer->Wait();
}

std::shared_ptr<Device> MockGpu(int number, const DeviceSettings& /*settings*/) {
  static const MockCuda mock;
  return NewCudaDevice(number, mock.driver());
}

/// The kinds that this machine has, and a mock.
std::vector<DeviceEntry> Present() {
  std::vector<DeviceEntry> present = device_kinds();
  present.push_back(
      {.name = "mock_cuda", .usable = [] { return std::vector{0}; }, .make = MockGpu});
  std::erase_if(present, [](const DeviceEntry& kind) { return kind.usable().empty(); });
  return present;
}

/// Of these the ones that queue their work.
std::vector<DeviceEntry> WithQueues() {
  std::vector<DeviceEntry> kinds = Present();
  std::erase_if(kinds, [](const DeviceEntry& kind) {
    return kind.make(0, {})->NewStream()->work_queue() == nullptr;
  });
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(All, DeviceTest, testing::ValuesIn(Present()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(All, QueueTest, testing::ValuesIn(WithQueues()),
                         [](const auto& info) { return info.param.name; });

TEST(CpuDevice, LargeMemoryBeginsAtAHugePage) {
  const Buffer buffer(Cpu(), 5 << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % (2 << 20), 0U);
}

/// Whether the system was told to keep a piece of memory in ordinary pages.
bool OrdinaryPages(const void* memory) {
  std::ifstream maps("/proc/self/smaps");
  const auto address = reinterpret_cast<uintptr_t>(memory);
  bool here = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) == 2)
      here = begin <= address && address < end;
    else if (here && line.starts_with("VmFlags:"))
      return line.find(" nh") != std::string::npos;
  }
  return false;
}

/// Exits with 0 where large memory lies in ordinary pages under this setting.
[[noreturn]] void TakePages(const char* setting) {
  setenv("YOKE_HUGE_PAGES", setting, 1);
  try {
    const Buffer buffer(Cpu(), 8 << 20);
    std::exit(OrdinaryPages(buffer.data()) ? 0 : 1);
  } catch (const UserError& error) {
    std::fputs(error.what(), stderr);
    std::exit(2);
  }
}

TEST(CpuDevice, TheEnvironmentChoosesThePages) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(TakePages("on"), testing::ExitedWithCode(1), "");
  EXPECT_EXIT(TakePages("off"), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(TakePages("small"), testing::ExitedWithCode(2),
              "YOKE_HUGE_PAGES is 'small', expected on or off");
}

TEST(EmulatedDevice, FaultsWhereTheHostTouchesItsMemory) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto device = NewEmulatedDevice(0, {});
  const Buffer buffer(*device, 64);
  EXPECT_DEATH(std::memset(buffer.data(), 1, 1), "");
  EXPECT_DEATH(static_cast<void>(*buffer.As<volatile char>()), "");
}

TEST(EmulatedDevice, GivesFreedMemoryOutAgain) {
  const auto device = NewEmulatedDevice(0, {});
  std::vector<Buffer> buffers;
  buffers.reserve(8);
  for (int i = 0; i < 8; ++i) buffers.emplace_back(*device, 100 << 10);
  void* const first = buffers[0].data();
  buffers.clear();
  const Buffer large(*device, 800 << 10);  // the pieces are one again
  EXPECT_EQ(large.data(), first);
}

TEST(EmulatedDevice, WaitThrowsWhatWorkThrew) {
  const auto device = NewEmulatedDevice(1, {});
  const auto stream = device->NewStream();
  stream->work_queue()->Enqueue([] { throw std::runtime_error("work failed"); });
  EXPECT_THROW(stream->Wait(), std::runtime_error);
  EXPECT_THROW(stream->Wait(), std::runtime_error);  // also in another thread of a shared one
  EXPECT_TRUE(device->NewStream()->WaitFor(1));
}

TEST(EmulatedDevice, StreamsKeepThePointThatTheyAwait) {
  const auto device = NewEmulatedDevice(1, {});
  const auto first = device->NewStream(), second = device->NewStream();
  std::atomic<bool> goes_on = false, done = false;
  std::shared_ptr<Event> event;
  first->Record(event);
  const Event* const made = event.get();
  second->Await(event);
  second->work_queue()->Enqueue([&done] { done = true; });
  first->work_queue()->Enqueue([&goes_on] { goes_on.wait(false); });
  first->Record(event);
  EXPECT_EQ(event.get(), made);
  second->Wait();
  EXPECT_TRUE(done);
  goes_on = true;
  goes_on.notify_all();
  event->Wait();
}

TEST(EmulatedDevice, AFailureReachesWhoAwaitsIt) {
  const auto device = NewEmulatedDevice(1, {});
  const auto fails = device->NewStream(), awaits = device->NewStream();
  fails->work_queue()->Enqueue([] { throw std::runtime_error("work failed"); });
  std::shared_ptr<Event> event;
  fails->Record(event);
  awaits->Await(event);
  EXPECT_THROW(awaits->Wait(), std::runtime_error);
  EXPECT_THROW(event->Wait(), std::runtime_error);
}

TEST(EmulatedDevice, IsAsynchronousAndAsSlowAsAsked) {
  const auto device = NewEmulatedDevice(2, {.copy_bytes_per_second = 1e6, .slowdown = 1});
  const auto stream = device->NewStream();
  std::vector<char> host(50000);
  const Buffer buffer(*device, 50000);
  const double start = Now();
  stream->Copy(buffer.data(), host.data(), 50000);
  EXPECT_LT(Now() - start, 0.04);  // enqueued, not done
  stream->Wait();
  EXPECT_GE(Now() - start, 0.05);
}

TEST(EmulatedDevice, SlowsKernelsDownAndNotCopies) {
  const auto device = NewEmulatedDevice(2, {.copy_bytes_per_second = 1e6, .slowdown = 50});
  const auto stream = device->NewStream();
  std::vector<char> host(20000);
  const Buffer buffer(*device, 20000);
  stream->Copy(buffer.data(), host.data(), 20000);
  stream->Wait();
  EXPECT_GE(stream->busy_seconds(), 0.02);
  EXPECT_LT(stream->busy_seconds(), 0.5);
  const double copied = stream->busy_seconds();
  stream->work_queue()->Enqueue([] {  // 2 ms of computing, however long other threads have the core
    const auto computing = [] {
      timespec time = {};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
      return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
    };
    while (computing() < 0.002) continue;
  });
  stream->Wait();
  EXPECT_GE(stream->busy_seconds() - copied, 0.05);
}

/// The sentence with which a job's devices are refused.
std::string Refusal(const std::vector<std::string>& names) {
  try {
    const Devices devices(names, "job.toml:3: node.devices");
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(Devices, AreFoundByName) {
  const Devices devices({"cpu", "emulated:0", "emulated:12"}, "");
  ASSERT_EQ(devices.all().size(), 3U);
  EXPECT_EQ(devices.all()[0], &Cpu());
  EXPECT_EQ(devices.all()[2]->name(), "emulated:12");
  EXPECT_EQ(Devices({"all"}, "").all()[0], &Cpu());
}

TEST(Devices, AreRefusedInASentence) {
  EXPECT_EQ(Refusal({"gpu"}),
            "job.toml:3: node.devices: there is no device 'gpu': expected all, cpu, cuda:0, "
            "emulated:0 or strict:0");
  for (const char* name : {"emulated:", "emulated:-1", "emulated:1x", "emulated:00", "emulated"})
    EXPECT_NE(Refusal({name}), "") << name;
  EXPECT_NE(Refusal({"cpu", "cpu"}), "");
  EXPECT_NE(Refusal({"all", "cpu"}), "");
  EXPECT_NE(Refusal({}), "");
}

}  // namespace yoke::devices_conformance_test
