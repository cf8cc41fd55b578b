// MockNccl: sums as work of streams' threads.
#include "comm/support/mock_nccl.h"

#include <chrono>
#include <condition_variable>
#include <thread>
#include <vector>

struct ncclComm {
  yoke::MockNccl::World* world = nullptr;
  int rank = 0;
  bool aborted = false;
};

namespace yoke {

struct MockNccl::World {
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
      Add(count);
      come = 0;
      ++sums;
      changed.notify_all();
    }
    changed.wait(lock, [&] { return own.aborted || sums > one; });
  }
  void Add(size_t count) const {
    for (size_t i = 0; i < count; ++i) {
      float sum = 0;
      for (const float* each : values) sum += each[i];
      for (float* each : values) each[i] = sum;
    }
  }
};

namespace {

MockNccl* current = nullptr;

int JoinMock(ncclComm** comm, int ranks, const NcclId& id, int rank) {
  const MockNccl::Inside inside;
  MockNccl& mock = MockNccl::Current();
  if (rank == mock.fails_to_join) return 1;
  MockNccl::World& world = mock.Of(id);
  std::unique_lock lock(world.mutex);
  world.ranks = ranks;
  world.comms.resize(ranks);
  world.values.resize(ranks);
  world.comms[rank] = {&world, rank};
  *comm = &world.comms[rank];
  ++world.joined;
  world.changed.notify_all();
  world.changed.wait(lock, [&] { return world.joined == ranks || mock.over(); });
  return 0;
}

int AbortMock(ncclComm* comm) {
  const MockNccl::Inside inside;
  MockNccl& mock = MockNccl::Current();
  ++mock.aborts;
  {
    const std::lock_guard lock(comm->world->mutex);
    comm->aborted = true;
    comm->world->changed.notify_all();
  }
  while (mock.abort_hangs && !mock.over())
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return 0;
}

void RunSum(void* argument) {
  const auto& work = *static_cast<MockNccl::Work*>(argument);
  work.comm->world->Sum(*work.comm, work.values, work.count);
}

constexpr NcclCalls kMockNccl = {
    .make_id =
        [](NcclId* id) {
          (*id)[0] = std::byte(++MockNccl::Current().ids);
          return 0;
        },
    .join = JoinMock,
    .sum =
        [](float* values, size_t count, ncclComm* comm, CUstream_st* stream) {
          MockNccl& mock = MockNccl::Current();
          ++mock.sums;
          return mock.driver().launch_host(stream, RunSum, &mock.Keep({comm, values, count}));
        },
    .abort = AbortMock,
    .leave =
        [](ncclComm*) {
          ++MockNccl::Current().left;
          return 0;
        },
    .text = [](int) { return "mock error"; },
    .abort_timeout = 0.3,
    .leave_timeout = 0.3};

}  // namespace

MockNccl::MockNccl(const CudaDriver& driver) : driver_(driver) { current = this; }

MockNccl::~MockNccl() {
  over_ = true;
  {
    const std::lock_guard all(mutex_);
    for (auto& [id, world] : worlds_) {
      const std::lock_guard lock(world.mutex);
      world.changed.notify_all();
    }
  }
  while (inside_ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // left behind
}

const NcclCalls& MockNccl::calls() const { return kMockNccl; }

MockNccl::World& MockNccl::Of(const NcclId& id) {
  const std::lock_guard lock(mutex_);
  return worlds_[id[0]];
}

MockNccl::Work& MockNccl::Keep(const Work& work) {
  const std::lock_guard lock(mutex_);
  return works_.emplace_back(work);
}

MockNccl& MockNccl::Current() { return *current; }

}  // namespace yoke
