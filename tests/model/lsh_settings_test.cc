// LshSettings: what follows from a hashed layer's size, what options put in its place, and what is
// refused.
#include "model/layers/lsh_linear/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/check.h"
#include "base/registry.h"
#include "lsh/family.h"
#include "model/layer.h"

namespace yoke::layer::lsh_settings_test {

using ::testing::HasSubstr;

constexpr int64_t kInputs = 12;

LshSettings Settings(int64_t outputs, Table given = {}) {
  given.emplace_back("outputs", outputs);
  const LayerEntry& entry = FindEntry(layers(), "layer", "lsh_linear");
  return SettingsOf(Options("model.layer[1]", Value(std::move(given)), entry.options), kInputs);
}

/// What a size gives, worked out by hand.
struct Derived {
  int64_t outputs, hard, random;
  int hashes, bucket;
  int64_t rehash_every;
};
// 64 times the fourth root of the outputs is 202.4, 970.8, 1,831.1 and 2,706.9.
constexpr Derived kDerived[] = {{100, 33, 67, 2, 50, 50},
                                {52'946, 323, 648, 11, 50, 50},
                                {670'091, 610, 1'221, 15, 40, 81},
                                {3'200'000, 902, 1'805, 17, 48, 390}};

TEST(LshSettings, FollowFromTheSize) {
  for (const Derived& d : kDerived) {
    SCOPED_TRACE(d.outputs);
    const LshSettings s = Settings(d.outputs);
    EXPECT_EQ(s.inputs, kInputs);
    EXPECT_EQ(s.outputs, d.outputs);
    EXPECT_EQ(s.hard, d.hard);
    EXPECT_EQ(s.random, d.random);
    EXPECT_EQ(s.hashes, d.hashes);
    EXPECT_EQ(s.tables, 24);
    EXPECT_EQ(s.bucket, d.bucket);
    EXPECT_EQ(s.rehash_every, d.rehash_every);
    EXPECT_EQ(s.group, 64);
    EXPECT_EQ(s.policy, BucketPolicy::kFifo);
    EXPECT_TRUE(s.hashed());
  }
}

TEST(LshSettings, BucketsHold16To32IdsAndHaveRoomForTwice) {
  for (const int64_t outputs :
       {32, 63, 64, 65, 100, 1023, 1024, 52'946, 670'091, 3'200'000, 536'870'911}) {
    const LshSettings s = Settings(outputs);
    const double load = double(outputs) / std::exp2(s.hashes);
    EXPECT_GE(load, 16) << outputs;
    EXPECT_LT(load, 32) << outputs;
    EXPECT_EQ(s.bucket, 2 * int64_t(load)) << outputs;
  }
}

TEST(LshSettings, KeysOfAnyFamilyFit) {
  for (const HashFamilyEntry& family : hash_families())
    for (const int64_t outputs : {3, 31, 100, 670'091, 1'000'000'000}) {
      const LshSettings s = Settings(outputs, {{"family", family.name}});
      EXPECT_GE(s.hashes, 1) << family.name << " " << outputs;
      EXPECT_LE(s.hashes * family.bits, s.slot_bits) << family.name << " " << outputs;
      EXPECT_GE(s.bucket, 1) << family.name << " " << outputs;
      EXPECT_LE(s.bucket, 1 << 16) << family.name << " " << outputs;
    }
  // Hashes of several bits: as many whole ones as do not make more buckets than simhash.
  const int bits = FindEntry(hash_families(), "hash family", "dwta").bits;
  EXPECT_GT(bits, 1);
  EXPECT_EQ(Settings(670'091, {{"family", "dwta"}}).hashes, 15 / bits);
}

TEST(LshSettings, AShareReplacesTheFourthRoot) {
  const LshSettings s = Settings(670'091, {{"share", 0.01}});
  EXPECT_EQ(s.wanted(), 6'701);
  EXPECT_EQ(s.hard, 2'233);
  EXPECT_EQ(s.hashes, 15);
  EXPECT_EQ(Settings(670'091, {{"share", 1.0}}).wanted(), 670'091);
  EXPECT_EQ(Settings(100, {{"share", 1e-6}}).wanted(), 1);
}

TEST(LshSettings, OptionsReplaceWhatFollows) {
  LshSettings s = Settings(670'091, {{"hard", 31}});
  EXPECT_EQ(s.hard, 31);
  EXPECT_EQ(s.random, 1'800);
  s = Settings(670'091, {{"random", 500}});
  EXPECT_EQ(s.hard, 610);
  EXPECT_EQ(s.random, 500);
  s = Settings(670'091, {{"hashes", 12},
                         {"tables", 50},
                         {"group", 8},
                         {"rehash_every", 7},
                         {"bucket_policy", "reservoir"}});
  EXPECT_EQ(s.hashes, 12);
  EXPECT_EQ(s.bucket, 2 * (670'091 / 4'096));  // follows from the hashes that were given
  EXPECT_EQ(s.tables, 50);
  EXPECT_EQ(s.group, 8);
  EXPECT_EQ(s.rehash_every, 7);
  EXPECT_EQ(s.policy, BucketPolicy::kReservoir);
  EXPECT_EQ(Settings(670'091, {{"bucket", 9}}).bucket, 9);
}

TEST(LshSettings, UniformDrawsAllAndHasNoTables) {
  const LshSettings s = Settings(670'091, {{"sampler", "uniform"}});
  EXPECT_FALSE(s.hashed());
  EXPECT_EQ(s.hard, 0);
  EXPECT_EQ(s.random, 1'831);
  EXPECT_EQ(Settings(670'091, {{"sampler", "uniform"}, {"share", 0.01}}).random, 6'701);
}

TEST(LshSettings, UpdatesAreLockFreeInThePapersForm) {
  EXPECT_FALSE(Settings(100).lock_free);
  EXPECT_FALSE(Settings(100, {{"group", 1}}).lock_free);
  EXPECT_TRUE(Settings(100, {{"group", 1}, {"updates", "lock_free"}}).lock_free);
  EXPECT_TRUE(Settings(100, {{"form", "paper"}}).lock_free);
  EXPECT_FALSE(Settings(100, {{"form", "paper"}, {"group", 8}}).lock_free);
  EXPECT_FALSE(Settings(100, {{"form", "paper"}, {"updates", "merged"}}).lock_free);
}

TEST(LshSettings, ExplainThemselves) {
  const std::string text = Explain(Settings(670'091));
  EXPECT_THAT(text, HasSubstr("1831 of 670091"));
  EXPECT_THAT(text, HasSubstr("K 15"));
  EXPECT_THAT(text, HasSubstr("buckets of 40"));
  EXPECT_THAT(Explain(Settings(100, {{"sampler", "uniform"}})), HasSubstr("at random"));
}

TEST(LshSettings, OnlyDenseInputIsUpdatedLockFree) {
  const LayerEntry& entry = FindEntry(layers(), "layer", "lsh_linear");
  const Options paper("model.layer[1]", Value(Table{{"outputs", 100}, {"form", "paper"}}),
                      entry.options);
  const auto explained = [&](const Edge& input) {
    return entry.make(paper, {.name = "out", .input = input, .index = 1})->Explain();
  };
  EXPECT_THAT(explained({.shape = {kInputs}}), HasSubstr("lock-free updates"));
  EXPECT_THAT(explained({.shape = {kInputs}, .sparse = true}), HasSubstr("merged updates"));
  EXPECT_THAT(explained({.shape = {kInputs}, .active = 3}), HasSubstr("merged updates"));
}

std::string Refusal(const Table& given) {
  try {
    Settings(1'000, given);
  } catch (const UserError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(LshSettings, RefusalsNameTheOption) {
  const Table refused = {{"share", 0.0},       {"share", 1.5},
                         {"sampler", "topk"},  {"family", "minhash"},
                         {"hashes", 0},        {"hashes", 257},
                         {"slots", 1},         {"slots", 3000},
                         {"slots", 1 << 25},   {"tables", 0},
                         {"tables", 5000},     {"bucket", 0},
                         {"bucket", 70000},    {"bucket_policy", "newest"},
                         {"group", 0},         {"hard", -1},
                         {"hard", 0},          {"random", -1},
                         {"rehash", "never"},  {"rehash_every", 0},
                         {"redraw_every", -1}, {"rehash_share", 1.5}};
  for (const auto& option : refused)
    EXPECT_THAT(Refusal({option}), HasSubstr("model.layer[1]." + option.first));
  EXPECT_THAT(Refusal({{"hashes", 3}, {"slots", 16}}), HasSubstr("2^3 keys"));
  EXPECT_THAT(Refusal({{"sampler", "uniform"}, {"random", 0}}), HasSubstr("random are both 0"));
  EXPECT_THAT(Refusal({{"rehashes", 3}}), HasSubstr("hashes"));
}

TEST(LshSettings, RefuseWhatWouldDoNothing) {
  const Table of_tables = {{"hard", 5},   {"hashes", 4},       {"slots", 2},   {"tables", 4},
                           {"bucket", 4}, {"rehash_every", 4}, {"fill", false}};
  for (const auto& option : of_tables)
    EXPECT_THAT(Refusal({{"sampler", "uniform"}, option}),
                HasSubstr("model.layer[1]." + option.first));
  EXPECT_THAT(Refusal({{"threshold", 3}}), HasSubstr("model.layer[1].threshold"));
  EXPECT_THAT(Refusal({{"updates", "lock_free"}}), HasSubstr("model.layer[1].updates"));
  EXPECT_THAT(Refusal({{"correct_from", 3}}), HasSubstr("model.layer[1].correct_from"));
  EXPECT_THAT(Refusal({{"correct", true}, {"fill", false}}), HasSubstr("model.layer[1].correct"));
  const Table without_share[] = {{{"hard", 5}, {"fill", false}},
                                 {{"hard", 5}, {"form", "paper"}},
                                 {{"hard", 5}, {"random", 5}},
                                 {{"sampler", "uniform"}, {"random", 5}}};
  for (Table given : without_share) {
    EXPECT_EQ(Refusal(given), "nothing was refused");
    given.emplace_back("share", 0.1);
    EXPECT_THAT(Refusal(given), HasSubstr("model.layer[1].share gives defaults"));
  }
  EXPECT_THAT(Refusal({{"form", "paper"}, {"sampler", "top_k"}, {"group", 8}, {"fill", true}}),
              HasSubstr("model.layer[1].form"));
  EXPECT_THAT(Refusal({{"form", "paper"}, {"sampler", "uniform"}, {"group", 8}}),
              HasSubstr("model.layer[1].form"));
}

int KeyBits(int64_t outputs, const Table& given) {
  return ShapeOf(Settings(outputs, given)).key_bits;
}

TEST(LshSettings, KeysOfUpTo24BitsHaveASlotEach) {
  EXPECT_EQ(KeyBits(670'091, {{"hashes", 20}}), 20);
  EXPECT_EQ(KeyBits(670'091, {{"hashes", 24}}), 24);
  EXPECT_EQ(KeyBits(670'091, {{"hashes", 25}}), 18);
  EXPECT_EQ(Settings(670'091, {{"hashes", 19}}).bucket, 2);
  EXPECT_EQ(Settings(670'091, {{"hashes", 25}}).bucket, 4);
  EXPECT_EQ(KeyBits(670'091, {{"hashes", 24}, {"slots", 1 << 12}}), 12);
  // Two sets of four tables of 2^24 buckets, each 32 numbers of 4 bytes, are 16 GiB.
  EXPECT_EQ(KeyBits(670'091, {{"hashes", 24}, {"tables", 4}, {"bucket", 31}}), 24);
  EXPECT_EQ(KeyBits(670'091, {{"hashes", 24}, {"tables", 4}, {"bucket", 32}}), 18);
}

TEST(LshSettings, VeryManyOutputsFoldWideKeysIntoMoreSlots) {
  EXPECT_EQ(KeyBits(8'388'607, {{"hashes", 60}}), 18);
  EXPECT_EQ(KeyBits(8'388'608, {{"hashes", 60}}), 19);
  EXPECT_EQ(KeyBits(33'554'431, {{"family", "dwta"}, {"hashes", 20}}), 18);
  EXPECT_EQ(KeyBits(33'554'432, {{"family", "dwta"}, {"hashes", 20}}), 21);
  EXPECT_EQ(KeyBits(16'777'215, {{"family", "doph"}, {"hashes", 20}}), 18);
  EXPECT_EQ(KeyBits(16'777'216, {{"family", "doph"}, {"hashes", 20}}), 20);
}

TEST(LshSettings, WideKeysAreFoldedIntoPackedTables) {
  const Table paper = {{"family", "dwta"}, {"hashes", 8}, {"tables", 50}, {"bucket", 128}};
  TableShape shape = ShapeOf(Settings(670'091, paper));
  EXPECT_EQ(shape.key_bits, 18);
  EXPECT_EQ(shape.rows, 670'091);
  Table given = paper;
  given.emplace_back("slots", 1 << 12);
  EXPECT_EQ(ShapeOf(Settings(670'091, given)).key_bits, 12);
  given = paper;
  given.emplace_back("rehash_touched", true);
  EXPECT_FALSE(ShapeOf(Settings(670'091, given)).packed()) << "rows move between buckets";
  shape = ShapeOf(Settings(670'091));
  EXPECT_EQ(shape.key_bits, 15);
  EXPECT_FALSE(shape.packed());
  EXPECT_EQ(Settings(670'091, {{"hashes", 256}}).hashes, 256);
}

TEST(LshSettings, WithoutFillOnlyTablesFind) {
  LshSettings s = Settings(670'091, {{"fill", false}});
  EXPECT_EQ(s.hard, 1'831);
  EXPECT_EQ(s.random, 0);
  EXPECT_THAT(Explain(s), HasSubstr("up to 1831 of 670091"));
  s = Settings(670'091, {{"fill", false}, {"hard", 40}, {"random", 5}});
  EXPECT_EQ(s.hard, 40);
  EXPECT_EQ(s.random, 5);
  EXPECT_TRUE(Settings(670'091).fill);
}

TEST(LshSettings, SayWhereTablesFindLittle) {
  Table paper = {
      {"form", "paper"}, {"family", "dwta"}, {"hashes", 8}, {"tables", 50}, {"share", 0.005}};
  EXPECT_THAT(Explain(Settings(670'091, paper)), HasSubstr("about 178 of up to 3350 found"));
  EXPECT_THAT(AdviceOn(Settings(670'091, paper)), HasSubstr("about 178 of the 3350 outputs"));
  EXPECT_THAT(AdviceOn(Settings(670'091, paper)), HasSubstr("set slots = 8192"));
  paper.emplace_back("slots", 8192);
  EXPECT_EQ(AdviceOn(Settings(670'091, paper)), "");
  EXPECT_EQ(AdviceOn(Settings(670'091)), "");
  EXPECT_EQ(AdviceOn(Settings(670'091, {{"sampler", "uniform"}})), "");
}

TEST(LshSettings, ThePapersFormSetsKeysThatAreNotGiven) {
  const LshSettings s = Settings(670'091, {{"form", "paper"}});
  EXPECT_EQ(s.sampler, "vanilla");
  EXPECT_EQ(s.group, 1);
  EXPECT_FALSE(s.fill);
  EXPECT_EQ(s.random, 0);
  EXPECT_EQ(Settings(670'091, {{"form", "paper"}, {"sampler", "top_k"}}).sampler, "top_k");
  const LshSettings given = Settings(670'091, {{"form", "paper"}, {"group", 8}, {"fill", true}});
  EXPECT_EQ(given.sampler, "vanilla");
  EXPECT_EQ(given.group, 8);
  EXPECT_TRUE(given.fill);
  EXPECT_GT(given.random, 0);
  EXPECT_THAT(Refusal({{"form", "published"}}), HasSubstr("model.layer[1].form"));
}

TEST(LshSettings, CountTheEpochOfTheCorrectionFromOne) {
  EXPECT_EQ(Settings(1'000, {{"correct", true}}).correct_from, 1);
  EXPECT_EQ(Settings(1'000, {{"correct", true}, {"correct_from", 3}}).correct_from, 3);
  for (const Value& epoch : {Value(0), Value(1.5)})
    EXPECT_THAT(Refusal({{"correct", true}, {"correct_from", epoch}}),
                HasSubstr("model.layer[1].correct_from"));
}

TEST(LshSettings, ThresholdIsOfItsSampler) {
  EXPECT_EQ(Settings(1'000, {{"sampler", "threshold"}}).threshold, 2);
  EXPECT_EQ(Settings(1'000, {{"sampler", "threshold"}, {"threshold", 5}}).threshold, 5);
  EXPECT_THAT(Refusal({{"sampler", "threshold"}, {"threshold", 0}}),
              HasSubstr("model.layer[1].threshold"));
}

}  // namespace yoke::layer::lsh_settings_test
