// HashTables: L tables of buckets that hold ids of rows by their keys, in bounded memory.
// Cost of an insert: one count and one slot of each of L buckets. Where threads race: a slot is
// taken by counting up atomically, so no two inserts share one before the bucket is full; a reader
// that sees the count before the id finds kNoId or the slot's former id, and both are harmless.
#include "lsh/tables.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "base/resources.h"
#include "kernels/threads.h"
#include "lsh/family.h"

namespace yoke {
namespace {

constexpr uint64_t kReservoirDraws = 0x7265736572766f69;
constexpr int64_t kAhead = 16;  ///< Inserts whose counts are on their way from memory.

uint32_t Load(const int32_t& number) {
  return std::atomic_ref(const_cast<int32_t&>(number)).load(std::memory_order_relaxed);
}

void Store(int32_t& number, int32_t value) {
  std::atomic_ref(number).store(value, std::memory_order_relaxed);
}

/// Places for ids in all buckets of one table.
int64_t PlacesOf(const TableShape& shape) {
  const int64_t places = int64_t{shape.bucket} << shape.key_bits;
  return shape.packed() ? std::min(shape.rows, places) : places;
}

/// Places and counts, of all tables.
int64_t NumbersOf(const TableShape& shape) {
  const int64_t counts = (int64_t{1} << shape.key_bits) + (shape.packed() ? 1 : 0);
  return shape.tables * (PlacesOf(shape) + counts);
}

/// Buckets of all tables. Throws UserError on a shape that cannot be.
int64_t BucketsOf(const TableShape& shape) {
  Require(shape.tables >= 1, "hash tables: expected at least 1 table, got {}", shape.tables);
  Require(shape.key_bits >= 0 && shape.key_bits <= kMaxKeyBits,
          "hash tables: expected keys of 0 to {} bits, got {}", kMaxKeyBits, shape.key_bits);
  Require(shape.bucket >= 1, "hash tables: expected buckets of at least 1 id, got {}",
          shape.bucket);
  const double bytes = 4.0 * static_cast<double>(NumbersOf(shape));
  const double memory = double(UsableMemory());
  Require(
      bytes < memory,
      "hash tables: {} tables of 2^{} buckets of {} ids take {:.3g} GB, more than this machine's "
      "memory: expected fewer tables, hashes, or a smaller bucket",
      shape.tables, shape.key_bits, shape.bucket, bytes / 1e9);
  return int64_t{shape.tables} << shape.key_bits;
}

}  // namespace

int64_t HashTables::BytesOf(const TableShape& shape) {
  BucketsOf(shape);
  return NumbersOf(shape) * static_cast<int64_t>(sizeof(int32_t));
}

HashTables::HashTables(const TableShape& shape)
    : shape_(shape),
      buckets_(BucketsOf(shape)),
      places_(shape.tables * PlacesOf(shape)),
      memory_(Cpu(), BytesOf(shape)),
      ids_(memory_.As<int32_t>()),
      counts_(ids_ + places_) {
  if (shape.packed()) return;  // their memory is touched as it fills
#pragma omp parallel for schedule(static) num_threads(KernelThreads())
  for (int64_t bucket = 0; bucket < buckets_; ++bucket)
    std::fill_n(ids_ + bucket * shape_.bucket, shape_.bucket, kNoId);
}

void HashTables::Clear() {
  Check(!shape_.packed(), "packed tables are built anew, not cleared");
#pragma omp parallel for schedule(static) num_threads(KernelThreads())
  for (int64_t bucket = 0; bucket < buckets_; ++bucket) {
    int32_t* const ids = ids_ + bucket * shape_.bucket;
    for (int64_t slot = 0, held = Held(bucket); slot < held; ++slot) Store(ids[slot], kNoId);
    Store(counts_[bucket], 0);
  }
}

int64_t HashTables::Held(int64_t bucket) const {
  return std::min<int64_t>(Load(counts_[bucket]), shape_.bucket);
}

int64_t HashTables::SlotFor(int64_t bucket, uint32_t arrival, int32_t id) const {
  const auto slots = static_cast<uint32_t>(shape_.bucket);
  if (arrival < slots) return arrival;
  if (shape_.policy == BucketPolicy::kFifo)
    return std::has_single_bit(slots) ? arrival & (slots - 1) : arrival % slots;
  // The id is a part of the key: after a loss arrivals are counted anew, and the same draws would
  // hit the slots that they filled before.
  Random random{shape_.seed, kReservoirDraws, static_cast<uint64_t>(bucket),
                uint64_t{arrival} << 32 | static_cast<uint32_t>(id)};
  const uint64_t slot = random.Below(uint64_t{arrival} + 1);
  return slot < slots ? static_cast<int64_t>(slot) : -1;
}

void HashTables::Put(int64_t bucket, uint32_t arrival, int32_t id) {
  const int64_t slot = SlotFor(bucket, arrival, id);
  if (slot >= 0) Store(ids_[bucket * shape_.bucket + slot], id);
}

void HashTables::Insert(const uint32_t* keys, int32_t id) {
  for (int table = 0; table < shape_.tables; ++table) {
    const int64_t bucket = Index(table, keys[table]);
    const int32_t arrival =
        std::atomic_ref(counts_[bucket]).fetch_add(1, std::memory_order_relaxed);
    Put(bucket, static_cast<uint32_t>(arrival), id);
  }
}

void HashTables::InsertMany(const uint32_t* keys, int32_t first, int64_t count) {
#pragma omp parallel for schedule(dynamic) num_threads(KernelThreads())
  for (int table = 0; table < shape_.tables; ++table) InsertInto(table, keys, first, count);
}

void HashTables::InsertInto(int table, const uint32_t* keys, int32_t first, int64_t count) {
  const auto bucket_of = [&](int64_t i) { return Index(table, keys[i * shape_.tables + table]); };
  for (int64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) __builtin_prefetch(&counts_[bucket_of(i + kAhead)], 1);
    if (i + kAhead / 2 < count) {
      const int64_t soon = bucket_of(i + kAhead / 2);
      const auto slot = static_cast<uint32_t>(counts_[soon]) % static_cast<uint32_t>(shape_.bucket);
      __builtin_prefetch(&ids_[soon * shape_.bucket + slot], 1);
    }
    const int64_t bucket = bucket_of(i);
    const uint32_t arrival = Load(counts_[bucket]);
    Store(counts_[bucket], static_cast<int32_t>(arrival + 1));
    Put(bucket, arrival, first + static_cast<int32_t>(i));
  }
}

void HashTables::Move(const uint32_t* old_keys, const uint32_t* new_keys, int32_t id) {
  for (int table = 0; table < shape_.tables; ++table) {
    if (old_keys[table] == new_keys[table]) continue;
    Remove(Index(table, old_keys[table]), id);
    const int64_t bucket = Index(table, new_keys[table]);
    const uint32_t arrival = Load(counts_[bucket]);
    Store(counts_[bucket], static_cast<int32_t>(arrival + 1));
    Put(bucket, arrival, id);
  }
}

void HashTables::Remove(int64_t bucket, int32_t id) {
  const std::span<int32_t> held(ids_ + bucket * shape_.bucket, Held(bucket));
  if (std::find(held.begin(), held.end(), id) == held.end()) return;
  std::vector<int32_t> kept(held.begin(), held.end());
  const uint32_t arrivals = Load(counts_[bucket]);
  if (shape_.policy == BucketPolicy::kFifo && arrivals > held.size())  // the oldest to the front
    std::rotate(kept.begin(), kept.begin() + arrivals % held.size(), kept.end());
  kept.erase(std::find(kept.begin(), kept.end(), id));
  Store(counts_[bucket], static_cast<int32_t>(kept.size()));
  for (size_t slot = 0; slot < kept.size(); ++slot) Store(held[slot], kept[slot]);
  Store(held[kept.size()], kNoId);
}

std::span<const int32_t> HashTables::Bucket(int table, uint32_t key) const {
  const int64_t bucket = Index(table, key);
  if (!shape_.packed()) return {ids_ + bucket * shape_.bucket, static_cast<size_t>(Held(bucket))};
  const int32_t* starts = counts_ + StartOf(table, key);
  const auto begin = static_cast<int32_t>(Load(starts[0]));
  const int32_t held = static_cast<int32_t>(Load(starts[1])) - begin;
  return {ids_ + table * (places_ / shape_.tables) + begin,
          static_cast<size_t>(std::clamp(held, 0, shape_.bucket))};
}

BucketLoads HashTables::Loads() const {
  BucketLoads loads;
  int64_t held = 0, filled = 0;
  for (int table = 0; table < shape_.tables; ++table)
    for (uint32_t key = 0; key < uint32_t{1} << shape_.key_bits; ++key) {
      const auto load = static_cast<int64_t>(Bucket(table, key).size());
      held += load, filled += load > 0 ? 1 : 0;
      loads.fullest = std::max(loads.fullest, load);
    }
  if (filled > 0) loads.mean = static_cast<double>(held) / static_cast<double>(filled);
  return loads;
}

void HashTables::Build(const uint32_t* keys) {
  Check(shape_.packed(), "only packed tables are built as a whole");
#pragma omp parallel for schedule(dynamic) num_threads(KernelThreads())
  for (int table = 0; table < shape_.tables; ++table) BuildTable(table, keys + table * shape_.rows);
}

/// Counts the arrivals, then puts the ids at their places.
void HashTables::BuildTable(int table, const uint32_t* keys) {
  std::vector<uint32_t> arrivals(size_t{1} << shape_.key_bits);
  for (int64_t id = 0; id < shape_.rows; ++id) ++arrivals[keys[id]];
  int32_t* starts = counts_ + StartOf(table, 0);
  Store(starts[0], 0);
  for (size_t key = 0; key < arrivals.size(); ++key)
    Store(starts[key + 1],
          starts[key] + std::min(static_cast<int32_t>(arrivals[key]), shape_.bucket));
  std::ranges::fill(arrivals, 0);
  int32_t* ids = ids_ + table * (places_ / shape_.tables);
  for (int32_t id = 0; id < shape_.rows; ++id) {
    const int64_t slot = SlotFor(Index(table, keys[id]), arrivals[keys[id]]++, id);
    if (slot >= 0) Store(ids[starts[keys[id]] + slot], id);
  }
}

}  // namespace yoke
