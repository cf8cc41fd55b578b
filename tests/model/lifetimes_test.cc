// Lifetimes: blocks of a common step never overlap, others do where it saves memory.
#include "model/lifetimes.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace yoke::lifetimes_test {

TEST(Lifetimes, LaysBlocksOfDifferentStepsOverEachOther) {
  Lifetimes lives;
  const int a = lives.Add(100, 0, 1), b = lives.Add(128, 2, 3), c = lives.Add(64, 1, 2);
  lives.Place();
  EXPECT_EQ(lives.offset(a), lives.offset(b));
  EXPECT_EQ(lives.offset(c), 128);
  EXPECT_EQ(lives.bytes(), 192);
  EXPECT_EQ(lives.sum(), 320);
}

TEST(Lifetimes, AnExtendedBlockKeepsItsPlace) {
  Lifetimes lives;
  const int a = lives.Add(64, 0, 0), b = lives.Add(64, 1, 1);
  lives.Extend(a, 1);
  lives.Extend(a, 0);  // takes nothing back
  lives.Place();
  EXPECT_NE(lives.offset(a), lives.offset(b));
}

struct Drawn {
  int block;
  int64_t bytes;
  int first, last;
};

/// Draws `count` blocks that live for up to 10 of `steps` steps, and places them.
std::vector<Drawn> DrawAndPlace(uint64_t seed, int count, int steps, Lifetimes& lives) {
  Random random{seed};
  std::vector<Drawn> drawn;
  for (int i = 0; i < count; ++i) {
    const int64_t bytes = static_cast<int64_t>(random.Below(5000));
    const int first = static_cast<int>(random.Below(steps));
    const int last = first + static_cast<int>(random.Below(10));
    drawn.push_back({lives.Add(bytes, first, last), bytes, first, last});
  }
  lives.Place();
  return drawn;
}

void ExpectNoOverlap(const std::vector<Drawn>& drawn, const Lifetimes& lives) {
  int overlaps = 0;
  for (const Drawn& a : drawn)
    for (const Drawn& b : drawn) {
      if (a.block >= b.block || a.last < b.first || b.last < a.first) continue;
      const int64_t at = lives.offset(a.block), other = lives.offset(b.block);
      overlaps += at + a.bytes > other && other + b.bytes > at;
    }
  EXPECT_EQ(overlaps, 0);
}

TEST(Lifetimes, NoTwoBlocksOfOneStepOverlap) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Lifetimes lives;
    ExpectNoOverlap(DrawAndPlace(seed, 60, 40, lives), lives);
    EXPECT_LT(lives.bytes(), lives.sum());
  }
}

TEST(Lifetimes, VeryManyBlocksArePlacedAsWell) {
  Lifetimes lives;
  ExpectNoOverlap(DrawAndPlace(1, 5000, 3000, lives), lives);
  EXPECT_LT(lives.bytes(), lives.sum() / 50);
}

}  // namespace yoke::lifetimes_test
