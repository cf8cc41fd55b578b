// Every sampler against a plain restatement: vanilla, top_k, threshold, uniform.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/registry.h"
#include "lsh/sampler.h"

namespace yoke::samplers_conformance_test {

constexpr int64_t kRows = 300;
constexpr int64_t kExamples = 7;

std::vector<uint32_t> Keys(int64_t count, int tables, uint64_t seed) {
  Random random{seed};
  std::vector<uint32_t> keys(count * tables);
  for (uint32_t& key : keys) key = uint32_t(random.Below(8));
  return keys;
}

/// Tables with a group of queries, two of which are equal.
struct Scene {
  HashTables tables{{.tables = 6, .key_bits = 3, .bucket = 20}};
  std::vector<uint32_t> keys = Keys(kExamples, 6, 2);

  Scene() {
    tables.InsertMany(Keys(kRows, 6, 1).data(), 0, kRows);
    std::copy_n(keys.begin(), 6, keys.begin() + 18);
  }
  SampleRequest Request(int64_t wanted, int threshold = 2) const {
    return {.tables = &tables,
            .keys = keys.data(),
            .examples = kExamples,
            .rows = kRows,
            .wanted = wanted,
            .threshold = threshold};
  }
  /// How often the group's buckets hold each id.
  std::map<int32_t, int> Counts() const {
    std::map<int32_t, int> counts;
    for (size_t k = 0; k < keys.size(); ++k)
      for (int32_t id : tables.Bucket(int(k % 6), keys[k])) ++counts[id];
    return counts;
  }
  /// The most frequent ids with at least `least`, without `taken`.
  std::vector<int32_t> MostFrequent(int64_t wanted, int least, std::set<int32_t> taken) const {
    std::vector<std::pair<int, int32_t>> order;
    for (auto [id, count] : Counts())
      if (count >= least && !taken.contains(id)) order.emplace_back(-count, id);
    std::ranges::sort(order);
    std::vector<int32_t> ids;
    for (auto [count, id] : order)
      if (int64_t(ids.size()) < wanted) ids.push_back(id);
    return ids;
  }
};

std::unique_ptr<Sampler> Make(const std::string& name) {
  return FindEntry(samplers(), "sampler", name).make();
}

std::vector<int32_t> Drawn(Sampler& sampler, const SampleRequest& request, uint64_t seed,
                           const std::vector<int32_t>& held = {}) {
  std::vector<int32_t> ids = held;
  sampler.Sample(request, Random{seed}, ids);
  EXPECT_TRUE(std::equal(held.begin(), held.end(), ids.begin()));
  return {ids.begin() + int64_t(held.size()), ids.end()};
}

TEST(Samplers, AppendDistinctIdsThatAreNotThere) {
  const Scene scene;
  const std::vector<int32_t> held = {5, 17, 250, 0, 299};
  for (const SamplerEntry& entry : samplers()) {
    const auto sampler = entry.make();
    for (int64_t wanted : {0, 1, 40, 200, 1000}) {
      const auto ids = Drawn(*sampler, scene.Request(wanted), 3, held);
      std::set<int32_t> all(ids.begin(), ids.end());
      all.insert(held.begin(), held.end());
      EXPECT_EQ(all.size(), ids.size() + held.size()) << entry.name;
      EXPECT_TRUE(*all.begin() >= 0 && *all.rbegin() < kRows) << entry.name;
      EXPECT_LE(int64_t(ids.size()), wanted) << entry.name;
      EXPECT_EQ(Drawn(*sampler, scene.Request(wanted), 3, held), ids) << entry.name;  // scratch
      EXPECT_EQ(Drawn(*entry.make(), scene.Request(wanted), 3, held), ids) << entry.name;
    }
  }
}

TEST(Samplers, GiveTheSameInAnyNumberOfParts) {
  constexpr int64_t kMany = 6000;
  HashTables tables({.tables = 6, .key_bits = 3, .bucket = 900});
  tables.InsertMany(Keys(kMany, 6, 1).data(), 0, kMany);
  const auto keys = Keys(kExamples, 6, 2);
  const std::vector<int32_t> held = {5, 17, 250, 0, 299};
  for (const SamplerEntry& entry : samplers())
    for (const int64_t wanted : {0, 40, 900, 4000, 6000}) {
      const SampleRequest request{.tables = &tables,
                                  .keys = keys.data(),
                                  .examples = kExamples,
                                  .rows = kMany,
                                  .wanted = wanted,
                                  .threshold = 3};
      const auto expected = Drawn(*entry.make(), request, 3, held);
      const auto sampler = entry.make();
      for (const int64_t parts : {2, 8, 1}) {
        std::vector<int32_t> ids = held;
        sampler->Begin(request, parts);
        for (int64_t part = parts - 1; part >= 0; --part) sampler->Count(part, ids);
        sampler->Append(Random{3}, ids);
        ids.erase(ids.begin(), ids.begin() + std::ssize(held));
        EXPECT_EQ(ids, expected) << entry.name << ", " << wanted << ", " << parts << " parts";
      }
    }
}

/// Expects the ids of MostFrequent(), the more frequent ones first.
void ExpectMostFrequent(const Scene& scene, std::vector<int32_t> ids, int64_t wanted, int least,
                        const std::set<int32_t>& taken = {}) {
  auto counts = scene.Counts();
  for (size_t n = 1; n < ids.size(); ++n) EXPECT_LE(counts[ids[n]], counts[ids[n - 1]]);
  auto expected = scene.MostFrequent(wanted, least, taken);
  std::ranges::sort(expected);
  std::ranges::sort(ids);
  EXPECT_EQ(ids, expected);
}

TEST(Samplers, TopKTakesTheMostFrequent) {
  const Scene scene;
  const auto sampler = Make("top_k");
  for (int64_t wanted : {1, 10, 50, 1000}) {
    ExpectMostFrequent(scene, Drawn(*sampler, scene.Request(wanted), 1), wanted, 1);
    const int32_t first = scene.MostFrequent(1, 1, {})[0];
    ExpectMostFrequent(scene, Drawn(*sampler, scene.Request(wanted), 1, {first, 3}), wanted, 1,
                       {first, 3});
  }
}

TEST(Samplers, ThresholdTakesWhatIsFoundOftenEnough) {
  const Scene scene;
  const auto sampler = Make("threshold");
  for (int least : {1, 2, 4, 100})
    for (int64_t wanted : {5, 1000})
      ExpectMostFrequent(scene, Drawn(*sampler, scene.Request(wanted, least), 1), wanted, least);
}

TEST(Samplers, VanillaTakesWholeTablesUntilEnough) {
  const Scene scene;
  const auto counts = scene.Counts();
  const auto sampler = Make("vanilla");
  const auto all = Drawn(*sampler, scene.Request(1000), 1);
  EXPECT_EQ(all.size(), counts.size());
  for (int32_t id : all) EXPECT_TRUE(counts.contains(id));
  const auto some = Drawn(*sampler, scene.Request(25), 1);
  EXPECT_EQ(some, std::vector<int32_t>(all.begin(), all.begin() + 25));
  EXPECT_NE(Drawn(*sampler, scene.Request(25), 2), some);  // another order of tables
}

TEST(Samplers, UniformDrawsEveryOpenIdEquallyOften) {
  const auto sampler = Make("uniform");
  constexpr int kCalls = 3000, kOpen = 20;
  for (int64_t wanted : {5, 15}) {
    std::vector<int> drawn(kOpen + 1);
    for (uint64_t seed = 0; seed < kCalls; ++seed) {
      const auto ids = Drawn(*sampler, {.rows = kOpen + 1, .wanted = wanted}, seed, {7});
      EXPECT_EQ(int64_t(ids.size()), wanted);
      for (int32_t id : ids) ++drawn[id];
    }
    const double share = double(wanted) / kOpen;
    const double deviation = std::sqrt(kCalls * share * (1 - share));
    for (int id = 0; id <= kOpen; ++id)
      EXPECT_NEAR(drawn[id], id == 7 ? 0 : kCalls * share, 5 * deviation) << id;
  }
  EXPECT_EQ(Drawn(*sampler, {.rows = 3, .wanted = 9}, 1, {0, 1, 2}).size(), 0U);
}

}  // namespace yoke::samplers_conformance_test
