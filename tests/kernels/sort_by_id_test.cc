// SortById: a stable order by id, the same for any number of threads.
#include "kernels/sort_by_id.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "kernels/support/threads.h"

namespace yoke::sort_by_id_test {

struct Entry {
  int32_t id;
  int32_t place;
  bool operator==(const Entry&) const = default;
};

std::vector<Entry> Drawn(int64_t count, uint64_t ids) {
  Random random{1, static_cast<uint64_t>(count), ids};
  std::vector<Entry> entries;
  for (int64_t i = 0; i < count; ++i)
    entries.push_back({static_cast<int32_t>(random.Below(ids)), static_cast<int32_t>(i)});
  return entries;
}

TEST(SortById, EqualsAStableSortForAnyNumberOfThreads) {
  for (const int64_t count : {0, 1, 100, 30'000})
    for (const uint64_t ids : {uint64_t{1}, uint64_t{2048}, uint64_t{2049}, uint64_t{2147483647}})
      for (const int threads : {1, 2, 5, 16}) {
        const Threads scope(threads);
        std::vector<Entry> entries = Drawn(count, ids);
        SortScratch<Entry> scratch;
        std::vector<Entry> expected = entries;
        std::ranges::stable_sort(expected, {}, &Entry::id);
        SortById(entries, scratch, static_cast<int64_t>(ids));
        EXPECT_EQ(entries, expected) << count << " entries, " << ids << " ids";
      }
}

TEST(FindRuns, StartsOneWhereTheIdChanges) {
  const std::vector<Entry> entries = {{2, 0}, {2, 1}, {5, 2}, {9, 3}, {9, 4}};
  std::vector<int32_t> ids = {7};
  std::vector<int64_t> starts;
  FindRuns(entries, ids, starts);
  EXPECT_EQ(ids, (std::vector<int32_t>{2, 5, 9}));
  EXPECT_EQ(starts, (std::vector<int64_t>{0, 2, 3, 5}));
}

TEST(FindRuns, IsTheSameForAnyNumberOfThreads) {
  std::vector<Entry> entries = Drawn(30'000, 7000);
  std::ranges::sort(entries, {}, &Entry::id);
  std::vector<int32_t> expected;
  for (const Entry& e : entries) expected.push_back(e.id);
  expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
  for (const int threads : {1, 2, 5, 16}) {
    const Threads scope(threads);
    std::vector<int32_t> ids;
    std::vector<int64_t> starts;
    FindRuns(entries, ids, starts);
    EXPECT_EQ(ids, expected);
    ASSERT_EQ(starts.size(), ids.size() + 1);
    for (size_t r = 0; r < ids.size(); ++r)
      for (int64_t k = starts[r]; k < starts[r + 1]; ++k) ASSERT_EQ(entries[k].id, ids[r]);
  }
}

}  // namespace yoke::sort_by_id_test
