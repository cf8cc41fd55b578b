// SortById: stable sort of entries by id, on the kernel threads.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/algorithms.h"
#include "kernels/threads.h"

namespace yoke {

/// Memory of SortById, reused between calls.
template <typename Entry>
struct SortScratch {
  static constexpr int64_t kBuckets = 2048;
  std::vector<Entry> entries;
  std::vector<std::array<int64_t, kBuckets>> places;  ///< Next position by thread and bucket,
  std::array<int64_t, kBuckets> starts;               ///< counted from the bucket's start.
};

/// Parts, one after the other, in which the threads take so many entries.
class EntryParts {
 public:
  explicit EntryParts(int64_t entries)
      : entries_(entries), count_(entries < kParallel ? 1 : KernelThreads()) {}
  int64_t count() const { return count_; }
  int64_t Begin(int64_t part) const { return entries_ * part / count_; }

 private:
  static constexpr int64_t kParallel = 1 << 11;  // with fewer a team costs more than it saves
  int64_t entries_, count_;
};

/// Radix sort by `Entry::id` in [0, ids), eleven bits per pass. Each thread counts and moves its
/// own part.
template <typename Entry>
void SortById(std::vector<Entry>& entries, SortScratch<Entry>& scratch, int64_t ids) {
  constexpr int64_t kBuckets = SortScratch<Entry>::kBuckets;
  constexpr int kBits = std::countr_zero(uint64_t{kBuckets});
  const EntryParts parts(static_cast<int64_t>(entries.size()));
  const int64_t threads = parts.count();
  const int width = std::bit_width(static_cast<uint64_t>(ids > 0 ? ids - 1 : 0));
  ResizeWithRoom(scratch.entries, std::ssize(entries));
  auto& places = scratch.places;
  auto& starts = scratch.starts;
  places.resize(threads);
  for (int shift = 0; shift < width; shift += kBits) {
    const auto bucket_of = [shift](const Entry& e) { return e.id >> shift & (kBuckets - 1); };
#pragma omp parallel num_threads(threads)
    {
#pragma omp for schedule(static, 1)
      for (int64_t t = 0; t < threads; ++t) {
        places[t].fill(0);
        for (int64_t i = parts.Begin(t); i < parts.Begin(t + 1); ++i)
          ++places[t][bucket_of(entries[i])];
      }
#pragma omp for schedule(static)
      for (int64_t b = 0; b < kBuckets; ++b) {
        starts[b] = 0;
        for (auto& of_thread : places) starts[b] += std::exchange(of_thread[b], starts[b]);
      }
#pragma omp single
      std::exclusive_scan(starts.begin(), starts.end(), starts.begin(), int64_t{0});
#pragma omp for schedule(static, 1)
      for (int64_t t = 0; t < threads; ++t) {
        for (int64_t b = 0; b < kBuckets; ++b) places[t][b] += starts[b];
        for (int64_t i = parts.Begin(t); i < parts.Begin(t + 1); ++i)
          scratch.entries[places[t][bucket_of(entries[i])]++] = entries[i];
      }
    }
    entries.swap(scratch.entries);
  }
}

/// Returns the start of each id's entries in sorted entries, followed by the number of entries;
/// writes the distinct ids to `ids`.
template <typename Entry>
void FindRuns(const std::vector<Entry>& entries, std::vector<int32_t>& ids,
              std::vector<int64_t>& starts) {
  const auto count = static_cast<int64_t>(entries.size());
  const EntryParts parts(count);
  const int64_t threads = parts.count();
  const auto begins = [&](int64_t k) { return k == 0 || entries[k].id != entries[k - 1].id; };
  std::vector<int64_t> runs(threads + 1);  // of all parts before
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int64_t t = 0; t < threads; ++t) {
    int64_t found = 0;
    for (int64_t k = parts.Begin(t); k < parts.Begin(t + 1); ++k) found += begins(k) ? 1 : 0;
    runs[t + 1] = found;
  }
  std::partial_sum(runs.begin(), runs.end(), runs.begin());
  ResizeWithRoom(ids, runs.back()), ResizeWithRoom(starts, runs.back() + 1);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int64_t t = 0; t < threads; ++t)
    for (int64_t k = parts.Begin(t), run = runs[t]; k < parts.Begin(t + 1); ++k)
      if (begins(k)) ids[run] = entries[k].id, starts[run++] = k;
  starts.back() = count;
}

}  // namespace yoke
