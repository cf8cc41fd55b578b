// Every hash family: dense and sparse rows, reference and fast paths give the same keys; similar
// vectors collide more often; SimHash and DOPH as often as their theories say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "base/random.h"
#include "base/registry.h"
#include "lsh/family.h"

namespace yoke::families_conformance_test {

std::unique_ptr<Hasher> Make(const std::string& name, const HashShape& shape) {
  return FindEntry(hash_families(), "family", name).make(shape);
}

/// Rows of normal numbers of which a share is zero; some are all zero, some values repeat.
std::vector<float> Rows(int64_t count, int64_t inputs, double zeros, uint64_t seed = 4) {
  Random random{seed};
  std::vector<float> rows(count * inputs);
  for (float& x : rows) x = random.Uniform() < zeros ? 0.0F : float(random.Normal());
  for (size_t i = 3; i < rows.size(); i += 5) rows[i] = rows[i - 3];
  if (count > 2) std::fill_n(&rows[2 * inputs], inputs, 0.0F);
  return rows;
}

struct Sparse {
  std::vector<int64_t> offsets = {0};
  std::vector<int32_t> ids;
  std::vector<float> values;
};

/// The same rows, ids in decreasing order, explicit zeros among them, some values in two parts.
Sparse ToSparse(const std::vector<float>& dense, int64_t inputs) {
  Sparse sparse;
  const auto add = [&](int64_t id, float value) {
    sparse.ids.push_back(int32_t(id));
    sparse.values.push_back(value);
  };
  for (size_t row = 0; row < dense.size(); row += inputs) {
    for (int64_t i = inputs - 1; i >= 0; --i) {
      const float value = dense[row + i];
      if (value == 0 && i % 3 != 0) continue;
      add(i, i % 4 == 0 ? value / 2 : value);
      if (i % 4 == 0) add(i, value / 2);
    }
    sparse.offsets.push_back(int64_t(sparse.ids.size()));
  }
  return sparse;
}

std::vector<uint32_t> DenseKeys(const Hasher& hasher, const std::vector<float>& rows,
                                const HashShape& shape) {
  const auto count = int64_t(rows.size()) / shape.inputs;
  std::vector<uint32_t> keys(count * shape.tables);
  hasher.Keys(rows.data(), count, shape.inputs, keys.data());
  return keys;
}

struct Case {
  HashShape shape;
  double zeros;
};

const Case kCases[] = {{{.inputs = 128, .hashes = 4, .tables = 9}, 0},
                       {{.inputs = 128, .hashes = 6, .tables = 24}, 0.6},
                       {{.inputs = 37, .hashes = 3, .tables = 11}, 0.95},
                       {{.inputs = 5, .hashes = 2, .tables = 3}, 0.3},
                       {{.inputs = 1, .hashes = 1, .tables = 1}, 0.5},
                       {{.inputs = 5000, .hashes = 2, .tables = 5}, 0.98},
                       {{.inputs = 128, .hashes = 6, .tables = 9, .slot_bits = 5}, 0.4},
                       {{.inputs = 60, .hashes = 29, .tables = 4, .slot_bits = 18}, 0.4}};

TEST(HashFamilies, AllPathsGiveTheSameKeys) {
  for (const HashFamilyEntry& family : hash_families())
    for (Case c : kCases) {
      SCOPED_TRACE(family.name + " of " + std::to_string(c.shape.inputs));
      const auto rows = Rows(43, c.shape.inputs, c.zeros);
      const Sparse sparse = ToSparse(rows, c.shape.inputs);
      const auto fast = family.make(c.shape);
      const auto expected = DenseKeys(*fast, rows, c.shape);
      c.shape.avx512 = false;
      EXPECT_EQ(DenseKeys(*family.make(c.shape), rows, c.shape), expected);
      c.shape.reference = true;
      const auto reference = family.make(c.shape);
      EXPECT_EQ(reference->name(), "reference");
      EXPECT_EQ(DenseKeys(*reference, rows, c.shape), expected);
      for (const Hasher* hasher : {fast.get(), reference.get()}) {
        std::vector<uint32_t> keys(expected.size());
        hasher->Keys(SparseRows{.rows = 43,
                                .width = c.shape.inputs,
                                .offsets = sparse.offsets.data(),
                                .ids = sparse.ids.data(),
                                .values = sparse.values.data()},
                     keys.data());
        EXPECT_EQ(keys, expected);
      }
      EXPECT_LT(std::ranges::max(expected), uint64_t{1} << fast->key_bits());
    }
}

TEST(HashFamilies, DophTakesTheThirtyLargestAndTheFirstOfEquals) {
  constexpr int64_t kInputs = 90, kLargest = 30;
  const HashShape shape{.inputs = kInputs, .hashes = 3, .tables = 40};
  Random random{6};
  for (const int different : {1, 2, 7, 90}) {  // values
    std::vector<float> row(kInputs), alone(kInputs);
    for (float& x : row) x = float(1 + random.Below(different)) / 3;
    std::vector<int64_t> order(kInputs);
    for (int64_t i = 0; i < kInputs; ++i) order[i] = i;
    std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return row[a] > row[b]; });
    for (int64_t i = 0; i < kLargest; ++i) alone[order[i]] = 1;
    const auto hasher = Make("doph", shape);
    EXPECT_EQ(DenseKeys(*hasher, row, shape), DenseKeys(*hasher, alone, shape)) << different;
  }
}

TEST(HashFamilies, KeysUseTheirBitsAndDependOnTheSeed) {
  HashShape shape{.inputs = 128, .hashes = 2, .tables = 40};
  auto rows = Rows(400, shape.inputs, 0);
  rows.erase(rows.begin(), rows.begin() + 3 * shape.inputs);  // without the zeros
  for (const HashFamilyEntry& family : hash_families()) {
    const auto keys = DenseKeys(*family.make(shape), rows, shape);
    std::vector<int> counts(1 << 2 * family.bits);
    for (uint32_t key : keys) ++counts[key];
    const double mean = double(keys.size()) / double(counts.size());
    EXPECT_GT(std::ranges::min(counts), mean / 20) << family.name;
    EXPECT_LT(std::ranges::max(counts), mean * 5) << family.name;
    HashShape other = shape;
    other.seed = 2;
    EXPECT_NE(DenseKeys(*family.make(other), rows, shape), keys) << family.name;
  }
}

/// A vector at `angle` from x, through a random other one.
std::vector<float> Turned(const std::vector<float>& x, double angle, Random& random) {
  std::vector<double> y(x.size());
  for (double& v : y) v = random.Normal();
  double xx = 0, xy = 0, yy = 0;
  for (size_t i = 0; i < x.size(); ++i) xx += x[i] * x[i], xy += x[i] * y[i];
  for (size_t i = 0; i < x.size(); ++i) y[i] -= xy / xx * x[i];
  for (double v : y) yy += v * v;
  std::vector<float> turned(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    turned[i] = float(std::cos(angle) * x[i] + std::sin(angle) * std::sqrt(xx / yy) * y[i]);
  return turned;
}

/// The share of tables in which x and y have the same key.
double Agreement(const Hasher& hasher, const HashShape& shape, std::vector<float> x,
                 const std::vector<float>& y) {
  x.insert(x.end(), y.begin(), y.end());
  const auto keys = DenseKeys(hasher, x, shape);
  int equal = 0;
  for (int l = 0; l < shape.tables; ++l) equal += keys[l] == keys[shape.tables + l];
  return double(equal) / shape.tables;
}

/// The mean agreement of pairs at an angle, each pair under functions of its own.
double MeanAgreement(const std::string& family, int hashes, double angle) {
  constexpr int kPairs = 60;
  HashShape shape{.inputs = 128, .hashes = hashes, .tables = 300};
  Random random{9};
  double sum = 0;
  for (shape.seed = 1; shape.seed <= kPairs; ++shape.seed) {
    std::vector<float> x(shape.inputs);
    for (float& v : x) v = float(random.Normal());
    sum += Agreement(*Make(family, shape), shape, x, Turned(x, angle, random));
  }
  return sum / kPairs;
}

TEST(HashFamilies, SimHashCollidesAsItsTheorySays) {
  for (int hashes : {1, 4})
    for (double degrees : {0.0, 20.0, 60.0, 90.0, 150.0}) {
      const double angle = degrees / 180 * std::numbers::pi;
      const double theory = std::pow(1 - angle / std::numbers::pi, hashes);
      const double deviation = std::sqrt(theory * (1 - theory) / (60 * 300));
      EXPECT_NEAR(MeanAgreement("simhash", hashes, angle), theory, 4 * deviation + 1e-3)
          << hashes << " hashes at " << degrees << " degrees";
    }
}

/// A row of ones at `count` places from `first` on, zeros and a few negative numbers elsewhere.
std::vector<float> SetFrom(int64_t first, int64_t count, int64_t inputs) {
  std::vector<float> row(inputs);
  for (int64_t i = 0; i < inputs; i += 7) row[i] = -3;
  for (int64_t i = first; i < first + count; ++i) row[i] = 1;
  return row;
}

TEST(HashFamilies, DophCollidesAsItsTheorySays) {
  HashShape shape{.inputs = 128, .hashes = 1, .tables = 40};
  for (int64_t shift : {0, 4, 10, 20, 30}) {
    const double jaccard = double(30 - shift) / double(30 + shift);
    const double theory = jaccard + (1 - jaccard) / 16;
    double sum = 0, squares = 0;
    constexpr int kDraws = 2000;  // hashes of one draw depend on each other
    for (shape.seed = 1; shape.seed <= kDraws; ++shape.seed) {
      const double share = Agreement(*Make("doph", shape), shape, SetFrom(20, 30, 128),
                                     SetFrom(20 + shift, 30, 128));
      sum += share;
      squares += share * share;
    }
    const double mean = sum / kDraws;
    const double deviation = std::sqrt(std::max(0.0, squares / kDraws - mean * mean) / kDraws);
    EXPECT_NEAR(mean, theory, 4 * deviation + 1e-9) << "Jaccard " << jaccard;
  }
}

TEST(HashFamilies, MoreSimilarVectorsCollideMoreOften) {
  for (const HashFamilyEntry& family : hash_families()) {
    double last = 1.02;
    for (double angle : {0.0, 0.2, 0.5, 1.0, 1.5}) {
      const double now = MeanAgreement(family.name, 1, angle);
      EXPECT_LT(now, last - 0.01) << family.name << " at " << angle;
      last = now;
    }
    EXPECT_DOUBLE_EQ(MeanAgreement(family.name, 2, 0), 1);
  }
}

TEST(HashFamilies, EmptyBinsBorrowInDwtaAlone) {
  const HashShape shape{.inputs = 800, .hashes = 1, .tables = 100};
  std::vector<float> x(shape.inputs);
  for (int i = 0; i < 800; i += 40) x[i] = float(i + 1);
  const auto zeros = [&](const std::string& name) {
    return std::ranges::count(DenseKeys(*Make(name, shape), x, shape), 0U);
  };
  EXPECT_GE(zeros("wta"), 80);  // at most 20 of 100 bins see one of the 20 numbers
  EXPECT_LT(zeros("dwta"), 60);
}

TEST(HashFamilies, KeysThatFitTheSlotsStayAsTheyAre) {
  for (const HashFamilyEntry& family : hash_families()) {
    HashShape shape{.inputs = 64, .hashes = 4, .tables = 20};
    const auto rows = Rows(30, shape.inputs, 0.3);
    const auto keys = DenseKeys(*family.make(shape), rows, shape);
    shape.slot_bits = 4 * family.bits;
    EXPECT_EQ(DenseKeys(*family.make(shape), rows, shape), keys) << family.name;
  }
}

TEST(HashFamilies, FoldedKeysReachAllSlots) {
  constexpr int kSlotBits = 10;
  for (const HashFamilyEntry& family : hash_families()) {
    const HashShape shape{.inputs = 64, .hashes = 30, .tables = 1, .slot_bits = kSlotBits};
    const auto rows = Rows(20 << kSlotBits, shape.inputs, 0);
    const auto hasher = family.make(shape);
    EXPECT_EQ(hasher->key_bits(), kSlotBits);
    std::vector<int> counts(1 << kSlotBits);
    for (const uint32_t key : DenseKeys(*hasher, rows, shape)) ++counts[key];
    EXPECT_GT(std::ranges::min(counts), 0) << family.name;
    EXPECT_LT(std::ranges::max(counts), 3 * 20) << family.name;
  }
}

/// Fraction of tables in which two vectors have the same key.
double Collisions(const HashFamilyEntry& family, const std::vector<float>& pair, int hashes,
                  int slot_bits) {
  const HashShape shape{.inputs = static_cast<int64_t>(pair.size() / 2),
                        .hashes = hashes,
                        .tables = 4000,
                        .slot_bits = slot_bits};
  const auto keys = DenseKeys(*family.make(shape), pair, shape);
  int equal = 0;
  for (int table = 0; table < shape.tables; ++table)
    equal += keys[table] == keys[shape.tables + table];
  return double(equal) / shape.tables;
}

TEST(HashFamilies, FoldedKeysCollideByTheLawOfTheFamily) {
  // Keys agree with probability p^K, and those that do not by 1 / slots.
  constexpr int kHashes = 26, kSlotBits = 5;
  std::vector<float> pair = Rows(2, 64, 0);
  for (int i = 0; i < 64; ++i) pair[64 + i] = pair[i] + 0.05F * pair[64 + i];
  for (const HashFamilyEntry& family : hash_families()) {
    const double plain = Collisions(family, pair, 1, family.bits);
    const double keys = std::pow(plain, kHashes), slots = 1 << kSlotBits;
    const double expected = keys + (1 - keys) / slots;
    EXPECT_NEAR(Collisions(family, pair, kHashes, kSlotBits), expected, 0.1) << family.name;
    const auto strangers = Rows(2, 64, 0);
    const double apart = std::pow(Collisions(family, strangers, 1, family.bits), kHashes);
    EXPECT_NEAR(Collisions(family, strangers, kHashes, kSlotBits), apart + (1 - apart) / slots,
                5 * std::sqrt(1 / slots / 4000))
        << family.name;
  }
}

TEST(HashFamilies, RefuseShapesThatCannotBe) {
  for (const HashFamilyEntry& family : hash_families()) {
    EXPECT_THROW(family.make({.inputs = 0}), UserError);
    EXPECT_THROW(family.make({.inputs = 8, .hashes = 0}), UserError);
    EXPECT_THROW(family.make({.inputs = 8, .slot_bits = kMaxKeyBits + 1}), UserError);
    EXPECT_THROW(family.make({.inputs = 8, .slot_bits = 0}), UserError);
  }
}

}  // namespace yoke::families_conformance_test
