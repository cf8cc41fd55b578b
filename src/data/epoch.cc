// Merges ranges, and cuts the rest of an epoch into steps.
#include "data/epoch.h"

#include <algorithm>

#include "base/check.h"
#include "base/random.h"

namespace yoke {

void Ranges::Add(int64_t begin, int64_t end) {
  if (begin >= end) return;
  if (!list_.empty() && list_.back().second == begin) {  // the common case: one step after another
    list_.back().second = end;
    return;
  }
  auto first = std::lower_bound(list_.begin(), list_.end(), begin,
                                [](const auto& range, int64_t at) { return range.second < at; });
  auto last = first;
  for (; last != list_.end() && last->first <= end; ++last) {
    begin = std::min(begin, last->first);
    end = std::max(end, last->second);
  }
  if (first == last) {
    list_.insert(first, {begin, end});
  } else {
    *first = {begin, end};
    list_.erase(first + 1, last);
  }
}

int64_t Ranges::Count() const {
  int64_t count = 0;
  for (const auto& [begin, end] : list_) count += end - begin;
  return count;
}

Ranges Ranges::Complement(int64_t n) const {
  Ranges missing;
  int64_t at = 0;
  for (const auto& [begin, end] : list_) {
    missing.Add(at, std::min(begin, n));
    at = end;
  }
  missing.Add(at, n);
  return missing;
}

EpochPlan::EpochPlan(const EpochDeal& deal, const Ranges& consumed)
    : deal_(deal), rest_(consumed.Complement(deal.examples - deal.left_out)) {
  Check(deal.batch > 0 && deal.world > 0 && deal.rank >= 0 && deal.rank < deal.world,
        "an epoch needs a batch above 0 and a rank below world");
  const std::vector<int64_t> permutation = Permutation(
      deal.examples, Random({deal.seed, Word(Draw::kShuffle), static_cast<uint64_t>(deal.epoch)}));
  order_.reserve(static_cast<size_t>(rest_.Count()));
  for (const auto& [begin, end] : rest_.list())
    order_.insert(order_.end(), permutation.begin() + begin, permutation.begin() + end);
}

int64_t EpochPlan::Steps() const {
  const int64_t step = deal_.batch * deal_.world;
  return (static_cast<int64_t>(order_.size()) + step - 1) / step;
}

// The positions of step s in order_.
std::pair<int64_t, int64_t> EpochPlan::Window(int64_t step) const {
  Check(step >= 0 && step < Steps(), "a step was asked for that the epoch does not have");
  const int64_t length = deal_.batch * deal_.world;
  return {step * length, std::min((step + 1) * length, static_cast<int64_t>(order_.size()))};
}

std::span<const int64_t> EpochPlan::Part(int64_t step) const {
  const auto [begin, end] = Window(step);
  const int64_t count = end - begin;
  const int64_t from = begin + count * deal_.rank / deal_.world;
  const int64_t to = begin + count * (deal_.rank + 1) / deal_.world;
  return std::span(order_).subspan(static_cast<size_t>(from), static_cast<size_t>(to - from));
}

int64_t EpochPlan::Examples(int64_t step) const {
  const auto [begin, end] = Window(step);
  return end - begin;
}

void EpochPlan::Consume(int64_t step, Ranges& consumed) const {
  auto [skip, end] = Window(step);
  int64_t left = end - skip;
  for (const auto& [first, last] : rest_.list()) {
    const int64_t length = last - first;
    const int64_t begin = first + std::min(skip, length);
    const int64_t stop = std::min(begin + left, last);
    consumed.Add(begin, stop);
    left -= stop - begin;
    skip -= std::min(skip, length);
    if (left == 0) return;
  }
}

}  // namespace yoke
