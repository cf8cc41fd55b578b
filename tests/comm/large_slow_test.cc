// Large messages: of a GiB and more, beyond 2^31 bytes and 2^31 numbers, between threads and, under
// the launchers of MPI (tests comm.slow.mpi.*), between processes. Most takes 9 GiB of memory, one
// test 17 GiB.
//
// guards: src/comm (300 s)
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "base/support/large.h"
#include "comm/communicator.h"
#include "comm/support/worlds.h"

namespace yoke::large_slow_test {

constexpr int64_t kGibibyte = int64_t{1} << 30;
constexpr int64_t kLong = (int64_t{2} << 30) + 4097;  // bytes: no whole number of MPI's blocks
constexpr int64_t kNumbers = (kGibibyte / 2) + (1 << 20) + 3;  // their bytes are more than 2^31

std::vector<WorldKind> RealWorlds() {
  std::vector<WorldKind> kinds = WorldKinds();
  std::erase_if(kinds, [](const WorldKind& kind) { return std::string(kind.name) == "simulated"; });
  return kinds;
}

class LargeTest : public testing::TestWithParam<WorldKind> {
 protected:
  /// Two ranks, where the machine has the memory that they need together: else it skips the test.
  static bool Run(double gibibytes, const WorldBody& body) {
    constexpr double kTimeout = 300;
    return GetParam().run(2, kTimeout, [&](const Communicator& world) {
      const auto why = LacksGibibytes(gibibytes);
      std::vector<float> lacking = {why ? 1.0F : 0.0F};
      world.AllReduce(lacking);  // memory changes: the ranks must agree
      if (lacking[0] > 0) GTEST_SKIP() << why.value_or("another rank has too little memory");
      body(world);
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Worlds, LargeTest, testing::ValuesIn(RealWorlds()),
                         [](const auto& info) { return std::string(info.param.name); });

/// Of a length that divides no power of two: a message that is short by one or lies at another
/// place differs.
const std::vector<std::byte>& Pattern() {
  static const std::vector<std::byte> pattern = [] {
    constexpr size_t kPrime = 1'048'583;
    std::vector<std::byte> bytes(kPrime);
    Random random{7};
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Below(256));
    return bytes;
  }();
  return pattern;
}

std::vector<std::byte> Bytes(int64_t count) {
  std::vector<std::byte> bytes;
  bytes.reserve(count);
  while (static_cast<int64_t>(bytes.size()) < count) {
    const auto left = count - static_cast<int64_t>(bytes.size());
    const auto piece = std::span(Pattern()).first(std::min<int64_t>(Pattern().size(), left));
    bytes.insert(bytes.end(), piece.begin(), piece.end());
  }
  return bytes;
}

/// Where the first piece begins that is not as in Bytes; -1: none.
int64_t FirstOther(std::span<const std::byte> bytes) {
  for (size_t at = 0; at < bytes.size(); at += Pattern().size()) {
    const size_t length = std::min(Pattern().size(), bytes.size() - at);
    if (std::memcmp(&bytes[at], Pattern().data(), length) != 0) return static_cast<int64_t>(at);
  }
  return -1;
}

TEST_P(LargeTest, MessagesArriveWhole) {
  EXPECT_TRUE(Run(7, [](const Communicator& world) {
    for (const int64_t length : {kGibibyte - 24, kGibibyte, kGibibyte + 1, kLong}) {
      if (world.rank() == 0) {
        world.Send(Bytes(length), 1, 3);
        world.Send(Bytes(5), 1, 3);  // must not overtake
      } else {
        const Message message = world.Receive(0, 3);
        ASSERT_EQ(static_cast<int64_t>(message.bytes.size()), length);
        EXPECT_EQ(FirstOther(message.bytes), -1);
        EXPECT_EQ(world.Receive(0, 3).bytes.size(), 5U);
      }
      world.Barrier();
    }
  }));
}

TEST_P(LargeTest, MessagesGoBothWaysIntoMemory) {
  EXPECT_TRUE(Run(13, [](const Communicator& world) {
    std::vector<std::byte> bytes = Bytes(kLong);
    world.Send(bytes, 1 - world.rank(), 0);
    std::ranges::fill(bytes, std::byte{0});
    world.Receive(bytes, 1 - world.rank(), 0);
    EXPECT_EQ(FirstOther(bytes), -1);
    EXPECT_GE(world.traffic().bytes_received, kLong);
  }));
}

TEST_P(LargeTest, BroadcastsBytes) {
  EXPECT_TRUE(Run(9, [](const Communicator& world) {
    std::vector<std::byte> bytes;
    if (world.rank() == 1) bytes = Bytes(kLong);
    bytes.resize(kLong);
    world.Broadcast(bytes, 1);
    EXPECT_EQ(FirstOther(bytes), -1);
  }));
}

/// Small whole numbers, so that sums are exact.
float NumberAt(int64_t i, int rank) { return static_cast<float>((i % 1021) * (rank + 1)); }

std::vector<float> Numbers(int rank) {
  std::vector<float> values(kNumbers);
  for (int64_t i = 0; i < kNumbers; ++i) values[i] = NumberAt(i, rank);
  return values;
}

/// The first that is not the sum over two ranks; -1: none.
int64_t FirstWrongSum(std::span<const float> values) {
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != 3 * NumberAt(static_cast<int64_t>(i), 0)) return static_cast<int64_t>(i);
  return -1;
}

TEST_P(LargeTest, ReducesNumbers) {
  EXPECT_TRUE(Run(9, [](const Communicator& world) {
    std::vector<float> values = Numbers(world.rank());
    world.Reduce(values, 1);
    if (world.rank() == 1) {
      EXPECT_EQ(FirstWrongSum(values), -1);
    }
  }));
}

TEST_P(LargeTest, EveryAllReduceAddsNumbers) {
  using enum AllReduceAlgorithm;
  std::vector<AllReduceAlgorithm> algorithms = {kRing, kTree, kHalving};
  if (std::string(GetParam().name) == "mpi") algorithms.push_back(kMpi);
  for (const AllReduceAlgorithm algorithm : algorithms)
    EXPECT_TRUE(Run(9, [algorithm](const Communicator& world) {
      std::vector<float> values = Numbers(world.rank());
      world.AllReduce(values, algorithm);
      EXPECT_EQ(FirstWrongSum(values), -1);
    }));
}

TEST_P(LargeTest, GathersBytes) {
  EXPECT_TRUE(Run(9, [](const Communicator& world) {
    const int64_t length = world.rank() == 0 ? kLong : 7;
    const auto all = world.AllGather(Bytes(length));
    ASSERT_EQ(static_cast<int64_t>(all[0].size()), kLong);
    EXPECT_EQ(FirstOther(all[0]), -1);
    EXPECT_EQ(all[1].size(), 7U);
  }));
}

/// Of two ranks one holds zeros that take no memory; else these would be four times 8 GiB.
TEST_P(LargeTest, ReducesMoreThan2To31Numbers) {
  constexpr int64_t kCount = (int64_t{1} << 31) + 1027;
  if (std::string(GetParam().name) == "mpi") GTEST_SKIP() << "MPI's packets are copies: 24 GiB";
  EXPECT_TRUE(Run(17, [](const Communicator& world) {
    const SparseZeros<float> values(kCount);
    for (const int64_t place : {int64_t{0}, kCount / 2, kCount - 1027, kCount - 1})
      values[place] = static_cast<float>(world.rank() + 1);
    world.Reduce(values.values(), 0);
    if (world.rank() != 0) return;
    double sum = 0;
    for (const float value : values.values()) sum += value;
    EXPECT_EQ(sum, 12);
    EXPECT_EQ(values[kCount - 1027], 3);
    EXPECT_EQ(values[kCount - 1], 3);
  }));
}

}  // namespace yoke::large_slow_test
