// One body of tests over every kind of world: messages, collectives, splits, threads, failures.
#include "comm/communicator.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "base/check.h"
#include "base/thread.h"
#include "comm/support/values.h"
#include "comm/support/worlds.h"
#include "comm/threads.h"
#include "tensor/emulated.h"
#include "tensor/support/arrays.h"

namespace yoke::communicator_test {

class CommunicatorTest : public testing::TestWithParam<WorldKind> {
 protected:
  bool Run(int ranks, const WorldBody& body, double timeout = 20) {
    const bool ran = GetParam().run(ranks, timeout, body);
    ++(ran ? ran_ : left_out_);
    return ran;
  }
  void TearDown() override {
    if (left_out_ > 0 && ran_ == 0)
      GTEST_SKIP() << "the launcher started fewer processes than this test needs";
  }

 private:
  int ran_ = 0, left_out_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Worlds, CommunicatorTest, testing::ValuesIn(WorldKinds()),
                         [](const auto& info) { return std::string(info.param.name); });

/// Of what MPI alone has.
class MpiTest : public CommunicatorTest {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MpiTest);
std::vector<WorldKind> MpiAlone() {
  std::vector<WorldKind> kinds = WorldKinds();
  std::erase_if(kinds, [](const WorldKind& kind) { return std::string(kind.name) != "mpi"; });
  return kinds;
}
INSTANTIATE_TEST_SUITE_P(Worlds, MpiTest, testing::ValuesIn(MpiAlone()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(CommunicatorTest, MessagesKeepTheirOrderAndTag) {
  Run(2, [](const Communicator& world) {
    if (world.rank() == 0) {
      for (int i = 0; i < 10; ++i) world.Send(Bytes(i), 1, i % 2);
      return;
    }
    for (int tag : {1, 0})
      for (int i = tag; i < 10; i += 2) EXPECT_EQ(ValueOf<int>(world.Receive(0, tag)), i);
  });
}

TEST_P(CommunicatorTest, RanksFlushDenormals) {
  const bool before = FlushesDenormals();
  Run(2, [](const Communicator& world) {
    EXPECT_TRUE(FlushesDenormals());
    world.Spawn([](const Communicator& /*own*/) { EXPECT_TRUE(FlushesDenormals()); }).reset();
  });
  EXPECT_EQ(FlushesDenormals(), before);
}

TEST_P(CommunicatorTest, AnySourceSaysWho) {
  for (int ranks : {2, 4})
    Run(ranks, [](const Communicator& world) {
      if (world.rank() > 0) return world.Send(Bytes(world.rank()), 0, 7);
      int sum = 0;
      for (int i = 1; i < world.size(); ++i) {
        const Message message = world.Receive(kAnySource, 7);
        EXPECT_EQ(ValueOf<int>(message), message.source);
        sum += message.source;
      }
      EXPECT_EQ(sum, world.size() * (world.size() - 1) / 2);
    });
}

TEST_P(CommunicatorTest, TriesWithoutWaiting) {
  Run(2, [](const Communicator& world) {
    Message message;
    EXPECT_FALSE(world.TryReceive(1 - world.rank(), 3, message));
    world.Barrier();
    world.Send(Bytes(5), 1 - world.rank(), 3);
    world.Barrier();
    EXPECT_TRUE(world.TryReceive(1 - world.rank(), 3, message));
    EXPECT_EQ(message.source, 1 - world.rank());
    world.Send(Bytes(9), world.rank(), 4);  // to oneself
    EXPECT_EQ(ValueOf<int>(world.Receive(world.rank(), 4)), 9);
  });
}

TEST_P(CommunicatorTest, AMessageMayBeNamedNowAndTakenLater) {
  for (int ranks : {2, 4})
    Run(ranks, [](const Communicator& world) {
      std::vector<PendingMessage> pending;
      pending.reserve(world.size());
      for (int from = 0; from < world.size(); ++from)
        pending.push_back(world.ReceiveLater(from, 1));
      EXPECT_FALSE(pending[0].Ready());
      world.Barrier();
      for (int to = 0; to < world.size(); ++to) world.Send(Bytes(world.rank()), to, 1);
      while (!pending.back().Ready()) world.Sleep(1e-4);
      EXPECT_TRUE(pending.back().Ready());
      for (int from = world.size() - 1; from >= 0; --from) {
        const Message message = pending[from].Wait();
        EXPECT_EQ(message.source, from);
        EXPECT_EQ(ValueOf<int>(message), from);
      }
      EXPECT_FALSE(pending[0].Ready());
    });
}

TEST_P(CommunicatorTest, AWaitForANamedMessageEndsToo) {
  EXPECT_THROW(Run(
                   2,
                   [](const Communicator& world) {
                     if (world.rank() == 0) world.ReceiveLater(1, 5).Wait();
                   },
                   0.05),
               Error);
}

TEST_P(CommunicatorTest, BroadcastsFromAnyRoot) {
  for (int ranks : {1, 2, 3, 5, 8})
    Run(ranks, [](const Communicator& world) {
      for (int root = 0; root < world.size(); ++root) {
        std::vector<float> values(5, world.rank() == root ? 10.0F + float(root) : 0.0F);
        world.Broadcast(std::as_writable_bytes(std::span(values)), root);
        EXPECT_EQ(values, std::vector<float>(5, 10.0F + float(root)));
      }
    });
}

/// Numbers whose sums differ with the order in which they are added.
std::vector<float> Numbers(int rank, int64_t count) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = std::sin(float(i * 7 + rank * 31)) * std::pow(10.0F, float(rank % 3));
  return values;
}

TEST_P(CommunicatorTest, ReducesToAnyRoot) {
  for (int ranks : {1, 2, 3, 6})
    Run(ranks, [](const Communicator& world) {
      const int root = world.size() - 1;
      std::vector<float> values(7, float(world.rank() + 1));
      world.Reduce(values, root);
      const int sum = world.size() * (world.size() + 1) / 2;
      if (world.rank() == root) {
        EXPECT_EQ(values, std::vector<float>(7, float(sum)));
      }
    });
}

std::vector<float> SumsOfNumbers(int ranks, int64_t count) {
  std::vector<float> sums(count);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<float> values = Numbers(rank, count);
    for (int64_t i = 0; i < count; ++i) sums[i] += values[i];
  }
  return sums;
}

TEST_P(CommunicatorTest, EveryWayOfAllReduceGivesTheSumsAndTheSameBitsEverywhere) {
  for (int ranks : {1, 2, 3, 5, 8})
    for (int64_t count : {0, 1, 3, 300}) {
      const std::vector<float> sums = SumsOfNumbers(ranks, count);
      Run(ranks, [&](const Communicator& world) {
        for (const AllReduceAlgorithm algorithm :
             {AllReduceAlgorithm::kAuto, AllReduceAlgorithm::kRing, AllReduceAlgorithm::kTree,
              AllReduceAlgorithm::kHalving}) {
          std::vector<float> values = Numbers(world.rank(), count);
          world.AllReduce(values, algorithm);
          for (int64_t i = 0; i < count; ++i) ASSERT_NEAR(values[i], sums[i], 1e-3);
          const auto all = world.AllGather(std::as_bytes(std::span(values)));
          for (const auto& theirs : all) EXPECT_EQ(theirs, all[0]);
        }
      });
    }
}

TEST_P(CommunicatorTest, ArraysOnDevicesHaveTheHostsBits) {
  for (int ranks : {1, 2, 3, 5})
    for (int64_t count : {0, 1, 301})
      Run(ranks, [&](const Communicator& world) {
        const int root = world.size() - 1;
        const auto device = NewEmulatedDevice(world.rank(), {});
        const std::vector<float> mine = Numbers(world.rank(), count);
        // At the root alone, at all others, everywhere.
        for (const bool here : {world.rank() == root, world.rank() != root, true}) {
          const Buffer buffer = CopyOn(here ? *device : Cpu(), mine);
          const auto array = AllOf<float>(buffer);
          std::vector<float> values = mine;
          world.AllReduce(array);
          world.AllReduce(values);
          EXPECT_EQ(ValuesOf(array), values);
          Copy(array, OnHost(std::span(mine)));
          values = mine;
          world.Reduce(array, root);
          world.Reduce(values, root);
          if (world.rank() == root) {
            EXPECT_EQ(ValuesOf(array), values);
          }
          Copy(array, OnHost(std::span(mine)));
          world.Broadcast(array, root);
          EXPECT_EQ(ValuesOf(array), Numbers(root, count));
        }
      });
}

TEST_P(CommunicatorTest, ArraysAreSummedInTheOrderOfAStream) {
  for (int ranks : {2, 3})
    Run(ranks, [&](const Communicator& world) {
      const auto device = NewEmulatedDevice(world.rank(), {});
      constexpr int64_t kCount = 301;
      const Buffer buffer = CopyOn(*device, Numbers(world.rank(), kCount)),
                   copy(*device, 4 * kCount);
      const auto array = AllOf<float>(buffer);
      std::vector<float> once = Numbers(world.rank(), kCount);
      world.AllReduce(once);
      std::vector<float> twice = once;
      world.AllReduce(twice);
      const auto stream = device->NewStream();
      world.AllReduce(array, *stream);
      stream->Copy(copy.data(), buffer.data(), buffer.bytes());
      world.AllReduce(array.First(kCount), *stream);
      stream->Wait();
      EXPECT_EQ(ValuesOf(AllOf<float>(copy)), once);
      EXPECT_EQ(ValuesOf(array), twice);
    });
}

/// Sums with `world`, on the stream; counts its calls.
class SumOnDevice : public DeviceAllReduce {
 public:
  SumOnDevice(const Communicator& world, std::atomic<int>& calls)
      : world_(world.Duplicate()), calls_(calls) {}
  void Enqueue(Array<float> values, Stream& stream) override {
    ++calls_;
    stream.work_queue()->Enqueue([this, values, &stream] {
      auto* const reached = static_cast<float*>(stream.work_queue()->Reach(values.data));
      world_.AllReduce({reached, static_cast<size_t>(values.count)});
    });
  }
  void Launched(Stream& /*stream*/) override {}

 private:
  Communicator world_;
  std::atomic<int>& calls_;
};

TEST(DeviceAllReduceTest, SumsWhereTheArraysLie) {
  std::atomic<int> calls = 0;
  const auto make = [&](const Communicator& world, Device& /*device*/) {
    world.Barrier();
    return std::make_unique<SumOnDevice>(world, calls);
  };
  RunThreads({.ranks = 2, .device_all_reduce = make}, [&](const Communicator& world) {
    const auto device = NewEmulatedDevice(world.rank(), {});
    std::vector<float> values = Numbers(world.rank(), 301);
    const Buffer buffer = CopyOn(*device, values);
    world.AllReduce(AllOf<float>(buffer));
    EXPECT_EQ(world.traffic().messages_sent, 0);
    world.AllReduce(values);
    EXPECT_EQ(ValuesOf(AllOf<float>(buffer)), values);
    const Communicator half = world.Split(world.rank(), 0);
    half.AllReduce(AllOf<float>(buffer));  // nothing to add
    EXPECT_EQ(ValuesOf(AllOf<float>(buffer)), values);
  });
  EXPECT_EQ(calls, 2);
}

TEST_P(CommunicatorTest, GathersUnequalLengths) {
  for (int ranks : {2, 3, 5})
    Run(ranks, [](const Communicator& world) {
      const std::vector<std::byte> mine(world.rank() * 3, std::byte(world.rank()));
      const auto all = world.AllGather(mine);
      for (int rank = 0; rank < world.size(); ++rank)
        EXPECT_EQ(all[rank], std::vector<std::byte>(rank * 3, std::byte(rank)));
    });
}

TEST_P(CommunicatorTest, LongMessagesCrossWithoutWaitingForEachOther) {
  Run(2, [](const Communicator& world) {
    const int other = 1 - world.rank();
    for (const size_t length : {1 << 16, 3 << 20}) {
      const std::vector<std::byte> mine(length, std::byte(10 + world.rank()));
      for (int tag = 0; tag < 3; ++tag) world.Send(mine, other, tag);
      world.Send(Bytes(3), other, 0);  // must not overtake the long one
      for (int tag = 2; tag >= 0; --tag)
        EXPECT_EQ(world.Receive(other, tag).bytes,
                  std::vector<std::byte>(length, std::byte(10 + other)));
      EXPECT_EQ(ValueOf<int>(world.Receive(other, 0)), 3);
    }
  });
}

TEST_P(CommunicatorTest, CountsWhatTheFormulasSay) {
  constexpr int64_t kCount = 1024;
  for (int ranks : {2, 4})
    Run(ranks, [](const Communicator& world) {
      const int p = world.size(), rounds = p == 2 ? 1 : 2;
      const int64_t bytes = 2 * 4 * kCount * (p - 1) / p;
      std::vector<float> values(kCount, 1);
      const Traffic before = world.traffic();
      world.AllReduce(values, AllReduceAlgorithm::kRing);
      const Traffic ring = world.traffic();
      EXPECT_EQ(ring.messages_sent - before.messages_sent, 2 * (p - 1));
      EXPECT_EQ(ring.bytes_sent - before.bytes_sent, bytes);
      world.AllReduce(values, AllReduceAlgorithm::kHalving);
      const Traffic halving = world.traffic();
      EXPECT_EQ(halving.messages_sent - ring.messages_sent, 2 * rounds);
      EXPECT_EQ(halving.bytes_sent - ring.bytes_sent, bytes);
    });
}

TEST_P(CommunicatorTest, MpiSumsWhereThereIsOne) {
  constexpr int64_t kCount = 3000;
  for (int ranks : {2, 4})
    Run(ranks, [](const Communicator& world) {
      const auto sum = [](const Communicator& some) {
        std::vector<float> values(kCount, float(some.rank() + 1));
        some.AllReduce(values, AllReduceAlgorithm::kMpi);
        const auto p = static_cast<float>(some.size());
        EXPECT_EQ(values, std::vector<float>(kCount, p * (p + 1) / 2));
      };
      EXPECT_EQ(world.HasMpiAllReduce(), std::string(GetParam().name) == "mpi");
      if (!world.HasMpiAllReduce()) {
        EXPECT_THROW(sum(world), UserError);
        return;
      }
      sum(world);
      const Traffic before = world.traffic();
      sum(world);
      const Traffic after = world.traffic();
      const int64_t bytes = after.bytes_by_formula - before.bytes_by_formula;
      EXPECT_EQ(bytes, 2 * 4 * kCount * (world.size() - 1) / world.size());
      EXPECT_EQ(after.bytes_sent - before.bytes_sent, bytes);
      const int64_t rounds = world.size() == 2 ? 1 : 2;
      EXPECT_EQ(after.messages_sent - before.messages_sent, 2 * rounds);
      const auto beside = world.Spawn([&](const Communicator& own) {
        for (int i = 0; i < 20; ++i) sum(own);
      });
      for (int i = 0; i < 20; ++i) sum(world);
      sum(world.Split(world.rank() % 2, -world.rank()));
    });
}

TEST_P(MpiTest, AWaitForItsAllReduceNamesWhoIsMissing) {
  try {
    Run(
        2,
        [](const Communicator& world) {
          ASSERT_TRUE(world.HasMpiAllReduce());
          std::vector<float> values(10);
          if (world.rank() == 0) world.AllReduce(values, AllReduceAlgorithm::kMpi);
          Message message;
          world.TryReceive(0, 5, message, 3);  // longer than the timeout
        },
        1);
    FAIL() << "a wait for nobody ended well";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rank 1 in barrier"), std::string::npos)
        << error.what();
  }
}

TEST_P(CommunicatorTest, SplitsIntoGroupsThatDoNotMeet) {
  for (int ranks : {2, 4, 6})
    Run(ranks, [](const Communicator& world) {
      const int half = world.size() / 2, odd = world.rank() % 2;
      const Communicator group = world.Split(odd, -world.rank());
      EXPECT_EQ(group.size(), half);
      EXPECT_EQ(group.rank(), half - 1 - world.rank() / 2);  // by falling world rank
      std::vector<float> value = {float(world.rank())};
      group.AllReduce(value);
      EXPECT_EQ(value[0], half * (half - 1 + odd));
      const int right = (world.rank() + 1) % world.size();
      const int left = (world.rank() + world.size() - 1) % world.size();
      const Communicator twin = world.Duplicate();
      twin.Send(Bytes(1), right, 0);
      world.Send(Bytes(2), right, 0);
      EXPECT_EQ(ValueOf<int>(world.Receive(left, 0)), 2);
      EXPECT_EQ(ValueOf<int>(twin.Receive(left, 0)), 1);
    });
}

TEST_P(CommunicatorTest, AWaitMayBeShort) {
  Run(2, [](const Communicator& world) {
    Message message;
    if (world.rank() == 0) {
      EXPECT_FALSE(world.TryReceive(1, 3, message, 0.01));
      world.Send(Bytes(1), 1, 4);
      EXPECT_TRUE(world.TryReceive(1, 3, message, 10));
      EXPECT_EQ(ValueOf<int>(message), 7);
    } else {
      world.Receive(0, 4);
      world.Send(Bytes(7), 0, 3);
    }
  });
}

TEST_P(CommunicatorTest, AWaitThatLastsTooLongNamesBothRanksAndTheOperation) {
  try {
    Run(
        2,
        [](const Communicator& world) {
          if (world.rank() == 0) world.Receive(1, 5);
        },
        0.05);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    const std::string said = error.what();
    EXPECT_NE(said.find("rank 0 waited 0.05 s for rank 1 in receive"), said.npos) << said;
    EXPECT_NE(said.find("cluster.timeout"), said.npos) << said;
  }
}

TEST_P(CommunicatorTest, ATimeoutMayBeLongerThanAClockCounts) {
  Run(
      2,
      [](const Communicator& world) {
        constexpr std::chrono::milliseconds kLate(50);  // the other one waits first
        if (world.rank() == 1) {
          EXPECT_EQ(ValueOf<int>(world.Receive(0, 0)), 5);
        } else {
          std::this_thread::sleep_for(kLate);
          world.Send(Bytes(5), 1, 0);
        }
      },
      1e10);
}

TEST_P(CommunicatorTest, ARankThatFailsEndsTheOthersWaitsAndItsReasonIsTold) {
  for (int ranks : {2, 4}) try {
      const bool ran = Run(ranks, [](const Communicator& world) {
        if (world.rank() == world.size() - 1) throw UserError("the last has had enough");
        world.Barrier();
      });
      EXPECT_FALSE(ran) << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("the last has had enough"), std::string::npos)
          << error.what();
    }
}

}  // namespace yoke::communicator_test
