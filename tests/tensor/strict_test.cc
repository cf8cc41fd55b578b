// CountingDevice: what it counts, and for whom.
#include "tensor/counting.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tensor/array.h"
#include "tensor/emulated.h"

namespace yoke::strict_test {

class StrictTest : public testing::Test {
 protected:
  StrictTest() : device_("strict:0", NewEmulatedDevice(0, {})) {}

  DeviceCounts Of(const std::string& cause) const {
    const CountingDevice::Counts counts = device_.counts();
    const auto found = counts.find(cause);
    return found == counts.end() ? DeviceCounts() : found->second;
  }

  CountingDevice device_;
};

TEST_F(StrictTest, MemoryCounts) {
  { const Buffer buffer(device_, 64); }
  EXPECT_EQ(Of("Allocate"), DeviceCounts{.allocations = 1});
  EXPECT_EQ(Of("Free"), DeviceCounts{.frees = 1});
}

TEST_F(StrictTest, StagingIsNeitherTheDevicesMemoryNorPageable) {
  const Buffer there(device_, 64), here(device_.staging(), 64);
  EXPECT_EQ(Of("Allocate").allocations, 1);
  EXPECT_TRUE(device_.staging().IsHost());
  const auto stream = device_.NewStream();
  stream->Copy(there.data(), here.data(), 64);
  EXPECT_EQ(Of("Copy"), DeviceCounts{.bytes_sent = 64});
  stream->Copy(here.As<char>() + 32, there.As<char>() + 32, 32);
  EXPECT_EQ(Of("Copy"), (DeviceCounts{.host_reads = 1, .bytes_sent = 64}));
  stream->Wait();
}

TEST_F(StrictTest, OtherHostMemoryIsPageable) {
  const Buffer first(device_, 64), second(device_, 64);
  std::vector<char> host(64);
  const auto stream = device_.NewStream();
  stream->Copy(first.data(), host.data(), 64);
  stream->Copy(second.data(), first.data(), 64);
  EXPECT_EQ(Of("Copy"), (DeviceCounts{.pageable_copies = 1, .bytes_sent = 64}));
  stream->Copy(host.data(), second.data(), 64);
  EXPECT_EQ(Of("Copy"), (DeviceCounts{.host_reads = 1, .pageable_copies = 2, .bytes_sent = 64}));
  stream->Wait();
}

TEST_F(StrictTest, WaitsOfTheHostCountAndThoseOfStreamsDoNot) {
  const auto first = device_.NewStream(), second = device_.NewStream();
  std::shared_ptr<Event> event;
  first->Record(event);
  first->Record(event);
  EXPECT_EQ(Of("Record"), DeviceCounts{.events = 1});
  second->Await(event);
  second->Wait();
  EXPECT_TRUE(second->WaitFor(10));
  event->Wait();
  EXPECT_EQ(Of("Wait"), DeviceCounts{.waits = 1});
  EXPECT_EQ(Of("WaitFor"), DeviceCounts{.waits = 1});
  EXPECT_EQ(Of("Event::Wait"), DeviceCounts{.waits = 1});
}

TEST_F(StrictTest, TheInnermostCauseCounts) {
  const Buffer buffer(device_, sizeof(float));
  std::vector<float> host(1);
  const CountedAs outer("outer");
  {
    const CountedAs inner("inner");
    Copy(OnHost(std::span(host)), AllOf<float>(buffer));
  }
  EXPECT_EQ(Of("inner"), (DeviceCounts{.waits = 1, .host_reads = 1, .pageable_copies = 1}));
  device_.stream().Wait();
  std::thread([this] { device_.stream().Wait(); }).join();  // has no cause
  EXPECT_EQ(Of("outer"), DeviceCounts{.waits = 1});
  EXPECT_EQ(Of("Wait"), DeviceCounts{.waits = 1});
}

TEST_F(StrictTest, KernelsRunOnTheInnerQueue) {
  const Buffer buffer(device_, sizeof(float));
  const auto stream = device_.NewStream();
  WorkQueue* const queue = stream->work_queue();
  auto* const value = static_cast<float*>(queue->Reach(buffer.data()));
  queue->Enqueue([value] { *value = 5; });
  float read = 0;
  stream->Copy(&read, buffer.data(), sizeof read);
  stream->Wait();
  EXPECT_EQ(read, 5);
}

}  // namespace yoke::strict_test
