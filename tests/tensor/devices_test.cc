// Devices: their names, how a machine's ranks share them, and what the environment asks for.
#include "tensor/devices.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace yoke::devices_test {

using testing::ElementsAre;
using Names = std::vector<std::string>;

/// The shares of all ranks of a machine.
std::vector<Names> Shares(const Names& names, int ranks, bool several) {
  std::vector<Names> shares;
  for (int rank = 0; rank < ranks; ++rank)
    shares.push_back(ShareOf(names, {.rank = rank, .size = ranks}, several));
  return shares;
}

const Names kTwo = {"emulated:0", "emulated:1"};

TEST(ShareOf, MoreRanksThanDevicesShareThemEvenly) {
  EXPECT_THAT(Shares(kTwo, 4, /*several=*/true),
              ElementsAre(Names{"emulated:0"}, Names{"emulated:0"}, Names{"emulated:1"},
                          Names{"emulated:1"}));
  EXPECT_THAT(Shares(kTwo, 3, /*several=*/false),
              ElementsAre(Names{"emulated:0"}, Names{"emulated:0"}, Names{"emulated:1"}));
}

TEST(ShareOf, FewerRanksHaveSeveralIfTheyTakeThem) {
  const Names three = {"emulated:5", "emulated:2", "emulated:0"};
  EXPECT_THAT(Shares(three, 2, /*several=*/true),
              ElementsAre(Names{"emulated:5"}, Names{"emulated:2", "emulated:0"}));
  EXPECT_THAT(Shares(three, 2, /*several=*/false),
              ElementsAre(Names{"emulated:5"}, Names{"emulated:2"}));
}

TEST(ShareOf, EachRankHasTheCpuAndADeviceOfEachKind) {
  const Names mixed = {"cpu", "emulated:0", "strict:0", "emulated:1"};
  EXPECT_THAT(
      Shares(mixed, 2, /*several=*/true),
      ElementsAre(Names{"cpu", "emulated:0", "strict:0"}, Names{"cpu", "strict:0", "emulated:1"}));
}

TEST(ShareOf, ASingleRankHasAll) {
  for (const bool several : {false, true}) EXPECT_THAT(Shares(kTwo, 1, several), ElementsAre(kTwo));
}

TEST(SharesOf, AreWhatRanksUse) {
  const DeviceShares own = SharesOf(kTwo, 2, /*several=*/false);
  EXPECT_THAT(own.used, ElementsAre("emulated:0", "emulated:1"));
  EXPECT_FALSE(own.shared);
  EXPECT_TRUE(SharesOf(kTwo, 3, /*several=*/false).shared);
  EXPECT_TRUE(SharesOf({"emulated:0"}, 2, /*several=*/true).shared);
  EXPECT_FALSE(SharesOf({"cpu"}, 2, /*several=*/true).shared);
  const DeviceShares some = SharesOf({"emulated:5", "emulated:2", "emulated:0"}, 2, false);
  EXPECT_THAT(some.used, ElementsAre("emulated:5", "emulated:2"));
  EXPECT_THAT(some.idle, ElementsAre("emulated:0"));
}

TEST(AskedDevices, AreSeparatedByCommas) {
  const auto asked = [](const char* text) {
    setenv("YOKE_DEVICES", text, 1);
    const Names names = AskedDevices();
    unsetenv("YOKE_DEVICES");
    return names;
  };
  EXPECT_THAT(asked(""), ElementsAre());
  EXPECT_THAT(asked("strict:0"), ElementsAre("strict:0"));
  EXPECT_THAT(asked("cpu,emulated:0"), ElementsAre("cpu", "emulated:0"));
}

}  // namespace yoke::devices_test
