// SideThread: jobs in order, offers between them, waits, and ends.
#include "strategy/side_thread.h"

#include <gtest/gtest.h>

#include <future>

#include "base/check.h"
#include "kernels/vectors.h"
#include "strategy/support/worlds.h"
#include "tensor/emulated.h"
#include "tensor/support/arrays.h"

namespace yoke::side_thread_test {

class SideThreads : public testing::TestWithParam<test::WorldKind> {};
INSTANTIATE_TEST_SUITE_P(Worlds, SideThreads, test::Worlds(),
                         [](const auto& info) { return std::string(info.param.name); });

std::vector<std::byte> AsMessage(int number) {
  const auto bytes = std::as_bytes(std::span(&number, 1));
  return {bytes.begin(), bytes.end()};
}

TEST_P(SideThreads, RunJobsInOrderAndWaitForAll) {
  GetParam().run(2, [](const Communicator& world) {
    std::vector<int> done;
    SideThread thread(world);
    thread.Begin();
    thread.Wait();  // nothing to wait for
    for (int round = 0; round < 3; ++round) {
      done.clear();
      for (int i = 0; i < 5; ++i)
        thread.Do([&done, i](SideThread::Endpoint& here) {
          std::vector<float> one = {1};
          here.world().AllReduce(one);
          done.push_back(i * static_cast<int>(one[0]));
        });
      thread.Wait();
      EXPECT_EQ(done, (std::vector<int>{0, 2, 4, 6, 8}));
      EXPECT_EQ(thread.traffic().messages_sent, 10 * (round + 1));
    }
    thread.Do([&done](SideThread::Endpoint&) { done.push_back(-1); });
    thread.Finish();
    EXPECT_EQ(done.back(), -1);
  });
}

TEST(SideThreadOnADevice, RunsAfterWhatWasEnqueuedAndBesideTheRest) {
  RunThreads({.ranks = 1}, [](const Communicator& world) {
    const auto device = NewEmulatedDevice(0, {});
    const Buffer x(*device, 8), y(*device, 8);
    SideThread thread(world, nullptr, *device);
    thread.Begin();
    std::promise<void> before, after;
    const auto block = [&device](std::promise<void>& gate) {
      device->stream().work_queue()->Enqueue([&gate] { gate.get_future().wait(); });
    };
    block(before);
    Fill(AllOf<float>(x), 3);
    thread.Do([&](SideThread::Endpoint&) { Add(AllOf<float>(y), AllOf<float>(x)); });
    block(after);
    before.set_value();
    thread.Wait();
    Scale(AllOf<float>(y), 2);
    after.set_value();
    EXPECT_EQ(ValuesOf(AllOf<float>(y)), (std::vector<float>{6, 6}));
    thread.Finish();
  });
}

TEST_P(SideThreads, HandleOffersOfOthers) {
  GetParam().run(3, [](const Communicator& world) {
    std::vector<int> sources;
    SideThread thread(world, [&sources](SideThread::Endpoint& here, const Message& offer) {
      sources.push_back(offer.source);
      here.world().Send(offer.bytes, offer.source, 0);
    });
    thread.Begin();
    if (world.rank() > 0) {
      thread.Do([](SideThread::Endpoint& here) {
        here.Offer(AsMessage(7), 0);
        EXPECT_EQ(here.world().Receive(0, 0).bytes, AsMessage(7));
      });
      thread.Wait();
      EXPECT_EQ(thread.traffic().messages_sent, 1);
    }
    world.Barrier();
    thread.Finish();
    EXPECT_EQ(sources.size(), world.rank() == 0 ? 2U : 0U);
    if (world.rank() == 0) {
      EXPECT_EQ(thread.traffic().messages_received, 2);
    }
  });
}

// Each rank's job waits for the other's answer, which the other's job gives while it waits; a job
// that is announced meanwhile runs afterwards.
TEST_P(SideThreads, AnswerEachOtherInsideJobs) {
  GetParam().run(2, [](const Communicator& world) {
    int answers = 0, after = 0;
    SideThread thread(world, [&answers](SideThread::Endpoint& here, const Message& offer) {
      if (offer.bytes.empty())
        here.Offer(AsMessage(1), offer.source);
      else
        ++answers;
    });
    thread.Begin();
    for (int round = 1; round <= 20; ++round) {
      thread.Do([&answers, round](SideThread::Endpoint& here) {
        here.Offer({}, 1 - here.world().rank());
        here.HandleOffersUntil([&answers, round] { return answers == round; });
      });
      thread.Do([&after](SideThread::Endpoint&) { ++after; });
      thread.Wait();
      EXPECT_EQ(after, round);
    }
    world.Barrier();
    thread.Finish();
    EXPECT_EQ(answers, 20);
  });
}

TEST_P(SideThreads, EndWithTheReasonOfAJobThatFails) {
  try {
    GetParam().run(2, [](const Communicator& world) {
      SideThread thread(world);
      thread.Begin();
      thread.Do([](SideThread::Endpoint& here) {
        if (here.world().rank() == 1) throw UserError("its own reason");
      });
      world.Barrier();
      thread.Wait();
      world.Barrier();
    });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_TRUE(std::string_view(error.what()).ends_with("its own reason")) << error.what();
  }
}

}  // namespace yoke::side_thread_test
