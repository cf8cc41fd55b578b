// LshState: when tables are built anew, what becomes of tables of other hash functions, threads
// that share one, and the search by its tables.
#include "model/layers/lsh_linear/state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"

namespace yoke::layer::lsh_state_test {

constexpr int64_t kInputs = 8, kOutputs = 50;

LshSettings Settings(const std::string& rehash, int64_t every) {
  return {.inputs = kInputs,
          .outputs = kOutputs,
          .sampler = "top_k",
          .family = "simhash",
          .hashes = 3,
          .tables = 4,
          .slot_bits = 18,
          .bucket = 32,
          .group = 4,
          .hard = 5,
          .rehash = rehash,
          .rehash_every = every,
          .rehash_growth = 0.5,
          .rehash_share = 0.1};
}

std::vector<float> Weights(uint64_t draw) {
  Random random{draw};
  std::vector<float> weights(kInputs * kOutputs);
  for (float& w : weights) w = static_cast<float>(random.Uniform(-1, 1));
  return weights;
}

/// The steps, from 1, in which tables were built.
std::vector<int> BuildSteps(LshState& state, int steps, int moves_at = 0) {
  std::vector<int> built;
  for (int step = 1; step <= steps; ++step) {
    const int64_t before = state.rebuilds();
    state.Prepare({.data = Weights(moves_at > 0 && step >= moves_at ? 2 : 1).data()}, 7);
    if (state.rebuilds() > before) built.push_back(step);
  }
  return built;
}

TEST(LshState, FixedBuildsEverySoManySteps) {
  LshState state(Settings("fixed", 4));
  EXPECT_EQ(BuildSteps(state, 14), (std::vector<int>{1, 5, 9, 13}));
}

TEST(LshState, GrowingWaitsLongerEachTime) {
  LshState state(Settings("growing", 4));
  // Intervals of 4 e^(t / 2): 4, 6.59, 10.9, without their fractions.
  EXPECT_EQ(BuildSteps(state, 25), (std::vector<int>{1, 5, 11, 21}));
}

TEST(LshState, ChangedWaitsUntilCodesMoved) {
  LshState state(Settings("changed", 3));
  EXPECT_EQ(BuildSteps(state, 20, 9), (std::vector<int>{1, 10}));
}

/// What a state writes into a checkpoint, put into another.
void HandOver(LshState& from, LshState& to) {
  const auto source = from.Tensors(), target = to.Tensors();
  ASSERT_EQ(source.size(), target.size());
  for (size_t i = 0; i < source.size(); ++i) {
    ASSERT_EQ(source[i].shape, target[i].shape) << source[i].name;
    std::memcpy(target[i].data, source[i].data,
                static_cast<size_t>(source[i].shape.Count() * SizeOf(source[i].type)));
  }
  to.Restored();
}

TEST(LshState, TablesOfOtherFunctionsAreBuiltAnew) {
  LshSettings other = Settings("fixed", 100);
  other.family = "wta", other.hashes = 1;  // 3 bits, like 3 hashes of simhash
  LshState before(other), resumed(Settings("fixed", 100)), fresh(Settings("fixed", 100));
  before.Prepare({.data = Weights(1).data()}, 7);
  HandOver(before, resumed);
  resumed.Prepare({.data = Weights(1).data()}, 7);
  fresh.Prepare({.data = Weights(1).data()}, 7);
  for (int table = 0; table < 4; ++table)
    for (uint32_t key = 0; key < 8; ++key) {
      const auto a = resumed.tables().Bucket(table, key), b = fresh.tables().Bucket(table, key);
      EXPECT_EQ(std::vector<int32_t>(a.begin(), a.end()), std::vector<int32_t>(b.begin(), b.end()));
    }
  LshState same(Settings("fixed", 100));
  HandOver(fresh, same);
  EXPECT_EQ(BuildSteps(same, 5), std::vector<int>()) << "its own tables serve on";
}

TEST(LshState, PackedTablesHoldTheSameIds) {
  LshSettings roomy = Settings("fixed", 4), tight = roomy;
  roomy.bucket = 2000, tight.bucket = 25;  // no bucket is full
  ASSERT_TRUE(ShapeOf(roomy).packed());
  ASSERT_FALSE(ShapeOf(tight).packed());
  LshState packed(roomy), fixed(tight);
  for (int step = 1; step <= 9; ++step) {
    const std::vector<float> weights = Weights(step);
    packed.Prepare({.data = weights.data()}, 7), fixed.Prepare({.data = weights.data()}, 7);
    for (int table = 0; table < 4; ++table)
      for (uint32_t key = 0; key < 8; ++key)
        EXPECT_TRUE(std::ranges::equal(packed.tables().Bucket(table, key),
                                       fixed.tables().Bucket(table, key)));
  }
}

/// Each row is in the buckets of its keys, and nowhere else.
void ExpectHoldsRows(const LshTables& now, const std::vector<float>& weights) {
  std::vector<uint32_t> keys(4 * kOutputs);
  now.hasher->Keys(weights.data(), kOutputs, kInputs, keys.data());
  for (int table = 0; table < 4; ++table)
    for (uint32_t key = 0; key < 8; ++key) {
      std::set<int32_t> expected;
      for (int32_t id = 0; id < kOutputs; ++id)
        if (keys[id * 4 + table] == key) expected.insert(id);
      const auto bucket = now.tables->Bucket(table, key);
      EXPECT_EQ(std::set(bucket.begin(), bucket.end()), expected);
      EXPECT_EQ(bucket.size(), expected.size());
    }
}

/// Training steps of one of several threads; returns whether it found only rows.
bool TrainBeside(LshState& state, int steps) {
  const std::vector<float> weights = Weights(1);
  const std::vector<int32_t> touched = {1, 2, 3};
  bool good = true;
  for (int step = 0; step < steps; ++step) {
    const LshTables now = state.Prepare({.data = weights.data()}, 7);
    std::vector<uint32_t> keys(4);
    now.hasher->Keys(weights.data() + step % kOutputs * kInputs, 1, kInputs, keys.data());
    std::this_thread::yield();  // others may begin the next tables
    for (int table = 0; table < 4; ++table)
      for (const int32_t& slot : now.tables->Bucket(table, keys[table])) {
        const int32_t id = HashTables::Read(slot);
        good &= id >= HashTables::kNoId && id < kOutputs;
      }
    state.Touch(touched);
    state.Count({.sets = 1, .found = 3});
  }
  return good;
}

TEST(LshState, BeginsAnewIfItsMemoryWasRefused) {
  LshSettings settings = Settings("fixed", 4);
  settings.outputs = int64_t{1} << 50, settings.tables = 1 << 12;  // keys beyond any memory
  settings.bucket = 1, settings.rehash_touched = true;
  LshState state(settings);
  for (int i = 0; i < 2; ++i) EXPECT_THROW(state.Tensors(), std::length_error);
}

TEST(LshState, RedrawsTouchedRowsIntoASecondSet) {
  LshSettings settings = Settings("fixed", 2);
  settings.rehash_touched = true, settings.redraw_every = 2;
  LshState state(settings);
  const std::vector<float> weights = Weights(1);
  const std::vector<int32_t> touched = {1, 2, 3};
  for (int step = 1; step <= 12; ++step) {
    const HashTables* const before = step > 1 ? &state.tables() : nullptr;
    const int64_t rebuilds = step > 1 ? state.rebuilds() : 0;
    const LshTables now = state.Prepare({.data = weights.data()}, 7);
    const bool redrawn = state.rebuilds() > rebuilds && rebuilds > 0 && rebuilds % 2 == 0;
    EXPECT_EQ(before != nullptr && now.tables != before, redrawn) << "step " << step;
    ExpectHoldsRows(now, weights);
    state.Touch(touched);
  }
}

TEST(LshState, ThreadsShareIt) {
  constexpr int kThreads = 4, kSteps = 60;
  for (const std::string kind : {"two sets", "packed", "touched", "redrawn", "touched, redrawn"}) {
    LshSettings settings = Settings("fixed", 2);
    if (kind == "packed") settings.bucket = 2000;
    settings.rehash_touched = kind.starts_with("touched");
    settings.redraw_every = kind.ends_with("redrawn") ? 2 : 0;
    LshState shared(settings), alone(settings);
    std::vector<std::thread> threads;
    std::atomic<int> good = 0;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&] { good += TrainBeside(shared, kSteps) ? 1 : 0; });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(good, kThreads) << kind;
    EXPECT_EQ(static_cast<int32_t*>(shared.Tensors()[0].data)[0], kThreads * kSteps) << kind;
    EXPECT_GT(shared.rebuilds(), 1) << kind;
    EXPECT_LE(shared.rebuilds(), kThreads * kSteps / 2) << kind;
    const auto counts = shared.TakeCounts();
    EXPECT_EQ(counts[0], std::pair(std::string("sets"), double(kThreads * kSteps))) << kind;
    if (settings.redraw_every > 0) continue;
    TrainBeside(alone, 1);
    for (uint32_t key = 0; key < 8; ++key)
      EXPECT_TRUE(std::ranges::equal(shared.tables().Bucket(2, key), alone.tables().Bucket(2, key)))
          << kind;
  }
}

TEST(LshState, SearchesByItsTables) {
  LshState state(Settings("fixed", 100));
  EXPECT_FALSE(state.ready());
  const std::vector<float> weights = Weights(1), hidden = Weights(2);
  state.Prepare({.data = weights.data()}, 7);
  ASSERT_TRUE(state.ready());
  std::vector<uint32_t> keys;
  std::vector<int32_t> ids;
  Marks marks;
  state.Keys(hidden.data(), 3, keys);
  for (int query = 0; query < 3; ++query) {
    std::set<int32_t> expected;
    for (int table = 0; table < 4; ++table) {
      const auto bucket = state.tables().Bucket(table, keys[query * 4 + table]);
      expected.insert(bucket.begin(), bucket.end());
    }
    state.Find(keys.data() + query * 4L, marks, ids);
    EXPECT_EQ(std::set(ids.begin(), ids.end()), expected);
    EXPECT_EQ(ids.size(), expected.size()) << "each once";
  }
}

}  // namespace yoke::layer::lsh_state_test
