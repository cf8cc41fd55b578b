// NCCL's sums on a mock of NCCL and of the CUDA runtime: what is enqueued, who takes part, and what
// a lost rank does.
#include "comm/nccl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "comm/support/mock_nccl.h"
#include "comm/threads.h"
#include "tensor/cuda/cuda_device.h"
#include "tensor/device.h"
#include "tensor/support/arrays.h"
#include "tensor/support/mock_cuda.h"

namespace yoke::nccl_test {
namespace {

using testing::HasSubstr;

constexpr int kCount = 1000;

std::vector<float> Numbers(int rank, int count) {
  std::vector<float> values(count);
  for (int i = 0; i < count; ++i) values[i] = static_cast<float>(i) / 8 + static_cast<float>(rank);
  return values;
}

class NcclTest : public testing::Test {
 protected:
  ThreadRanks Ranks(int ranks, double timeout = 60) const {
    return {.ranks = ranks,
            .timeout = timeout,
            .device_all_reduce = [this](const Communicator& world, Device& device) {
              return MakeNcclAllReduce(world, device, &nccl_.calls());
            }};
  }

  void AFailedRankOfTwo() {
    std::string sentence;
    const auto run = [&](const Communicator& world) {
      const auto device = NewCudaDevice(world.rank(), mock_.driver());
      const Communicator own = world.Duplicate();
      const Buffer buffer = CopyOn(*device, Numbers(world.rank(), kCount));
      own.AllReduce(AllOf<float>(buffer));
      device->stream().Wait();
      if (world.rank() == 1) throw Error("its GPU is gone");
      own.AllReduce(AllOf<float>(buffer));
      EXPECT_THROW(device->stream().Wait(), Error);
      own.AllReduce(AllOf<float>(buffer));
      FAIL() << "a sum after a failed one";
    };
    try {
      RunThreads(Ranks(2), run);
    } catch (const Error& error) {
      sentence = error.what();
    }
    EXPECT_THAT(sentence, HasSubstr("its GPU is gone"));
  }

  MockCuda mock_{{.devices = 3}};
  MockNccl nccl_{mock_.driver()};
};

TEST_F(NcclTest, SumsInTheOrderOfTheStream) {
  RunThreads(Ranks(3), [&](const Communicator& world) {
    const auto device = NewCudaDevice(world.rank(), mock_.driver());
    const Communicator own = world.Duplicate();  // ends before the device
    const Buffer buffer = CopyOn(*device, Numbers(world.rank(), kCount));
    std::vector<float> expected = Numbers(world.rank(), kCount);
    for (int step = 0; step < 3; ++step) {
      own.AllReduce(AllOf<float>(buffer));
      world.AllReduce(expected);
    }
    EXPECT_EQ(ValuesOf(AllOf<float>(buffer)), expected);
    EXPECT_EQ(own.traffic().messages_sent, 0);
  });
  EXPECT_EQ(nccl_.ids, 1);
  EXPECT_EQ(nccl_.left, 3);
  EXPECT_EQ(nccl_.aborts, 0);
  EXPECT_TRUE(mock_.broken().empty());
}

TEST_F(NcclTest, RanksThatShareAGpuSumOnTheHost) {
  RunThreads(Ranks(2), [&](const Communicator& world) {
    const auto device = NewCudaDevice(0, mock_.driver());
    const Communicator own = world.Duplicate();
    const Buffer buffer = CopyOn(*device, Numbers(world.rank(), kCount));
    std::vector<float> expected = Numbers(world.rank(), kCount);
    own.AllReduce(AllOf<float>(buffer));
    world.AllReduce(expected);
    EXPECT_EQ(ValuesOf(AllOf<float>(buffer)), expected);
    EXPECT_GT(own.traffic().messages_sent, 0);
  });
  EXPECT_EQ(nccl_.ids, 0);
}

TEST_F(NcclTest, ARankWithoutGpuMakesAllSumOnTheHost) {
  RunThreads(Ranks(2), [&](const Communicator& world) {
    const auto device = NewCudaDevice(0, mock_.driver());
    const Communicator own = world.Duplicate();
    std::vector<float> expected = Numbers(world.rank(), kCount);
    world.AllReduce(expected);
    std::vector<float> here = Numbers(world.rank(), kCount);
    const Buffer there = CopyOn(*device, here);
    own.AllReduce(world.rank() == 0 ? AllOf<float>(there) : OnHost(std::span(here)));
    EXPECT_EQ(world.rank() == 0 ? ValuesOf(AllOf<float>(there)) : here, expected);
  });
  EXPECT_EQ(nccl_.ids, 0);
}

TEST_F(NcclTest, AFailedRankEndsTheOthersSums) {
  AFailedRankOfTwo();
  EXPECT_GE(nccl_.aborts, 1);
}

/// NCCL itself waits for it forever, and the process goes on.
TEST_F(NcclTest, ARankThatCannotJoinEndsTheWorld) {
  nccl_.fails_to_join = 1;
  try {
    RunThreads(Ranks(2), [&](const Communicator& world) {
      const auto device = NewCudaDevice(world.rank(), mock_.driver());
      const Communicator own = world.Duplicate();
      const Buffer buffer = CopyOn(*device, Numbers(world.rank(), kCount));
      own.AllReduce(AllOf<float>(buffer));
    });
    FAIL() << "a world without one of its ranks";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("NCCL failed in ncclCommInitRank: mock error"));
  }
}

TEST_F(NcclTest, AnAbortThatWaitsForOthersIsLeft) {
  nccl_.abort_hangs = true;
  const double began = Now();
  AFailedRankOfTwo();
  EXPECT_GE(nccl_.aborts, 1);
  EXPECT_LT(Now() - began, 5);
}

/// Ranks' graphs hold their sums; the watch sees each launch.
TEST_F(NcclTest, ACaptureHoldsSums) {
  RunThreads(Ranks(2), [&](const Communicator& world) {
    const auto device = NewCudaDevice(world.rank(), mock_.driver());
    const Communicator own = world.Duplicate();
    ASSERT_TRUE(own.SumsOnDevice(*device));
    const Buffer buffer = CopyOn(*device, Numbers(world.rank(), kCount));
    std::vector<float> expected = Numbers(world.rank(), kCount);
    Stream& main = device->stream();
    const auto beside = device->NewStream();
    std::shared_ptr<Event> before, end;
    auto& capturing = dynamic_cast<CapturingStream&>(main);
    capturing.BeginCapture();
    for (int bucket = 0; bucket < 2; ++bucket) {
      main.Record(before);
      beside->Await(before);
      own.AllReduce(AllOf<float>(buffer).Part(bucket * kCount / 2, (bucket + 1) * kCount / 2),
                    *beside);
    }
    beside->Record(end);
    main.Await(end);
    const std::unique_ptr<CapturedWork> work = capturing.EndCapture();
    EXPECT_EQ(work->nodes(), 2);
    for (int step = 0; step < 3; ++step) {
      work->Launch();
      own.SumsLaunched(main);
      world.AllReduce(expected);
    }
    main.Record(end);  // of the streams again
    beside->Await(end);
    EXPECT_EQ(ValuesOf(AllOf<float>(buffer)), expected);
  });
  EXPECT_EQ(nccl_.aborts, 0);
  EXPECT_TRUE(mock_.broken().empty());
}

TEST_F(NcclTest, ASumHasATimeout) {
  RunThreads(Ranks(2, 1), [&](const Communicator& world) {
    const auto device = NewCudaDevice(world.rank(), mock_.driver());
    const Communicator own = world.Duplicate();
    const Buffer buffer = CopyOn(*device, Numbers(world.rank(), kCount));
    own.AllReduce(AllOf<float>(buffer));
    device->stream().Wait();
    if (world.rank() == 1) return world.Sleep(3);
    own.AllReduce(AllOf<float>(buffer));
    try {
      device->stream().Wait();
      ADD_FAILURE() << "no timeout";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("took longer than 1 s"));
    }
  });
  EXPECT_GE(nccl_.aborts, 1);
}

}  // namespace
}  // namespace yoke::nccl_test
