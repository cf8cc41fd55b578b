// Tables: what FIFO and reservoir buckets keep, moves, threads that insert and query at once.
#include "lsh/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <thread>

#include "base/check.h"
#include "base/random.h"
#include "kernels/support/threads.h"

namespace yoke::tables_test {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(HashTables, BucketsHoldWhatWasInsertedUnderTheirKey) {
  HashTables tables({.tables = 2, .key_bits = 3, .bucket = 4});
  tables.Insert(std::vector<uint32_t>{5, 7}.data(), 10);
  tables.Insert(std::vector<uint32_t>{5, 0}.data(), 11);
  EXPECT_THAT(tables.Bucket(0, 5), UnorderedElementsAre(10, 11));
  EXPECT_THAT(tables.Bucket(1, 7), ElementsAre(10));
  EXPECT_THAT(tables.Bucket(1, 0), ElementsAre(11));
  EXPECT_THAT(tables.Bucket(1, 5), IsEmpty());
  EXPECT_EQ(tables.bytes(), 4 * (2 * 8 * 4 + 2 * 8));
  EXPECT_EQ(tables.bytes(), HashTables::BytesOf(tables.shape()));
  tables.Clear();
  EXPECT_THAT(tables.Bucket(0, 5), IsEmpty());
  EXPECT_THAT(tables.ids(), testing::Each(HashTables::kNoId));
}

TEST(HashTables, FullFifoBucketsLoseTheOldest) {
  for (int bucket : {3, 4}) {
    HashTables tables({.tables = 1, .key_bits = 0, .bucket = bucket});
    for (int32_t id = 0; id < 9; ++id) tables.Insert(std::vector<uint32_t>{0}.data(), id);
    const auto held = tables.Bucket(0, 0);
    EXPECT_EQ(std::set<int32_t>(held.begin(), held.end()),
              bucket == 3 ? (std::set{6, 7, 8}) : (std::set{5, 6, 7, 8}));
  }
}

TEST(HashTables, ReservoirsKeepEveryArrivalWithEqualProbability) {
  constexpr int kArrivals = 40, kSlots = 8, kBuckets = 1 << 12;
  HashTables tables({.tables = 1,
                     .key_bits = 12,
                     .bucket = kSlots,
                     .policy = BucketPolicy::kReservoir,
                     .seed = 3});
  std::vector<int> kept(kArrivals);
  for (uint32_t key = 0; key < kBuckets; ++key) {
    for (int32_t id = 0; id < kArrivals; ++id) tables.Insert(&key, id);
    for (int32_t id : tables.Bucket(0, key)) ++kept[id];
  }
  const double share = double(kSlots) / kArrivals;
  const double deviation = std::sqrt(kBuckets * share * (1 - share));
  for (int count : kept) EXPECT_NEAR(count, kBuckets * share, 5 * deviation);
}

/// One id, whose keys are given.
void Move(HashTables& tables, const uint32_t* old_keys, const uint32_t* new_keys, int32_t id) {
  const size_t keys = tables.shape().tables;
  std::vector<uint32_t> all((id + 1) * keys);
  std::copy_n(old_keys, keys, all.end() - static_cast<ptrdiff_t>(keys));
  tables.MoveMany(all.data(), new_keys, {&id, 1});
}

TEST(HashTables, ReservoirsThatLostAnIdAreFairToWhatTheyHoldAndWhatComes) {
  constexpr int kBefore = 10, kAfter = 10, kSlots = 4, kBuckets = 1 << 12;
  HashTables tables({.tables = 1,
                     .key_bits = 13,
                     .bucket = kSlots,
                     .policy = BucketPolicy::kReservoir,
                     .seed = 3});
  std::vector<int> kept(kSlots - 1 + kAfter);  // those left, oldest first, then those that came
  for (uint32_t key = 0; key < 2 * kBuckets; key += 2) {
    const uint32_t elsewhere = key + 1;
    for (int32_t id = 0; id < kBefore; ++id) tables.Insert(&key, id);
    Move(tables, &key, &elsewhere, tables.Bucket(0, key)[key / 2 % kSlots]);
    const auto held = tables.Bucket(0, key);
    const std::set<int32_t> left(held.begin(), held.end());
    ASSERT_EQ(left.size(), size_t{kSlots - 1});
    for (int32_t id = kBefore; id < kBefore + kAfter; ++id) tables.Insert(&key, id);
    for (int32_t id : tables.Bucket(0, key))
      ++kept[id < kBefore ? std::distance(left.begin(), left.find(id)) : id - kBefore + kSlots - 1];
  }
  const double share = double(kSlots) / double(kept.size());
  const double deviation = std::sqrt(kBuckets * share * (1 - share));
  for (int count : kept) EXPECT_NEAR(count, kBuckets * share, 5 * deviation);
}

std::vector<uint32_t> Keys(int64_t count, const TableShape& shape) {
  Random random{5};
  std::vector<uint32_t> keys(count * shape.tables);
  for (uint32_t& key : keys) key = uint32_t(random.Below(uint64_t{1} << shape.key_bits));
  return keys;
}

TEST(HashTables, ManyAtOnceEqualOneByOneForAnyNumberOfThreads) {
  for (BucketPolicy policy : {BucketPolicy::kFifo, BucketPolicy::kReservoir}) {
    const TableShape shape{.tables = 5, .key_bits = 4, .bucket = 6, .policy = policy};
    const auto keys = Keys(1000, shape);
    HashTables expected(shape);
    for (int32_t i = 0; i < 1000; ++i) expected.Insert(&keys[i * shape.tables], 7 + i);
    for (int team : {1, 2, 5, 16}) {
      const Threads scope(team);
      HashTables tables(shape);
      tables.InsertMany(keys.data(), 7, 1000);
      EXPECT_THAT(tables.ids(), testing::ElementsAreArray(expected.ids()));
      EXPECT_THAT(tables.counts(), testing::ElementsAreArray(expected.counts()));
    }
  }
}

TEST(HashTables, ManyMovesEqualOneAfterTheOtherForAnyNumberOfThreads) {
  for (BucketPolicy policy : {BucketPolicy::kFifo, BucketPolicy::kReservoir}) {
    const TableShape shape{.tables = 5, .key_bits = 4, .bucket = 6, .policy = policy};
    const auto keys = Keys(400, shape);
    HashTables expected(shape);
    for (int32_t id = 0; id < 300; ++id) expected.Insert(&keys[id * shape.tables], id);
    std::vector<int32_t> moved;
    for (int32_t id = 0; id < 300; id += 3) {
      Move(expected, &keys[id * shape.tables], &keys[(300 + id / 3) * shape.tables], id);
      moved.push_back(id);
    }
    for (int team : {1, 2, 5, 16}) {
      const Threads scope(team);
      HashTables tables(shape);
      tables.InsertMany(keys.data(), 0, 300);
      tables.MoveMany(keys.data(), &keys[300 * shape.tables], moved);
      EXPECT_THAT(tables.ids(), testing::ElementsAreArray(expected.ids()));
      EXPECT_THAT(tables.counts(), testing::ElementsAreArray(expected.counts()));
    }
  }
}

TEST(HashTables, PackedOnesHoldWhatInsertingInOrderLeaves) {
  for (BucketPolicy policy : {BucketPolicy::kFifo, BucketPolicy::kReservoir})
    for (int team : {1, 2, 5, 16}) {
      TableShape shape{.tables = 5, .key_bits = 4, .bucket = 6, .policy = policy};
      const auto keys = Keys(200, shape);
      HashTables expected(shape);
      expected.InsertMany(keys.data(), 0, 200);
      shape.rows = 200;
      HashTables packed(shape);
      std::vector<uint32_t> by_table(keys.size());
      for (size_t k = 0; k < keys.size(); ++k) by_table[k % 5 * 200 + k / 5] = keys[k];
      const Threads scope(team);
      for (int again = 0; again < 2; ++again) packed.Build(by_table.data());
      for (int table = 0; table < 5; ++table)
        for (uint32_t key = 0; key < 16; ++key)
          EXPECT_THAT(packed.Bucket(table, key),
                      testing::ElementsAreArray(expected.Bucket(table, key)));
      EXPECT_EQ(packed.Loads().fullest, 6);
      EXPECT_EQ(packed.Loads().mean, expected.Loads().mean);
    }
}

TEST(HashTables, PackedOnesTakeMemoryForIdsAndBucketsAlone) {
  const auto bytes = [](int64_t rows, int bucket) {
    return HashTables::BytesOf({.tables = 50, .key_bits = 18, .bucket = bucket, .rows = rows});
  };
  const int64_t buckets = 50 * 4 * ((1 << 18) + 1);
  EXPECT_EQ(bytes(670'091, 128), buckets + 50 * 4 * int64_t{670'091});
  EXPECT_EQ(bytes(670'091, 1024), bytes(670'091, 128));
  EXPECT_EQ(bytes(1000, 128), buckets + 50 * 4 * 1000);
  const HashTables tables({.tables = 2, .key_bits = 3, .bucket = 4, .rows = 10});
  EXPECT_EQ(tables.bytes(), 2 * 4 * (9 + 10));
  EXPECT_THAT(tables.Bucket(1, 7), IsEmpty());
}

TEST(HashTables, TellHowFullTheirBucketsAre) {
  HashTables tables({.tables = 1, .key_bits = 3, .bucket = 4});
  EXPECT_EQ(tables.Loads().mean, 0);
  for (int32_t id = 0; id < 6; ++id)
    tables.Insert(std::vector<uint32_t>{id < 5 ? 2U : 7U}.data(), id);
  EXPECT_EQ(tables.Loads().fullest, 4);
  EXPECT_EQ(tables.Loads().mean, 2.5);
}

TEST(HashTables, MovedIdsLeaveTheirOldBuckets) {
  HashTables tables({.tables = 2, .key_bits = 2, .bucket = 3});
  for (int32_t id = 0; id < 4; ++id) tables.Insert(std::vector<uint32_t>{1, 2}.data(), id);
  Move(tables, std::vector<uint32_t>{1, 2}.data(), std::vector<uint32_t>{3, 2}.data(), 2);
  EXPECT_THAT(tables.Bucket(0, 1), ElementsAre(1, 3));  // 0 had gone as the oldest
  EXPECT_THAT(tables.Bucket(0, 3), ElementsAre(2));
  EXPECT_THAT(tables.Bucket(1, 2), UnorderedElementsAre(1, 2, 3));
  for (int32_t id : {8, 9}) tables.Insert(std::vector<uint32_t>{1, 0}.data(), id);
  EXPECT_THAT(tables.Bucket(0, 1), UnorderedElementsAre(3, 8, 9));  // 1 was the oldest
  Move(tables, std::vector<uint32_t>{1, 1}.data(), std::vector<uint32_t>{0, 1}.data(), 77);
  EXPECT_THAT(tables.Bucket(0, 1), UnorderedElementsAre(3, 8, 9));  // 77 was not there
  EXPECT_THAT(tables.Bucket(0, 0), ElementsAre(77));
}

TEST(HashTables, CopiedStateGoesOnIdentically) {
  const TableShape shape{
      .tables = 2, .key_bits = 2, .bucket = 4, .policy = BucketPolicy::kReservoir};
  const auto keys = Keys(100, shape);
  HashTables first(shape), second(shape);
  first.InsertMany(keys.data(), 0, 60);
  std::ranges::copy(first.ids(), second.ids().begin());
  std::ranges::copy(first.counts(), second.counts().begin());
  for (HashTables* tables : {&first, &second}) tables->InsertMany(&keys[120], 60, 40);
  EXPECT_THAT(second.ids(), testing::ElementsAreArray(first.ids()));
}

TEST(HashTables, ThreadsInsertAndQueryAtTheSameTime) {
  constexpr int kWriters = 3, kEach = 2000;
  const TableShape shape{.tables = 4, .key_bits = 3, .bucket = 16};
  const auto keys = Keys(int64_t{kWriters} * kEach, shape);
  HashTables tables(shape);
  std::vector<std::jthread> team;
  team.reserve(kWriters);
  for (int writer = 0; writer < kWriters; ++writer)
    team.emplace_back([&, writer] {
      for (int32_t i = writer * kEach; i < (writer + 1) * kEach; ++i)
        tables.Insert(&keys[i * shape.tables], i);
    });
  std::atomic<int> strangers = 0;
  for (int reader = 0; reader < 2; ++reader)
    team.emplace_back([&] {
      for (uint32_t n = 0; n < 4000; ++n)
        for (const int32_t& slot : tables.Bucket(int(n % 4), n % 8)) {
          const int32_t id = HashTables::Read(slot);
          strangers += id != HashTables::kNoId && keys[id * shape.tables + n % 4] != n % 8;
        }
    });
  team.clear();
  EXPECT_EQ(strangers, 0);
  EXPECT_THAT(tables.ids(), testing::Each(testing::Ge(0)));  // 6000 x 4 arrivals at 512 slots
  int64_t arrivals = 0;
  for (int32_t count : tables.counts()) arrivals += count;
  EXPECT_EQ(arrivals, int64_t{kWriters} * kEach * shape.tables);
}

TEST(HashTables, RefuseShapesThatCannotBe) {
  EXPECT_THROW(HashTables({.tables = 0}), UserError);
  EXPECT_THROW(HashTables({.key_bits = 25}), UserError);
  EXPECT_THROW(HashTables({.bucket = 0}), UserError);
}

}  // namespace yoke::tables_test
