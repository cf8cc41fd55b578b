// HashTables: L tables of buckets that hold ids of rows by their keys, in bounded memory.
// Cost of an insert: one count and one slot of each of L buckets. Where threads race: a slot is
// taken by counting up atomically, so no two inserts share one before the bucket is full; a reader
// that sees the count before the id finds kNoId or the slot's former id, and both are harmless.
#include "lsh/tables.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "base/resources.h"
#include "kernels/threads.h"
#include "lsh/family.h"

namespace yoke {
namespace {

constexpr uint64_t kReservoirDraws = 0x7265736572766f69;
constexpr int64_t kAhead = 16;       ///< Inserts whose counts are on their way from memory.
constexpr int64_t kArrivals = 1024;  ///< Ids that a thread takes from a list of keys at a time.
/// Enough that threads which end first wait little; each share reads all keys of its table.
constexpr uint64_t kSharesAThread = 4;

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
int64_t EntriesOf(const TableShape& shape) {
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
  const double bytes = 4.0 * static_cast<double>(EntriesOf(shape));
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
  return EntriesOf(shape) * static_cast<int64_t>(sizeof(int32_t));
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

std::vector<HashTables::Share> HashTables::Shares() const {
  const auto buckets = uint64_t{1} << shape_.key_bits;
  const auto threads = static_cast<uint64_t>(KernelThreads());
  const auto tables = static_cast<uint64_t>(shape_.tables);
  const uint64_t parts =
      threads == 1 ? 1 : std::min(buckets, (kSharesAThread * threads + tables - 1) / tables);
  std::vector<Share> shares;
  for (int table = 0; table < shape_.tables; ++table)
    for (uint64_t part = 0; part < parts; ++part)
      shares.push_back({.table = table,
                        .first = static_cast<uint32_t>(buckets * part / parts),
                        .end = static_cast<uint32_t>(buckets * (part + 1) / parts)});
  return shares;
}

void HashTables::InsertMany(const uint32_t* keys, int32_t first, int64_t count) {
  const std::vector<Share> shares = Shares();
#pragma omp parallel for schedule(dynamic) num_threads(KernelThreads())
  for (const Share& share : shares) InsertInto(share, keys, first, count);
}

void HashTables::InsertInto(const Share& share, const uint32_t* keys, int32_t first,
                            int64_t count) {
  std::array<Arrival, kArrivals> arrivals;
  for (int64_t begin = 0; begin < count; begin += kArrivals) {
    size_t ours = 0;
    for (int64_t i = begin; i < std::min(count, begin + kArrivals); ++i) {
      const uint32_t key = keys[i * shape_.tables + share.table];
      arrivals[ours] = {Index(share.table, key), first + static_cast<int32_t>(i)};
      ours += share.Has(key) ? 1 : 0;
    }
    InsertAll({arrivals.data(), ours});
  }
}

void HashTables::InsertAll(std::span<const Arrival> arrivals) {
  for (size_t i = 0; i < arrivals.size(); ++i) {
    if (i + kAhead < arrivals.size()) __builtin_prefetch(&counts_[arrivals[i + kAhead].bucket], 1);
    if (i + kAhead / 2 < arrivals.size()) {
      const int64_t soon = arrivals[i + kAhead / 2].bucket;
      const auto slot = static_cast<uint32_t>(counts_[soon]) % static_cast<uint32_t>(shape_.bucket);
      __builtin_prefetch(&ids_[soon * shape_.bucket + slot], 1);
    }
    Append(arrivals[i]);
  }
}

void HashTables::Append(const Arrival& arrival) {
  int32_t& count = counts_[arrival.bucket];
  const uint32_t before = Load(count);
  Store(count, static_cast<int32_t>(before + 1));
  Put(arrival.bucket, before, arrival.id);
}

void HashTables::MoveMany(const uint32_t* old_keys, const uint32_t* new_keys,
                          std::span<const int32_t> ids) {
  const std::vector<Share> shares = Shares();
  const int64_t tables = shape_.tables;
#pragma omp parallel for schedule(dynamic) num_threads(KernelThreads())
  for (const Share& share : shares)
    for (size_t i = 0; i < ids.size(); ++i)
      MoveIn(share, old_keys[ids[i] * tables + share.table], new_keys[i * tables + share.table],
             ids[i]);
}

void HashTables::MoveIn(const Share& share, uint32_t old_key, uint32_t new_key, int32_t id) {
  if (old_key == new_key) return;
  if (share.Has(old_key)) Remove(Index(share.table, old_key), id);
  if (share.Has(new_key)) Append({Index(share.table, new_key), id});
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
  int64_t held = 0, filled = 0, fullest = 0;
  const int64_t keys = int64_t{1} << shape_.key_bits;
#pragma omp parallel for schedule(static) reduction(+ : held, filled) reduction(max : fullest)
  for (int64_t bucket = 0; bucket < buckets_; ++bucket) {
    const auto load =
        std::ssize(Bucket(static_cast<int>(bucket / keys), static_cast<uint32_t>(bucket % keys)));
    held += load, filled += load > 0 ? 1 : 0;
    fullest = std::max(fullest, load);
  }
  if (filled > 0) loads.mean = static_cast<double>(held) / static_cast<double>(filled);
  loads.fullest = fullest;
  return loads;
}

/// In place, beside queries. These stay in bounds because memory was zeroed at first: each start
/// that one reads is 0, a former or new start, or a count, none more than a table's places, and
/// each place holds the id of a row.
void HashTables::Build(const uint32_t* keys) {
  Check(shape_.packed(), "only packed tables are built as a whole");
  const std::vector<Share> shares = Shares();
  const auto keys_of = [&](size_t s) { return keys + shares[s].table * shape_.rows; };
  std::vector<int32_t> starts(shares.size());
#pragma omp parallel for schedule(dynamic) num_threads(KernelThreads())
  for (size_t s = 0; s < shares.size(); ++s) starts[s] = CountIn(shares[s], keys_of(s));
  int32_t start = 0;
  for (size_t s = 0; s < shares.size(); ++s) {
    if (shares[s].first == 0) start = 0;
    start += std::exchange(starts[s], start);
  }
#pragma omp parallel for schedule(dynamic) num_threads(KernelThreads())
  for (size_t s = 0; s < shares.size(); ++s) FillIn(shares[s], starts[s], keys_of(s));
}

int32_t HashTables::CountIn(const Share& share, const uint32_t* keys) {
  int32_t* counts = counts_ + StartOf(share.table, 0) + 1;
  for (uint32_t key = share.first; key < share.end; ++key) Store(counts[key], 0);
  for (int64_t id = 0; id < shape_.rows; ++id) {
    if (!share.Has(keys[id])) continue;
    int32_t& count = counts[keys[id]];
    if (count < shape_.bucket) Store(count, count + 1);
  }
  return std::accumulate(counts + share.first, counts + share.end, 0);
}

/// Turns what CountIn has written into the starts of the buckets, and puts the ids at their places.
void HashTables::FillIn(const Share& share, int32_t start, const uint32_t* keys) {
  struct Filling {
    int32_t start;
    uint32_t arrivals;
  };
  std::vector<Filling> buckets;
  int32_t* starts = counts_ + StartOf(share.table, 0);
  if (share.first == 0) Store(starts[0], 0);
  for (uint32_t key = share.first; key < share.end; ++key) {
    buckets.push_back({start, 0});
    start += starts[key + 1];
    Store(starts[key + 1], start);
  }
  int32_t* ids = ids_ + share.table * (places_ / shape_.tables);
  for (int32_t id = 0; id < shape_.rows; ++id) {
    if (!share.Has(keys[id])) continue;
    Filling& bucket = buckets[keys[id] - share.first];
    const int64_t slot = SlotFor(Index(share.table, keys[id]), bucket.arrivals++, id);
    if (slot >= 0) Store(ids[bucket.start + slot], id);
  }
}

}  // namespace yoke
