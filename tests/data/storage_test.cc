// Arrays grow in memory and move into a file beyond their limit without a difference.
#include "data/storage.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <numeric>
#include <vector>

#include "base/check.h"
#include "data/support/archives.h"

namespace yoke::storage_test {

void ExpectCounting(const GrowingArray<int64_t>& array, int64_t count) {
  ASSERT_EQ(array.size(), count);
  for (int64_t i = 0; i < count; ++i) ASSERT_EQ(array[i], i);
}

TEST(GrowingArray, KeepsItsContentInMemory) {
  GrowingArray<int64_t> array;
  for (int64_t i = 0; i < 100000; ++i) array.push_back(i);
  ExpectCounting(array, 100000);
  EXPECT_FALSE(array.in_file());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(array.data()) % 64, 0U);
}

TEST(GrowingArray, MovesIntoAFileBeyondItsLimit) {
  GrowingArray<int64_t> array(300000);
  for (int64_t i = 0; i < 1000; ++i) array.push_back(i);
  EXPECT_FALSE(array.in_file());
  for (int64_t i = 1000; i < 500000; ++i) array.push_back(i);
  EXPECT_TRUE(array.in_file());
  ExpectCounting(array, 500000);
  GrowingArray<int64_t> moved = std::move(array);
  ExpectCounting(moved, 500000);
}

TEST(GrowingArray, ExtendsByZerosAndAppends) {
  GrowingArray<int64_t> array;
  std::vector<int64_t> numbers(5000);
  std::iota(numbers.begin(), numbers.end(), 0);
  array.Append(numbers);
  array.Append({});
  int64_t* more = array.Extend(70000);
  for (int64_t i = 0; i < 70000; ++i) {
    ASSERT_EQ(more[i], 0);
    more[i] = 5000 + i;
  }
  ExpectCounting(array, 75000);
}

TEST(GrowingArray, AdoptsWithoutCopyAndCopiesToGrow) {
  const auto numbers = std::make_shared<std::vector<int64_t>>(70000);
  std::iota(numbers->begin(), numbers->end(), 0);
  for (const int64_t limit : {int64_t{1000}, INT64_MAX}) {
    GrowingArray<int64_t> array(limit);
    array.push_back(5);
    array.Adopt(*numbers, numbers);
    EXPECT_EQ(array.data(), numbers->data());
    GrowingArray<int64_t> moved = std::move(array);
    EXPECT_EQ(moved.data(), numbers->data());
    moved.push_back(70000);
    EXPECT_NE(moved.data(), numbers->data());
    EXPECT_EQ(moved.in_file(), limit == 1000);
    ExpectCounting(moved, 70001);
  }
  EXPECT_EQ(numbers.use_count(), 1);
}

TEST(MapFile, ShowsAFileAsLongAsItsOwnerLives) {
  const testing_support::TestFolder folder;
  const std::string path = folder.Write("a", std::string(100000, 'x'));
  SharedBytes file = MapFile(path);
  std::filesystem::remove(path);
  EXPECT_EQ(file.bytes, std::string(100000, 'x'));
  EXPECT_TRUE(MapFile(folder.Write("empty", "")).bytes.empty());
  EXPECT_THROW(MapFile(path), UserError);
}

TEST(MemoryLimit, IsPositive) { EXPECT_GT(DefaultMemoryLimit(), int64_t{16} << 20); }

}  // namespace yoke::storage_test
