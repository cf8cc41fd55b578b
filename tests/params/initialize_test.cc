// Initializers: their ranges and variances, and that draws depend on seed and name alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "base/check.h"
#include "params/store.h"

namespace yoke::initialize_test {

constexpr int64_t kCount = 20'000, kFanIn = 50, kFanOut = 30;

ParamStore Drawn(const std::vector<std::string>& initializers, uint64_t seed) {
  ParamLayout layout;
  for (const std::string& name : initializers)
    layout.Add({.name = "layer." + name,
                .shape = {kCount},
                .initializer = name,
                .fan_in = kFanIn,
                .fan_out = kFanOut});
  layout.Pack();
  ParamStore store(layout, Cpu());
  Initialize(store, seed);
  return store;
}

std::span<const float> Values(const ParamStore& store, int slice = 0) {
  return store.values(slice).Host().first(kCount);
}

double Variance(std::span<const float> x) {
  double sum = 0, square = 0;
  for (double v : x) sum += v, square += v * v;
  const double mean = sum / double(x.size());
  EXPECT_NEAR(mean, 0, 0.01);
  return square / double(x.size()) - mean * mean;
}

TEST(Initialize, UniformOnesStayWithinTheirBoundAndFillIt) {
  const std::pair<const char*, double> cases[] = {{"fan_in_uniform", 1 / std::sqrt(50.0)},
                                                  {"xavier_uniform", std::sqrt(6.0 / 80)},
                                                  {"he_uniform", std::sqrt(6.0 / 50)}};
  for (const auto& [name, bound] : cases) {
    const ParamStore store = Drawn({name}, 1);
    const auto [bf16, high] = std::minmax_element(Values(store).begin(), Values(store).end());
    EXPECT_GE(*bf16, -bound) << name;
    EXPECT_LE(*high, bound) << name;
    EXPECT_NEAR(Variance(Values(store)), bound * bound / 3, bound * bound * 0.02) << name;
  }
}

TEST(Initialize, NormalOnesHaveTheirVariance) {
  const std::pair<const char*, double> cases[] = {
      {"xavier_normal", 2.0 / 80}, {"he_normal", 2.0 / 50}, {"normal_0.01", 1e-4}};
  for (const auto& [name, variance] : cases)
    EXPECT_NEAR(Variance(Values(Drawn({name}, 1))), variance, variance * 0.05) << name;
}

TEST(Initialize, ZerosAndOnes) {
  const ParamStore store = Drawn({"zeros", "ones"}, 1);
  for (float x : Values(store, 0)) ASSERT_EQ(x, 0);
  for (float x : Values(store, 1)) ASSERT_EQ(x, 1);
}

TEST(Initialize, ATableBeginsWithARowOfZeros) {
  constexpr int64_t kWidth = 50;
  ParamLayout layout;
  layout.Add({.name = "layer.table",
              .shape = {kCount / kWidth, kWidth},
              .initializer = "table_uniform",
              .fan_in = kFanIn});
  layout.Pack();
  ParamStore store(layout, Cpu());
  Initialize(store, 1);
  for (float x : Values(store).first(kWidth)) ASSERT_EQ(x, 0);
  for (float x : Values(store).subspan(kWidth)) ASSERT_NE(x, 0);
}

TEST(Initialize, DependsOnSeedAndNameOnly) {
  const ParamStore one = Drawn({"he_normal"}, 1);
  const ParamStore behind = Drawn({"zeros", "he_normal"}, 1);
  const ParamStore other = Drawn({"he_normal"}, 2);
  EXPECT_TRUE(std::ranges::equal(Values(one), Values(behind, 1)));
  EXPECT_FALSE(std::ranges::equal(Values(one), Values(other)));
}

TEST(Initialize, IsTheSameForAnyNumberOfThreads) {
  for (const InitializerEntry& initializer : initializers()) {
    ParamLayout layout;
    layout.Add({.name = "large", .shape = {100'001}, .initializer = initializer.name});
    layout.Pack();
    ParamStore one(layout, Cpu()), three(layout, Cpu());
    Initialize(one, 7, 1);
    Initialize(three, 7, 3);
    EXPECT_EQ(std::memcmp(one.values().Host().data(), three.values().Host().data(),
                          static_cast<size_t>(one.bytes())),
              0)
        << initializer.name;
  }
}

TEST(Initialize, NamesTheKnownOnesForAnUnknownName) {
  try {
    Drawn({"he"}, 1);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("he_normal"), std::string::npos) << error.what();
  }
}

}  // namespace yoke::initialize_test
