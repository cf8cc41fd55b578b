// Counter: how often each id is found in the buckets of a group of queries.
// Cost: one random access a bucket and one an id in it; equal buckets of the group are visited
// once.
#include "lsh/counter.h"

#include <algorithm>
#include <limits>
#include <span>

namespace yoke {
namespace {

constexpr size_t kCountsAhead = 16;  ///< Visits whose bucket's count is on its way from memory.
constexpr size_t kIdsAhead = 8;      ///< Visits whose bucket's ids are.
constexpr uint32_t kMost = std::numeric_limits<uint16_t>::max();

}  // namespace

void Counter::Take(const SampleRequest& request, int least, std::vector<int32_t>& ids) {
  ListVisits(request);
  Count(request);
  Collect(ids, static_cast<uint32_t>(std::max(least, 1)));
  KeepMostFrequent(request.wanted);
  for (const Found& found : found_) ids.push_back(found.id);
}

void Counter::ListVisits(const SampleRequest& request) {
  const int32_t tables = request.tables->shape().tables;
  visits_.clear();
  keys_.resize(request.examples);
  for (int32_t table = 0; table < tables; ++table) {
    for (int64_t n = 0; n < request.examples; ++n) keys_[n] = request.keys[n * tables + table];
    std::ranges::sort(keys_);
    for (size_t n = 0; n < keys_.size(); ++n) {
      if (n == 0 || keys_[n] != keys_[n - 1]) visits_.push_back({.table = table, .key = keys_[n]});
      ++visits_.back().times;
    }
  }
}

void Counter::Count(const SampleRequest& request) {
  const HashTables& tables = *request.tables;
  counts_.resize(std::max<size_t>(counts_.size(), request.rows));
  touched_.resize(std::max<size_t>(touched_.size(), request.rows + 1));  // one to write in vain
  int64_t touched = 0;
  for (size_t n = 0; n < visits_.size(); ++n) {
    if (n + kCountsAhead < visits_.size())
      tables.PrefetchCount(visits_[n + kCountsAhead].table, visits_[n + kCountsAhead].key);
    if (n + kIdsAhead < visits_.size())
      tables.PrefetchIds(visits_[n + kIdsAhead].table, visits_[n + kIdsAhead].key);
    const Visit& visit = visits_[n];
    for (const int32_t& slot : tables.Bucket(visit.table, visit.key)) {
      const int32_t id = HashTables::Read(slot);
      if (id < 0) continue;  // on its way in another thread
      const uint32_t before = counts_[id];
      counts_[id] = static_cast<uint16_t>(std::min(before + visit.times, kMost));
      touched_[touched] = id;
      touched += before == 0 ? 1 : 0;
    }
  }
  touched_count_ = touched;
}

void Counter::Collect(const std::vector<int32_t>& ids, uint32_t least) {
  for (int32_t id : ids) counts_[id] = 0;
  found_.resize(touched_count_);
  size_t kept = 0;
  for (int64_t n = 0; n < touched_count_; ++n) {
    const int32_t id = touched_[n];
    found_[kept] = {.id = id, .count = counts_[id]};
    kept += found_[kept].count >= least ? 1 : 0;
    counts_[id] = 0;
  }
  found_.resize(kept);
}

void Counter::KeepMostFrequent(int64_t wanted) {
  const auto before = [](const Found& a, const Found& b) {
    return a.count != b.count ? a.count > b.count : a.id < b.id;
  };
  const auto keep = std::clamp<int64_t>(wanted, 0, static_cast<int64_t>(found_.size()));
  std::ranges::nth_element(found_, found_.begin() + keep, before);
  found_.resize(keep);
  std::ranges::sort(found_, before);
}

}  // namespace yoke
