// Threads that a rank spawns, over every kind of world: they speak for it, with it, and end with
// it.
#include "comm/spawned.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "base/check.h"
#include "comm/support/values.h"
#include "comm/support/worlds.h"

namespace yoke::spawned_test {

class SpawnedTest : public testing::TestWithParam<WorldKind> {
 protected:
  static bool Run(int ranks, const WorldBody& body) {
    constexpr double kTimeout = 20;
    return GetParam().run(ranks, kTimeout, body);
  }
};
INSTANTIATE_TEST_SUITE_P(Worlds, SpawnedTest, testing::ValuesIn(WorldKinds()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(SpawnedTest, BackgroundThreadsSpeakForTheirRank) {
  for (int ranks : {2, 3})
    Run(ranks, [](const Communicator& world) {
      std::atomic<int> served = 0;
      {
        const auto server = world.Spawn([&served](const Communicator& own) {
          if (own.rank() != 0) return own.Send(Bytes(own.rank()), 0, 1);
          for (int i = 1; i < own.size(); ++i) served += own.Receive(kAnySource, 1).source;
        });
        std::vector<float> values(100, 1);
        world.AllReduce(values);  // meanwhile
        EXPECT_EQ(values[99], world.size());
      }
      EXPECT_EQ(served, world.rank() == 0 ? world.size() * (world.size() - 1) / 2 : 0);
    });
}

TEST_P(SpawnedTest, SeveralThreadsOfARankWaitAtOnce) {
  Run(2, [](const Communicator& world) {
    constexpr int kRounds = 200;
    const auto echo = [](const Communicator& own) {
      for (int i = 0; i < kRounds; ++i) {
        if (own.rank() == 0) own.Send(Bytes(i), 1, 0);
        EXPECT_EQ(ValueOf<int>(own.Receive(1 - own.rank(), 0)), i);
        if (own.rank() == 1) own.Send(Bytes(i), 0, 0);
      }
    };
    const auto one = world.Spawn(echo), two = world.Spawn(echo), three = world.Spawn(echo);
    echo(world);
  });
}

TEST_P(SpawnedTest, AThreadSpeaksWithItsOwner) {
  Run(2, [](const Communicator& world) {
    const Communicator channel = world.Duplicate();
    const auto doubler = world.Spawn([&channel](const Communicator& own) {
      const Communicator inside = channel.For(own);
      for (;;) {
        const Message question = inside.Receive(kAnySource, 1);
        const int number = ValueOf<int>(question);
        if (number == 0) return;
        inside.Send(Bytes(2 * number), question.source, 2);
      }
    });
    for (int rank : {0, 1}) {
      channel.Send(Bytes(10 + rank), rank, 1);
      EXPECT_EQ(ValueOf<int>(channel.Receive(rank, 2)), 20 + 2 * rank);
    }
    channel.Barrier();
    channel.Send(Bytes(0), world.rank(), 1);
  });
}

TEST_P(SpawnedTest, AThreadEndsWhereItsOwnerFails) {
  const auto run = [this] {
    Run(2, [](const Communicator& world) {
      const auto thread = world.Spawn([](const Communicator& own) { own.Receive(1, 9); });
      if (world.rank() == 0) throw UserError("the owner's reason");
      world.Receive(0, 1);
    });
  };
  try {
    run();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "the owner's reason");
    EXPECT_EQ(error.exit_status(), 2);
  }
}

}  // namespace yoke::spawned_test
