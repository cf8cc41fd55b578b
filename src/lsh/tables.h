// HashTables: L tables of buckets that hold ids of rows by their keys, in bounded memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "base/fetch_ahead.h"
#include "tensor/device.h"

namespace yoke {

/// What a full bucket does with one more id.
enum class BucketPolicy : uint8_t {
  kFifo,       ///< The oldest id goes.
  kReservoir,  ///< Each id that came stays with equal probability (Vitter's algorithm R).
};

struct TableShape {
  int tables = 1;    ///< L
  int key_bits = 1;  ///< 2^key_bits buckets a table.
  int bucket = 128;  ///< Most ids a bucket holds.
  BucketPolicy policy = BucketPolicy::kFifo;
  uint64_t seed =
      1;  ///< Of a reservoir's draws, which depend on table, bucket, arrival and id only.
};

class HashTables {
 public:
  static constexpr int32_t kNoId = -1;  ///< An empty slot.

  /// Throws UserError on a shape that cannot be.
  explicit HashTables(const TableShape& shape);

  /// Empties all buckets.
  void Clear();
  /// Adds `id` under its L keys. Lock-free: threads may insert and query at the same time; a query
  /// may then miss an id that is on its way, but never reads one that was not inserted.
  void Insert(const uint32_t* keys, int32_t id);
  /// Adds ids first, first + 1, ... with keys [count, L], on the kernel threads of the caller; the
  /// result is that of inserting them in order, whatever the number of threads. The only writer
  /// while it runs; threads may query.
  void InsertMany(const uint32_t* keys, int32_t first, int64_t count);
  /// Takes `id` from the buckets of its old keys where they differ from the new ones and adds it
  /// there. For one writer at a time; threads may query. A full bucket that loses an id has room
  /// for the next; an id that the bucket did not hold leaves no trace. A reservoir's law from the
  /// last loss on: with h ids held then and n that came since, each of these h + n is held with
  /// probability bucket / (h + n), or 1 where all fit; ids turned away before stay away.
  void Move(const uint32_t* old_keys, const uint32_t* new_keys, int32_t id);
  /// The ids in one bucket (the order is not specified). Valid until the next change; while other
  /// threads insert, slots are read by Read(), and one may hold kNoId.
  std::span<const int32_t> Bucket(int table, uint32_t key) const;
  /// What a slot of Bucket() holds while other threads may insert.
  static int32_t Read(const int32_t& slot) {
    return std::atomic_ref(const_cast<int32_t&>(slot)).load(std::memory_order_relaxed);
  }
  /// Asks for a bucket's ids, respectively for its count, from memory.
  void PrefetchIds(int table, uint32_t key) const {
    FetchAhead(ids_ + Index(table, key) * shape_.bucket, shape_.bucket, shape_.bucket);
  }
  void PrefetchCount(int table, uint32_t key) const { FetchAhead(counts_ + Index(table, key)); }

  const TableShape& shape() const { return shape_; }
  int64_t bytes() const { return memory_.bytes(); }
  /// What tables of a shape would hold. Throws UserError on a shape that cannot be.
  static int64_t BytesOf(const TableShape& shape);
  /// All there is to keep for going on identically: numbers to copy out and back.
  std::span<int32_t> ids() { return {ids_, static_cast<size_t>(buckets_ * shape_.bucket)}; }
  std::span<int32_t> counts() { return {counts_, static_cast<size_t>(buckets_)}; }  ///< Arrivals.

 private:
  int64_t Index(int table, uint32_t key) const {
    return (static_cast<int64_t>(table) << shape_.key_bits) + key;
  }
  int64_t Held(int64_t bucket) const;
  /// Where `id` goes as the arrival-th of a bucket; -1: nowhere.
  int64_t SlotFor(int64_t bucket, uint32_t arrival, int32_t id) const;
  void Put(int64_t bucket, uint32_t arrival, int32_t id);
  void InsertInto(int table, const uint32_t* keys, int32_t first, int64_t count);
  void Remove(int64_t bucket, int32_t id);

  TableShape shape_;
  int64_t buckets_;  ///< Of all tables.
  Buffer memory_;    ///< Of both of these:
  int32_t* ids_;     ///< [tables, buckets, bucket]
  int32_t* counts_;  ///< [tables, buckets]
};

}  // namespace yoke
