// HashTables: L tables of buckets that hold the ids of rows under their keys, in bounded memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/algorithms.h"
#include "tensor/device.h"

namespace yoke {

/// How a full bucket treats another id.
enum class BucketPolicy : uint8_t {
  kFifo,       ///< The oldest id is replaced.
  kReservoir,  ///< Every id that arrived is kept with equal probability (Vitter's algorithm R).
};

struct TableShape {
  int tables = 1;    ///< L
  int key_bits = 1;  ///< 2^key_bits buckets per table.
  int bucket = 128;  ///< Capacity of a bucket in ids.
  BucketPolicy policy = BucketPolicy::kFifo;
  /// Seed of a reservoir's draws, which depend only on table, bucket, arrival and id.
  uint64_t seed = 1;
  /// Nonzero: packed tables of the ids from 0 to rows - 1, which only Build() fills. They take
  /// memory for ids and buckets, and none for empty places.
  int64_t rows = 0;

  bool packed() const { return rows > 0; }
};

/// How full the buckets are that hold an id.
struct BucketLoads {
  double mean = 0;
  int64_t fullest = 0;
};

class HashTables {
 public:
  static constexpr int32_t kNoId = -1;  ///< An empty slot.

  /// Throws UserError on an invalid shape.
  explicit HashTables(const TableShape& shape);

  /// Empties all buckets, as the only writer; other threads may query. Not of packed tables,
  /// likewise the next three.
  void Clear();
  /// Adds `id` under its L keys. Lock-free: threads may insert and query at the same time. A query
  /// may then miss an id that is being inserted, but never reads one that was not inserted.
  void Insert(const uint32_t* keys, int32_t id);
  /// Adds ids first, first + 1, ... with keys [count, L], using the caller's kernel threads. The
  /// result equals inserting them in order, for any number of threads. It must be the only writer
  /// while it runs; other threads may query.
  void InsertMany(const uint32_t* keys, int32_t first, int64_t count);
  /// Moves ids[i] from the buckets of its keys in old_keys [all ids, L] to those of the i-th of
  /// new_keys [ids, L], in the tables where they differ, using the caller's kernel threads. The
  /// result equals moving one after the other, for any number of threads. One writer at a time;
  /// other threads may query. A full bucket that loses an id has room for another one; removing an
  /// id that a bucket does not hold has no effect. A reservoir is uniform from its last removal on:
  /// with h ids held then and n arrivals since, each of these h + n ids is held with probability
  /// bucket / (h + n), or 1 if all fit. Ids rejected earlier stay rejected.
  void MoveMany(const uint32_t* old_keys, const uint32_t* new_keys, std::span<const int32_t> ids);
  /// Fills packed tables by keys [L, rows], using the caller's kernel threads. The buckets are
  /// those that InsertMany would leave in empty tables, for any number of threads. Other threads
  /// may query: until it ends, a bucket may hold ids of others.
  void Build(const uint32_t* keys);
  /// The ids in one bucket, in unspecified order. Valid until the next change. While other threads
  /// insert, read the slots with Read(); a slot may then hold kNoId.
  std::span<const int32_t> Bucket(int table, uint32_t key) const;
  /// The value of a slot of Bucket() while other threads may insert.
  static int32_t Read(const int32_t& slot) {
    return std::atomic_ref(const_cast<int32_t&>(slot)).load(std::memory_order_relaxed);
  }
  /// Prefetches a bucket's ids, or its count.
  void PrefetchIds(int table, uint32_t key) const {
    if (shape_.packed()) {
      const std::span<const int32_t> ids = Bucket(table, key);
      return FetchAhead(ids.data(), static_cast<int64_t>(ids.size()));
    }
    FetchAhead(ids_ + Index(table, key) * shape_.bucket, shape_.bucket, shape_.bucket);
  }
  void PrefetchCount(int table, uint32_t key) const {
    FetchAhead(counts_ + (shape_.packed() ? StartOf(table, key) : Index(table, key)));
  }
  BucketLoads Loads() const;

  const TableShape& shape() const { return shape_; }
  int64_t bytes() const { return memory_.bytes(); }
  /// Bytes that tables of this shape would take. Throws UserError on an invalid shape.
  static int64_t BytesOf(const TableShape& shape);
  /// The complete state, to be copied out and back for an identical continuation.
  std::span<int32_t> ids() { return {ids_, static_cast<size_t>(places_)}; }
  /// Arrivals; of packed tables, where each bucket starts.
  std::span<int32_t> counts() {
    return {counts_, static_cast<size_t>(memory_.bytes() / sizeof(int32_t) - places_)};
  }

 private:
  int64_t Index(int table, uint32_t key) const {
    return (static_cast<int64_t>(table) << shape_.key_bits) + key;
  }
  /// Where counts_ of packed tables says at which of the table's ids a bucket starts.
  int64_t StartOf(int table, uint32_t key) const { return Index(table, key) + table; }
  int64_t Held(int64_t bucket) const;
  /// The slot of `id` as the arrival-th id of a bucket; -1: it is rejected.
  int64_t SlotFor(int64_t bucket, uint32_t arrival, int32_t id) const;
  void Put(int64_t bucket, uint32_t arrival, int32_t id);
  void Remove(int64_t bucket, int32_t id);

  /// Some of a table's buckets, for one thread.
  struct Share {
    int table = 0;
    uint32_t first = 0, end = 0;
    bool Has(uint32_t key) const { return key - first < end - first; }
  };
  /// An id and the bucket to which it comes.
  struct Arrival {
    int64_t bucket = 0;
    int32_t id = 0;
  };
  /// All buckets in shares that keep the caller's kernel threads busy, by table and key.
  std::vector<Share> Shares() const;
  void InsertInto(const Share& share, const uint32_t* keys, int32_t first, int64_t count);
  void InsertAll(std::span<const Arrival> arrivals);
  /// Puts an id into a bucket while nobody else writes to it.
  void Append(const Arrival& arrival);
  void MoveIn(const Share& share, uint32_t old_key, uint32_t new_key, int32_t id);
  /// Writes how many of the ids each bucket keeps behind its start; returns their sum.
  int32_t CountIn(const Share& share, const uint32_t* keys);
  void FillIn(const Share& share, int32_t start, const uint32_t* keys);

  TableShape shape_;
  int64_t buckets_;  ///< Total over all tables,
  int64_t places_;   ///< as of places for ids.
  Buffer memory_;    ///< Holds both arrays:
  int32_t* ids_;     ///< [tables, buckets, bucket], or packed [tables, places / tables]
  int32_t* counts_;  ///< [tables, buckets], or packed [tables, buckets + 1]
};

}  // namespace yoke
