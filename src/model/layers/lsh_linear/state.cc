// LshState: rebuilds tables in slices, on a fixed, growing or change-driven schedule.
#include "model/layers/lsh_linear/state.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "base/registry.h"
#include "kernels/convert.h"

namespace yoke::layer {
namespace {

constexpr int64_t kLeastSlice = 16384;    // rows per step; fewer are not worth spreading
constexpr int64_t kRowsAtOnce = 64;       // rows that a thread hashes at a time
constexpr int64_t kFewTouched = 1 << 13;  // a team costs more than it saves
constexpr int64_t kWatched = 1024;

template <typename T>
StateTensor TensorOf(const char* name, std::span<T> values) {
  return {name, DType::kI32, Shape{static_cast<int64_t>(values.size())}, values.data()};
}

}  // namespace

LshCounts& LshCounts::operator+=(const LshCounts& more) {
  sets += more.sets;
  labels += more.labels, found += more.found, random += more.random;
  empty += more.empty;
  rebuild += more.rebuild, hash += more.hash, query += more.query;
  gather += more.gather, product += more.product, merge += more.merge;
  passes += more.passes;
  return *this;
}

LshState::LshState(const LshSettings& settings)
    : settings_(settings),
      shape_(settings.hashed() ? ShapeOf(settings) : TableShape{}),
      position_(kPlaces, 0) {
  position_[kProgress] = -1;
  watched_.resize(std::min(kWatched, settings_.outputs));
  for (size_t i = 0; i < watched_.size(); ++i)
    watched_[i] = static_cast<int32_t>(static_cast<int64_t>(i) * settings_.outputs /
                                       static_cast<int64_t>(watched_.size()));
  watched_keys_.resize(watched_.size() * settings_.tables);
}

void LshState::Allocate() {
  if (!tables_.empty()) return;
  if (shape_.packed()) next_keys_.resize(settings_.outputs * settings_.tables);
  if (settings_.rehash_touched) {
    keys_.resize(settings_.outputs * settings_.tables);
    touched_.resize(settings_.outputs);
  }
  std::vector<HashTables> made;
  for (int i = 0; i < sets(); ++i) made.emplace_back(shape_);
  tables_ = std::move(made);  // last: if memory runs out, the next call begins anew
}

LshTables LshState::Prepare(const ConstTensor& weights, uint64_t seed) {
  std::unique_lock turn(turn_, std::defer_lock);
  if (!built_) turn.lock();
  if (turn.owns_lock() || turn.try_lock())
    Rebuild(weights, seed);
  else
    ++Steps();
  return InUse();
}

LshTables LshState::InUse() {
  const std::lock_guard lock(taken_);
  return {hasher_, &tables_[front_]};
}

void LshState::Rebuild(const ConstTensor& weights, uint64_t seed) {
  Allocate();
  const bool first = Steps() == 0;
  if (first) position_[kSeed] = static_cast<int32_t>(seed);
  if (first) position_[kFunctions] = Functions();
  if (first) hasher_ = MakeHasher(0);
  ++Steps();
  if (first && !shape_.packed()) Back().Clear();
  if (first || (!Building() && Due(weights))) Start();
  if (!Building()) return;
  if (settings_.rehash_touched && !first && !next_) return MoveTouched(weights);
  do Advance(weights, SliceRows());
  while (first && Building());
  built_ = true;
}

void LshState::Touch(std::span<const int32_t> ids) {
  if (touched_.empty()) return;
#pragma omp parallel for schedule(static) if (std::ssize(ids) > kFewTouched)
  for (const int32_t id : ids) std::atomic_ref(touched_[id]).store(1, std::memory_order_relaxed);
}

void LshState::Count(const LshCounts& more) {
  const std::lock_guard lock(taken_);
  counts_ += more;
}

bool LshState::Due(const ConstTensor& weights) {
  if (Steps() < position_[kDue]) return false;
  if (settings_.rehash != "changed" || Moved(weights) >= settings_.rehash_share) return true;
  position_[kDue] += static_cast<int32_t>(settings_.rehash_every);
  return false;
}

int64_t LshState::Interval() const {
  double steps = static_cast<double>(settings_.rehash_every);
  if (settings_.rehash == "growing")
    steps *= std::exp(settings_.rehash_growth * position_[kRebuilds]);
  return static_cast<int64_t>(std::min(steps, 1e9));
}

int64_t LshState::SliceRows() const {
  const int64_t share = 2 * settings_.outputs / std::max<int64_t>(1, Interval());
  return std::min(settings_.outputs, std::max(kLeastSlice, share));
}

void LshState::Start() {
  position_[kProgress] = 0;
  position_[kDue] = Steps() + static_cast<int32_t>(Interval());
  const int64_t every = settings_.redraw_every;
  const bool redraw = every > 0 && position_[kRebuilds] > 0 && position_[kRebuilds] % every == 0;
  position_[kNextGeneration] = position_[kGeneration] + (redraw ? 1 : 0);
  if (redraw) next_ = MakeHasher(position_[kNextGeneration]);
  if (shape_.packed()) return;
  if (!settings_.rehash_touched || redraw) Back().Clear();
}

void LshState::Advance(const ConstTensor& weights, int64_t count) {
  const int64_t begin = position_[kProgress];
  // keys_ are by one set of functions: all at once.
  if (settings_.rehash_touched) count = settings_.outputs, TakeTouched();
  count = std::min(count, settings_.outputs - begin);
  std::vector<int32_t> rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), static_cast<int32_t>(begin));
  std::vector<uint32_t>& keys = keys_.empty() ? slice_ : keys_;
  keys.resize(count * settings_.tables);
  KeysOf(next_ ? *next_ : *hasher_, weights, rows, keys.data());
  if (shape_.packed())
    KeepKeys(begin, count);
  else
    Back().InsertMany(keys.data(), static_cast<int32_t>(begin), count);
  position_[kProgress] += static_cast<int32_t>(count);
  if (position_[kProgress] < settings_.outputs) return;
  if (shape_.packed()) Back().Build(next_keys_.data());
  TakeOver();
  EndRebuild(weights);
}

void LshState::KeepKeys(int64_t begin, int64_t count) {
  const int64_t tables = settings_.tables;
#pragma omp parallel for collapse(2) schedule(static)
  for (int64_t first = 0; first < count; first += kRowsAtOnce)
    for (int64_t table = 0; table < tables; ++table)
      for (int64_t i = first; i < std::min(count, first + kRowsAtOnce); ++i)
        next_keys_[table * settings_.outputs + begin + i] = slice_[i * tables + table];
}

void LshState::TakeOver() {
  const std::lock_guard lock(taken_);
  front_ = tables_.size() - 1 - front_;
  if (next_) hasher_ = std::move(next_);
}

void LshState::EndRebuild(const ConstTensor& weights) {
  position_[kGeneration] = position_[kNextGeneration];
  position_[kProgress] = -1;
  ++position_[kRebuilds];
  WatchRows(weights);
}

std::vector<int32_t> LshState::TakeTouched() {
  std::vector<int32_t> rows;
  for (size_t i = 0; i < touched_.size(); ++i) {
    const std::atomic_ref mark(touched_[i]);
    if (mark.load(std::memory_order_relaxed) == 0) continue;
    mark.store(0, std::memory_order_relaxed);
    rows.push_back(static_cast<int32_t>(i));
  }
  return rows;
}

void LshState::MoveTouched(const ConstTensor& weights) {
  const std::vector<int32_t> rows = TakeTouched();
  slice_.resize(rows.size() * settings_.tables);
  KeysOf(*hasher_, weights, rows, slice_.data());
  tables_[front_].MoveMany(keys_.data(), slice_.data(), rows);
#pragma omp parallel for schedule(static)
  for (size_t i = 0; i < rows.size(); ++i)
    std::copy_n(slice_.data() + i * settings_.tables, settings_.tables,
                keys_.data() + int64_t{rows[i]} * settings_.tables);
  EndRebuild(weights);
}

double LshState::Moved(const ConstTensor& weights) const {
  std::vector<uint32_t> now(watched_keys_.size());
  KeysOf(*hasher_, weights, watched_, now.data());
  int64_t moved = 0;
  for (size_t i = 0; i < now.size(); ++i) moved += now[i] != watched_keys_[i];
  return static_cast<double>(moved) / static_cast<double>(now.size());
}

void LshState::WatchRows(const ConstTensor& weights) {
  if (settings_.rehash == "changed") KeysOf(*hasher_, weights, watched_, watched_keys_.data());
}

void LshState::KeysOf(const Hasher& hasher, const ConstTensor& weights,
                      std::span<const int32_t> rows, uint32_t* keys) const {
  const int64_t count = static_cast<int64_t>(rows.size());
  const int64_t blocks = (count + kRowsAtOnce - 1) / kRowsAtOnce;
#pragma omp parallel for schedule(dynamic, 1) if (blocks > 1)
  for (int64_t b = 0; b < blocks; ++b) {
    const int64_t end = std::min(count, (b + 1) * kRowsAtOnce);
    std::vector<float> copy;
    for (int64_t i = b * kRowsAtOnce, run = 0; i < end; i += run) {
      for (run = 1; i + run < end && rows[i + run] == rows[i] + run;) ++run;
      const float* first = InF32(weights, rows[i] * settings_.inputs, run * settings_.inputs, copy);
      hasher.Keys(first, run, settings_.inputs, keys + i * settings_.tables);
    }
  }
}

int32_t LshState::Functions() const {
  uint64_t word = static_cast<uint64_t>(settings_.hashes);
  for (const char c : settings_.family)
    word = Random::Mix(word + static_cast<uint64_t>(static_cast<unsigned char>(c)));
  return static_cast<int32_t>(word);
}

std::unique_ptr<Hasher> LshState::MakeHasher(int32_t generation) const {
  const uint64_t seed =
      Random::Mix(static_cast<uint32_t>(position_[kSeed])) + static_cast<uint64_t>(generation);
  return FindEntry(hash_families(), "hash family", settings_.family)
      .make({.inputs = settings_.inputs,
             .hashes = settings_.hashes,
             .tables = settings_.tables,
             .slot_bits = settings_.slot_bits,
             .seed = seed});
}

int64_t LshState::Bytes() const {
  if (!settings_.hashed()) return 0;
  const int64_t kept = settings_.rehash_touched ? settings_.outputs * (settings_.tables + 1)
                       : shape_.packed()        ? settings_.outputs * settings_.tables
                                                : 0;  // keys_ and touched_, or next_keys_
  const int64_t slice = SliceRows() * settings_.tables;
  const auto small = static_cast<int64_t>(position_.size() + watched_keys_.size());
  return sets() * HashTables::BytesOf(shape_) +
         (kept + slice + small) * static_cast<int64_t>(sizeof(int32_t));
}

void LshState::Keys(const float* hidden, int64_t count, std::vector<uint32_t>& keys) const {
  keys.resize(count * settings_.tables);
  hasher_->Keys(hidden, count, settings_.inputs, keys.data());
}

void LshState::Find(const uint32_t* keys, Marks& marks, std::vector<int32_t>& ids) const {
  ids.clear();
  for (int table = 0; table < settings_.tables; ++table) tables().PrefetchIds(table, keys[table]);
  marks.Begin(settings_.outputs, ids);
  for (int table = 0; table < settings_.tables; ++table)
    for (const int32_t id : tables().Bucket(table, keys[table])) marks.Append(id, ids);
  marks.End(ids);
}

OutputTableSettings LshState::search_settings() const {
  return {.family = settings_.family,
          .hashes = settings_.hashes,
          .tables = settings_.tables,
          .bucket = settings_.bucket};
}

std::vector<StateTensor> LshState::Tensors() {
  if (!settings_.hashed()) return {};
  Allocate();
  std::vector<StateTensor> tensors = {TensorOf<int32_t>("position", position_),
                                      TensorOf<int32_t>("table_ids", tables_[front_].ids()),
                                      TensorOf<int32_t>("table_counts", tables_[front_].counts()),
                                      TensorOf<uint32_t>("watched_keys", watched_keys_)};
  if (shape_.packed()) {
    tensors.push_back(TensorOf<uint32_t>("next_keys", next_keys_));
  } else if (settings_.rehash_touched) {
    tensors.push_back(TensorOf<uint32_t>("keys", keys_));
    tensors.push_back(TensorOf<int32_t>("touched", touched_));
  } else {
    tensors.push_back(TensorOf<int32_t>("next_ids", Back().ids()));
    tensors.push_back(TensorOf<int32_t>("next_counts", Back().counts()));
  }
  return tensors;
}

std::vector<std::pair<std::string, double>> LshState::TakeCounts() {
  const LshCounts taken = std::exchange(counts_, {});
  if (taken.sets == 0) return {};
  const auto each = [&](int64_t sum) {
    return static_cast<double>(sum) / static_cast<double>(taken.sets);
  };
  std::vector<std::pair<std::string, double>> all = {
      {"sets", static_cast<double>(taken.sets)},
      {"active", each(taken.labels + taken.found + taken.random)},
      {"labels", each(taken.labels)},
      {"found", each(taken.found)},
      {"random", each(taken.random)}};
  if (settings_.hashed()) {
    const BucketLoads loads = tables().Loads();
    all.insert(all.end(), {{"empty_queries", each(taken.empty)},
                           {"bucket_load", loads.mean},
                           {"fullest_bucket", static_cast<double>(loads.fullest)},
                           {"rebuild_seconds", taken.rebuild},
                           {"hash_seconds", taken.hash}});
  }
  all.insert(all.end(), {{"query_seconds", taken.query},
                         {"gather_seconds", taken.gather},
                         {"product_seconds", taken.product},
                         {"merge_seconds", taken.merge}});
  return all;
}

void LshState::Restored() {
  if (!settings_.hashed()) return;
  // Tables of other hash functions cannot be used: rebuild.
  if (position_[kFunctions] != Functions()) position_.assign(kPlaces, 0), position_[kProgress] = -1;
  built_ = position_[kStep] > 0;
  if (!built_) return;
  hasher_ = MakeHasher(position_[kGeneration]);
  next_ = nullptr;
  if (position_[kNextGeneration] != position_[kGeneration])
    next_ = MakeHasher(position_[kNextGeneration]);
}

}  // namespace yoke::layer
