// Counter: how often each id is found in the buckets of a group of queries.
// Cost: one random access a bucket and one an id in it; equal buckets of the group are visited
// once.
#include "lsh/counter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <span>

namespace yoke {
namespace {

constexpr size_t kCountsAhead = 16;  ///< Visits whose bucket's count is on its way from memory.
constexpr size_t kIdsAhead = 4;      ///< Visits whose bucket's ids are.
constexpr uint32_t kMost = std::numeric_limits<uint16_t>::max();

/// Keeps the smallest ids, in their order: by parts of the range first, which costs a few
/// nanoseconds an id where nth_element over all costs ten.
void KeepSmallest(std::vector<int32_t>& ids, int64_t keep) {
  if (static_cast<int64_t>(ids.size()) <= keep) return;
  if (keep <= 0) return ids.clear();
  const int shift = std::max<int>(0, std::bit_width(uint32_t(std::ranges::max(ids))) - 10);
  std::array<int64_t, 1 << 10> parts = {};
  for (int32_t id : ids) ++parts[id >> shift];
  int32_t last = 0;
  int64_t below = 0;  // ids in parts before the last that is needed
  while (below + parts[last] < keep) below += parts[last++];
  std::vector<int32_t> rest;
  std::erase_if(ids, [&](int32_t id) {
    if (id >> shift == last) rest.push_back(id);
    return id >> shift >= last;
  });
  std::ranges::nth_element(rest, rest.begin() + (keep - below));
  ids.insert(ids.end(), rest.begin(), rest.begin() + (keep - below));
}

}  // namespace

void Counter::Take(const SampleRequest& request, int least, std::vector<int32_t>& ids) {
  ListVisits(request);
  Count(request);
  Collect(ids, static_cast<uint32_t>(std::max(least, 1)));
  AppendMostFrequent(request.wanted, ids);
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
  how_many_.assign(1, 0);
  size_t kept = 0;
  for (int64_t n = 0; n < touched_count_; ++n) {
    const int32_t id = touched_[n];
    const uint32_t count = counts_[id];
    counts_[id] = 0;
    found_[kept] = {.id = id, .count = count};
    kept += count >= least ? 1 : 0;
    if (count >= how_many_.size()) how_many_.resize(count + 1);
    ++how_many_[count];
  }
  std::fill_n(how_many_.begin(), std::min<size_t>(least, how_many_.size()), 0);
  found_.resize(kept);
}

void Counter::AppendMostFrequent(int64_t wanted, std::vector<int32_t>& ids) {
  // Place after place by falling count; the count at which the places run out is `cut`.
  std::vector<int64_t>& next = how_many_;
  int64_t places = 0;
  auto cut = static_cast<uint32_t>(next.size());
  while (cut > 0 && places + next[cut - 1] <= wanted) {
    places += next[--cut];
    next[cut] = places - next[cut];
  }
  const size_t begin = ids.size();
  ids.resize(begin + places);
  ties_.clear();
  for (const Found& found : found_) {
    if (found.count >= cut)
      ids[begin + next[found.count]++] = found.id;
    else if (found.count + 1 == cut)
      ties_.push_back(found.id);
  }
  KeepSmallest(ties_, std::max<int64_t>(wanted - places, 0));
  ids.insert(ids.end(), ties_.begin(), ties_.end());
}

}  // namespace yoke
