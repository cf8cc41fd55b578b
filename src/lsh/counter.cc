// Counter: how often each id is found in the buckets of a group of queries.
// Cost: one random access a bucket and one an id in it; equal buckets of the group are visited
// once. Each part visits all buckets and passes over the ids of other parts.
#include "lsh/counter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace yoke {
namespace {

constexpr size_t kCountsAhead = 16;  ///< Visits whose bucket's count is on its way from memory.
constexpr size_t kIdsAhead = 4;      ///< Visits whose bucket's ids are.
constexpr uint32_t kMost = std::numeric_limits<uint16_t>::max();

/// The smallest ids by parts of their range: all of those before the last part, and some of it.
/// Finding it costs a few nanoseconds an id where nth_element over all costs ten.
struct Smallest {
  bool all = true;
  int shift = 0;
  int32_t last = 0;
  int64_t below = 0;  ///< Ids in the parts before the last.

  /// No larger id is among them.
  int64_t Most() const {
    return all ? std::numeric_limits<int32_t>::max() : ((int64_t{last} + 1) << shift) - 1;
  }
};

Smallest SmallestOf(const std::vector<int32_t>& ids, int64_t keep) {
  if (std::ssize(ids) <= keep) return {};
  if (keep == 0) return {.all = false, .last = -1};
  Smallest found{.all = false};
  found.shift = std::max<int>(0, std::bit_width(uint32_t(std::ranges::max(ids))) - 10);
  std::array<int64_t, 1 << 10> parts = {};
  for (int32_t id : ids) ++parts[id >> found.shift];
  while (found.below + parts[found.last] < keep) found.below += parts[found.last++];
  return found;
}

/// Keeps so many of the smallest ids, in their order.
void Keep(const Smallest& smallest, int64_t keep, std::vector<int32_t>& ids) {
  if (smallest.all) return;
  const auto part = [&](int32_t id) { return id >> smallest.shift; };
  std::vector<int32_t> rest;
  std::erase_if(ids, [&](int32_t id) {
    if (part(id) == smallest.last) rest.push_back(id);
    return part(id) >= smallest.last;
  });
  const auto end = rest.begin() + (keep - smallest.below);
  std::ranges::nth_element(rest, end);
  ids.insert(ids.end(), rest.begin(), end);
}

}  // namespace

void Counter::Begin(const SampleRequest& request, int64_t parts) {
  request_ = request;
  count_ = parts;
  counts_.resize(std::max<size_t>(counts_.size(), request.rows));
  parts_.resize(std::max<size_t>(parts_.size(), parts));
  ListVisits();
}

void Counter::ListVisits() {
  const int32_t tables = request_.tables->shape().tables;
  visits_.clear();
  keys_.resize(request_.examples);
  for (int32_t table = 0; table < tables; ++table) {
    for (int64_t n = 0; n < request_.examples; ++n) keys_[n] = request_.keys[n * tables + table];
    std::ranges::sort(keys_);
    for (size_t n = 0; n < keys_.size(); ++n) {
      if (n == 0 || keys_[n] != keys_[n - 1]) visits_.push_back({.table = table, .key = keys_[n]});
      ++visits_.back().times;
    }
  }
}

void Counter::Count(int64_t part, int least, const std::vector<int32_t>& ids) {
  const auto times = static_cast<uint32_t>(std::max(least, 1));
  if (count_ == 1) {
    CountIn<true>(part);
    Collect<true>(part, ids, times);
  } else {
    CountIn<false>(part);
    Collect<false>(part, ids, times);
  }
}

template <bool whole>
void Counter::CountIn(int64_t part) {
  const HashTables& tables = *request_.tables;
  Part& own = parts_[part];
  const int64_t strips = (request_.rows >> kStripBits) / count_ + 1;
  const size_t room = whole ? request_.rows + 1 : (strips << kStripBits) + 1;  // one in vain
  own.touched.resize(std::max(own.touched.size(), room));
  if (!whole) own.places.resize(std::max(own.places.size(), room));
  int64_t touched = 0;
  uint32_t place = 0;
  for (size_t n = 0; n < visits_.size(); ++n) {
    if (n + kCountsAhead < visits_.size())
      tables.PrefetchCount(visits_[n + kCountsAhead].table, visits_[n + kCountsAhead].key);
    if (n + kIdsAhead < visits_.size())
      tables.PrefetchIds(visits_[n + kIdsAhead].table, visits_[n + kIdsAhead].key);
    const Visit& visit = visits_[n];
    for (const int32_t& slot : tables.Bucket(visit.table, visit.key)) {
      const int32_t id = HashTables::Read(slot);
      if (id < 0) continue;  // on its way in another thread
      if (!whole && (++place, !Has(part, id))) continue;
      const uint32_t before = counts_[id];
      counts_[id] = static_cast<uint16_t>(std::min(before + visit.times, kMost));
      own.touched[touched] = id;
      if (!whole) own.places[touched] = place;
      touched += before == 0 ? 1 : 0;
    }
  }
  own.touched_count = touched;
}

template <bool whole>
void Counter::Collect(int64_t part, const std::vector<int32_t>& ids, uint32_t least) {
  Part& own = parts_[part];
  for (int32_t id : ids)
    if (whole || Has(part, id)) counts_[id] = 0;
  own.found.resize(own.touched_count);
  own.how_many.assign(1, 0);
  size_t kept = 0;
  for (int64_t n = 0; n < own.touched_count; ++n) {
    const int32_t id = own.touched[n];
    const uint32_t count = counts_[id];
    counts_[id] = 0;
    own.found[kept] = {.id = id, .count = count};
    if (!whole) own.places[kept] = own.places[n];
    kept += count >= least ? 1 : 0;
    if (count >= own.how_many.size()) own.how_many.resize(count + 1);
    ++own.how_many[count];
  }
  std::fill_n(own.how_many.begin(), std::min<size_t>(least, own.how_many.size()), 0);
  own.found.resize(kept);
}

void Counter::ListTies(uint32_t cut) {
  ties_.clear();
  for (int64_t p = 0; p < count_; ++p)
    for (const Found& found : parts_[p].found)
      if (found.count + 1 == cut) ties_.push_back(found.id);
}

void Counter::Merge(uint32_t cut, int64_t most) {
  met_.clear(), merged_.clear();
  for (int64_t p = 0; p < count_; ++p)
    for (size_t n = 0; n < parts_[p].found.size(); ++n) {
      const Found& found = parts_[p].found[n];
      if (found.count >= cut || (found.count + 1 == cut && found.id <= most))
        met_.push_back({parts_[p].places[n], found});
    }
  std::ranges::sort(met_, {}, &Met::place);
  for (const Met& met : met_) merged_.push_back(met.found);
}

void Counter::Append(std::vector<int32_t>& ids) {
  how_many_.clear();
  for (int64_t p = 0; p < count_; ++p) {
    const std::vector<int64_t>& more = parts_[p].how_many;
    how_many_.resize(std::max(how_many_.size(), more.size()));
    for (size_t count = 0; count < more.size(); ++count) how_many_[count] += more[count];
  }
  // Place after place by falling count; the count at which the places run out is `cut`.
  std::vector<int64_t>& next = how_many_;
  int64_t places = 0;
  auto cut = static_cast<uint32_t>(next.size());
  while (cut > 0 && places + next[cut - 1] <= request_.wanted) {
    places += next[--cut];
    next[cut] = places - next[cut];
  }
  const int64_t keep = std::max<int64_t>(request_.wanted - places, 0);
  Smallest smallest;
  if (count_ > 1) {
    ListTies(cut);
    smallest = SmallestOf(ties_, keep);
    Merge(cut, smallest.Most());
  }
  const size_t begin = ids.size();
  ids.resize(begin + places);
  ties_.clear();
  for (const Found& found : count_ > 1 ? merged_ : parts_[0].found) {
    if (found.count >= cut)
      ids[begin + next[found.count]++] = found.id;
    else if (found.count + 1 == cut)
      ties_.push_back(found.id);
  }
  if (count_ == 1) smallest = SmallestOf(ties_, keep);
  Keep(smallest, keep, ties_);
  ids.insert(ids.end(), ties_.begin(), ties_.end());
}

}  // namespace yoke
