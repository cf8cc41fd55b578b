// SortById: stable sort of entries by id, on the kernel threads.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/threads.h"

namespace yoke {

/// Memory of SortById, reused between calls.
template <typename Entry>
struct SortScratch {
  std::vector<Entry> entries;
  std::vector<std::array<int64_t, 2048>> places;  ///< Next position by thread and bucket.
};

/// Radix sort by `Entry::id` in [0, ids), eleven bits per pass. Each thread counts and moves its
/// own part.
template <typename Entry>
void SortById(std::vector<Entry>& entries, SortScratch<Entry>& scratch, int64_t ids) {
  constexpr int kBits = 11;
  constexpr int64_t kBuckets = 1 << kBits, kParallel = 1 << 13;
  const auto count = static_cast<int64_t>(entries.size());
  const int64_t threads = count < kParallel ? 1 : KernelThreads();
  const int width = std::bit_width(static_cast<uint64_t>(ids > 0 ? ids - 1 : 0));
  scratch.entries.resize(entries.size());
  auto& places = scratch.places;
  places.resize(threads);
  for (int shift = 0; shift < width; shift += kBits) {
    const auto bucket_of = [shift](const Entry& e) { return e.id >> shift & (kBuckets - 1); };
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int64_t t = 0; t < threads; ++t) {
      places[t].fill(0);
      for (int64_t i = count * t / threads; i < count * (t + 1) / threads; ++i)
        ++places[t][bucket_of(entries[i])];
    }
    int64_t next = 0;
    for (int64_t b = 0; b < kBuckets; ++b)
      for (auto& of_thread : places) next += std::exchange(of_thread[b], next);
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int64_t t = 0; t < threads; ++t)
      for (int64_t i = count * t / threads; i < count * (t + 1) / threads; ++i)
        scratch.entries[places[t][bucket_of(entries[i])]++] = entries[i];
    entries.swap(scratch.entries);
  }
}

/// Returns the start of each id's entries in sorted entries, followed by the number of entries;
/// writes the distinct ids to `ids`.
template <typename Entry>
void FindRuns(const std::vector<Entry>& entries, std::vector<int32_t>& ids,
              std::vector<int64_t>& starts) {
  ids.clear(), starts.clear();
  for (size_t k = 0; k < entries.size(); ++k)
    if (k == 0 || entries[k].id != entries[k - 1].id)
      ids.push_back(entries[k].id), starts.push_back(static_cast<int64_t>(k));
  starts.push_back(static_cast<int64_t>(entries.size()));
}

}  // namespace yoke
