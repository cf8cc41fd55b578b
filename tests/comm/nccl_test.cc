// NCCL's sums on a mock of NCCL and of the CUDA runtime: what is enqueued, who takes part, and what
// a lost rank does.
#include "comm/nccl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "base/check.h"
#include "comm/threads.h"
#include "tensor/cuda/cuda_device.h"
#include "tensor/support/arrays.h"
#include "tensor/support/mock_cuda.h"

/// A rank of the mock's sums.
struct ncclComm {
  struct Shared* shared = nullptr;
  int rank = 0;
  bool aborted = false;
};

/// Ranks that sum: each sum waits for all, or for its own rank's abort.
struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  int ranks = 0, joined = 0, come = 0;
  int64_t sums = 0;
  std::vector<ncclComm> comms;
  std::vector<float*> values;

  void Sum(const ncclComm& own, float* mine, size_t count) {
    std::unique_lock lock(mutex);
    values[own.rank] = mine;
    const int64_t one = sums;
    if (++come == ranks) {
      for (size_t i = 0; i < count; ++i) {
        float sum = 0;
        for (const float* each : values) sum += each[i];
        for (float* each : values) each[i] = sum;
      }
      come = 0;
      ++sums;
      changed.notify_all();
    }
    changed.wait(lock, [&] { return own.aborted || sums > one; });
  }
};

namespace yoke::nccl_test {
namespace {

using testing::HasSubstr;

std::atomic<int> ids = 0, aborts = 0, left = 0;
std::mutex worlds_mutex;
std::map<std::byte, Shared> worlds;
const CudaDriver* driver = nullptr;

Shared& WorldOf(const NcclId& id) {
  const std::lock_guard lock(worlds_mutex);
  return worlds[id[0]];
}

struct Work {
  ncclComm* comm;
  float* values;
  size_t count;
};

constexpr NcclCalls kMock = {
    .make_id =
        [](NcclId* id) {
          (*id)[0] = std::byte(++ids);
          return 0;
        },
    .join =
        [](ncclComm** comm, int ranks, const NcclId& id, int rank) {
          Shared& shared = WorldOf(id);
          std::unique_lock lock(shared.mutex);
          shared.ranks = ranks;
          shared.comms.resize(ranks);
          shared.values.resize(ranks);
          shared.comms[rank] = {&shared, rank};
          *comm = &shared.comms[rank];
          ++shared.joined;
          shared.changed.notify_all();
          shared.changed.wait(lock, [&] { return shared.joined == ranks; });
          return 0;
        },
    .sum =
        [](float* values, size_t count, ncclComm* comm, CUstream_st* stream) {
          return driver->launch_host(
              stream,
              [](void* argument) {
                const std::unique_ptr<Work> work(static_cast<Work*>(argument));
                work->comm->shared->Sum(*work->comm, work->values, work->count);
              },
              new Work{comm, values, count});
        },
    .abort =
        [](ncclComm* comm) {
          ++aborts;
          const std::lock_guard lock(comm->shared->mutex);
          comm->aborted = true;
          comm->shared->changed.notify_all();
          return 0;
        },
    .leave =
        [](ncclComm*) {
          ++left;
          return 0;
        },
    .text = [](int) { return "mock error"; }};

class NcclTest : public testing::Test {
 protected:
  NcclTest() {
    driver = &mock_.driver();
    ids = aborts = left = 0;
    worlds.clear();
  }

  static ThreadRanks Ranks(int ranks, double timeout = 60) {
    return {.ranks = ranks,
            .timeout = timeout,
            .device_all_reduce = [](const Communicator& world, Device& device) {
              return MakeNcclAllReduce(world, device, &kMock);
            }};
  }

  MockCuda mock_{{.devices = 3}};
};

constexpr int kCount = 1000;

std::vector<float> Numbers(int rank, int count) {
  std::vector<float> values(count);
  for (int i = 0; i < count; ++i) values[i] = static_cast<float>(i) / 8 + static_cast<float>(rank);
  return values;
}

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
  EXPECT_EQ(ids, 1);
  EXPECT_EQ(left, 3);
  EXPECT_EQ(aborts, 0);
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
  EXPECT_EQ(ids, 0);
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
  EXPECT_EQ(ids, 0);
}

TEST_F(NcclTest, AFailedRankEndsTheOthersSums) {
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
  EXPECT_GE(aborts, 1);
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
  EXPECT_GE(aborts, 1);
}

}  // namespace
}  // namespace yoke::nccl_test
