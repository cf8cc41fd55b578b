// easgd_sync2: the bits of easgd_sync1, and nothing that crosses between a device and its host.
#include <gtest/gtest.h>

#include "strategy/support/lab.h"
#include "strategy/support/worlds.h"

namespace yoke::easgd_sync2_test {

using test::Lab;

class EasgdSync2 : public testing::TestWithParam<test::WorldKind> {};
INSTANTIATE_TEST_SUITE_P(Worlds, EasgdSync2, test::Worlds(),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(EasgdSync2, HasTheBitsOfTheFirst) {
  for (int ranks : {2, 3, 5})
    GetParam().run(ranks, [](const Communicator& world) {
      const auto lab = [&world](const char* strategy) {
        return Lab(world, {.strategy = strategy,
                           .options = {{"period", 2}},
                           .rule = "momentum",
                           .gradient = test::PullToRank});
      };
      Lab first = lab("easgd_sync1"), second = lab("easgd_sync2");
      for (int step = 0; step < 6; ++step) {
        first.Step();
        second.Step();
        ASSERT_EQ(first.Values(), second.Values()) << "step " << step;
        ASSERT_EQ(first.Model(), second.Model()) << "step " << step;
      }
    });
}

}  // namespace yoke::easgd_sync2_test
