// How a world over a wire ends where somebody does not answer.
#include "comm/wire_transport.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <optional>

#include "comm/support/worlds.h"

namespace yoke::wire_transport_test {

/// The wire of one rank among others that never say a word.
class SilentWire : public Wire {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void Send(int, Packet) override {}
  bool Receive(int&, Packet&) override { return false; }
  bool Sending() override { return false; }
  std::unique_ptr<Wire> Survivors() override { return nullptr; }
  void Abort(int status) override { aborted = status; }
  std::optional<int> aborted;
};

std::string Ends(SilentWire& wire, double timeout, const WorldBody& body) {
  testing::internal::CaptureStderr();
  try {
    RunOverWire(wire, {.ranks = 2, .timeout = timeout, .farewell = 0.05}, body);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const WorldError&) {
  }
  return testing::internal::GetCapturedStderr();
}

TEST(WireTransport, ARankThatDoesNotAnswerEndsTheJobAndIsNamed) {
  SilentWire wire;
  const std::string said = Ends(wire, 0.05, [](const Communicator& world) { world.Receive(1, 3); });
  EXPECT_THAT(said, testing::HasSubstr("yoke: rank 0 waited 0.05 s for rank 1 in receive"));
  EXPECT_EQ(wire.aborted, 1);
}

TEST(WireTransport, ARankThatDoesNotEndIsNamedToo) {
  SilentWire wire;
  const std::string said = Ends(wire, 0.05, [](const Communicator&) {});
  EXPECT_THAT(said, testing::HasSubstr("for rank 1 at the end"));
  EXPECT_EQ(wire.aborted, 1);
}

TEST(WireTransport, AMistakeKeepsItsStatusThoughNobodyAnswers) {
  SilentWire wire;
  const std::string said =
      Ends(wire, 20, [](const Communicator&) { throw UserError("no such file"); });
  EXPECT_EQ(said, "yoke: no such file\n");
  EXPECT_EQ(wire.aborted, 2);
}

/// As MPI's own abort where the launcher is gone.
class StuckWire : public SilentWire {
 public:
  void Abort(int) override {
    for (;;) pause();
  }
};

TEST(WireTransportDeathTest, AnAbortThatHangsEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    StuckWire wire;
    RunOverWire(wire, {.ranks = 2, .timeout = 20, .farewell = 0.05},
                [](const Communicator&) { throw UserError("no such file"); });
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(2), "yoke: no such file\n");
}

TEST(WireTransport, AFailureOfARankAbove0NamesIt) {
  const auto said = [](const std::string& sentence) {
    try {
      RunOverThreadedWire(3, 20, [&](const Communicator& world) {
        if (world.rank() == 2) throw UserError(sentence);
        world.Barrier();
      });
    } catch (const WorldError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(said("no such file"), "rank 2: no such file");
  EXPECT_EQ(said("rank 2 has other data"), "rank 2 has other data");
}

TEST(WireTransport, OfSeveralFailuresTheLowestRanksIsTold) {
  for (int round = 0; round < 20; ++round) try {
      RunOverThreadedWire(3, 20, [](const Communicator& world) {
        throw UserError(  // none waits, so that each has a reason of its own
            "rank " + std::to_string(world.rank()));
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const WorldError& error) {
      EXPECT_STREQ(error.what(), "rank 0");
      EXPECT_EQ(error.exit_status(), 2);
    }
}

}  // namespace yoke::wire_transport_test
