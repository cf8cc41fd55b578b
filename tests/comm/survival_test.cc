// Worlds over a wire that lose a process and go on.
#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "comm/support/threaded_wire.h"
#include "comm/wire_transport.h"

namespace yoke::survival_test {

/// The end of a process, which no code of it sees.
struct Killed {};

/// What processes share. One of them may die: then the wires of all others say so.
struct Shared : WireQueues {
  using WireQueues::WireQueues;
  int dead = -1;
  std::shared_ptr<Shared> smaller;
};

class MortalWire : public ThreadedWire {
 public:
  MortalWire(const std::shared_ptr<Shared>& shared, int rank)
      : ThreadedWire(*shared, rank), shared_(shared) {}
  std::unique_ptr<Wire> Survivors() override {
    const std::lock_guard lock(shared_->mutex);
    if (shared_->dead == rank()) throw Killed();
    if (!shared_->smaller) shared_->smaller = std::make_shared<Shared>(size() - 1);
    return std::make_unique<MortalWire>(shared_->smaller,
                                        rank() - (rank() > shared_->dead ? 1 : 0));
  }
  void Die() {
    const std::lock_guard lock(shared_->mutex);
    shared_->dead = rank();
  }

 private:
  void CheckAlive() const override {
    if (shared_->dead >= 0) throw RankLost("somebody is gone");
  }

  std::shared_ptr<Shared> shared_;
};

using Body = std::function<void(const Communicator& world, MortalWire& first)>;

/// Runs body on each of so many processes; returns how each ended: "", a sentence, or "killed".
std::vector<std::string> RunMortals(int ranks, bool survive, const Body& body) {
  const auto shared = std::make_shared<Shared>(ranks);
  std::vector<std::string> ends(ranks);
  std::vector<std::thread> threads;
  threads.reserve(ranks);
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      MortalWire wire(shared, rank);
      try {
        RunOverWire(wire, {.ranks = ranks, .timeout = 20, .survive = survive},
                    [&](const Communicator& world) { body(world, wire); });
      } catch (const WorldError& error) {
        ends[rank] = error.tell() ? "tells: " : "";
        ends[rank] += error.what();
      } catch (const Error& error) {
        ends[rank] = error.what();
      } catch (const Killed&) {
        ends[rank] = "killed";
      }
    });
  for (std::thread& thread : threads) thread.join();
  return ends;
}

[[noreturn]] void Die(MortalWire& wire) {
  wire.Die();
  throw RankLost("this process");
}

TEST(Survival, TheOthersGoOnInASmallerWorld) {
  std::vector<std::vector<int>> worlds(4);
  const auto ends = RunMortals(4, true, [&](const Communicator& world, MortalWire& first) {
    worlds[first.rank()].push_back(world.size());
    if (world.size() == 4 && world.rank() == 2) Die(first);
    std::vector<float> one(100, 1);
    world.AllReduce(one);
    EXPECT_EQ(one[7], 3);
    EXPECT_EQ(world.rank(), first.rank() - (first.rank() > 2 ? 1 : 0));
  });
  EXPECT_THAT(ends, testing::ElementsAre("", "", "killed", ""));
  EXPECT_THAT(worlds[0], testing::ElementsAre(4, 3));
  EXPECT_THAT(worlds[3], testing::ElementsAre(4, 3));
}

TEST(Survival, WaitsOfBackgroundThreadsEndToo) {
  const auto ends = RunMortals(3, true, [&](const Communicator& world, MortalWire& first) {
    const std::shared_ptr<void> thread = world.Spawn([](const Communicator& own) {
      if (own.size() == 3) own.Receive(kAnySource, 5);  // which nobody sends
    });
    if (world.size() == 3 && world.rank() == 0) Die(first);
    world.Barrier();
  });
  EXPECT_THAT(ends, testing::ElementsAre("killed", "", ""));
}

TEST(Survival, OnceABodyHasEndedALossEndsTheOthers) {
  std::atomic<int> calls = 0;
  const auto ends = RunMortals(3, true, [&](const Communicator& world, MortalWire& first) {
    ++calls;
    if (world.rank() == 0) return;  // well
    if (world.rank() == 2) {
      world.Sleep(0.02);
      Die(first);
    }
    world.Receive(2, 1);
  });
  EXPECT_THAT(ends, testing::ElementsAre("", "", "killed"));
  EXPECT_EQ(calls, 3);  // none again
}

TEST(Survival, WhereItIsNotWantedALossIsAFailure) {
  const auto ends = RunMortals(3, false, [&](const Communicator& world, MortalWire& first) {
    if (world.rank() == 0) Die(first);
    world.Barrier();
  });
  EXPECT_THAT(ends, testing::ElementsAre("killed", "tells: a process of the job is gone",
                                         "a process of the job is gone"));
}

TEST(Survival, AMistakeBesideALossEndsTheJob) {
  testing::internal::CaptureStderr();
  const auto ends = RunMortals(2, true, [&](const Communicator& world, MortalWire& first) {
    if (world.rank() == 0) Die(first);
    throw UserError("no such file");
  });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "yoke: rank 1: no such file\n");
  EXPECT_THAT(ends, testing::ElementsAre("killed", "aborted"));
}

}  // namespace yoke::survival_test
