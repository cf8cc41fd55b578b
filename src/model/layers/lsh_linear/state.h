// LshState: the hash tables of one hashed layer and the schedule of their rebuilds.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "lsh/family.h"
#include "lsh/tables.h"
#include "model/layer.h"
#include "model/layers/lsh_linear/settings.h"
#include "model/output_search.h"

namespace yoke::layer {

/// Of training steps since they were last taken: sums over the active sets, and seconds by part.
struct LshCounts {
  int64_t sets = 0;
  int64_t labels = 0, found = 0, random = 0;  ///< Active ids.
  int64_t empty = 0;                          ///< Sets for which the tables found no id.
  /// What the passes' time goes to. Where parts alternate in a thread, a region's time is divided
  /// as its threads divided theirs.
  double rebuild = 0, hash = 0, query = 0, gather = 0, product = 0, merge = 0;
  double passes = 0;  ///< Forward and Backward in all.

  LshCounts& operator+=(const LshCounts& more);
};

/// What a step queries: tables, and the functions of their keys.
struct LshTables {
  std::shared_ptr<const Hasher> hasher;
  const HashTables* tables = nullptr;
};

/// Rebuilds are incremental and need no extra thread: each step hashes some of the rows into a
/// second set of tables, which replaces the first when it is complete. So runs are reproducible,
/// and no step waits for a rebuild; only packed tables keep the rows' keys instead, and the step
/// that completes these waits until the tables are built from them. Without hashing it only counts.
/// The state has nothing that is not in Tensors(); their memory is allocated on first use.
///
/// Threads that update one copy of the weights without locks (hogwild) share a state: one at a time
/// rebuilds, the others query meanwhile and count steps. Why their races are harmless: entries of
/// tables are read and written atomically, so a query finds ids of rows, also in tables that are
/// cleared or filled meanwhile, though maybe not all; a row marked by Touch but hashed before its
/// update keeps its old keys until it is updated again; weights race as in optim/racing.h.
class LshState : public LayerState, public LayerCounts, public OutputSearch {
 public:
  explicit LshState(const LshSettings& settings);

  /// Call before each training step with the current rows [outputs, inputs], f32 or bf16; returns
  /// what this step queries. The first call draws the hash functions from `seed` and builds the
  /// tables; other threads wait for it.
  LshTables Prepare(const ConstTensor& weights, uint64_t seed);
  /// What a step queries once Prepare has been called for it.
  LshTables InUse();
  /// Marks rows that are about to be updated.
  void Touch(std::span<const int32_t> ids);
  void Count(const LshCounts& more);

  /// The tables in use. Call it between steps, like rebuilds() and what follows.
  const HashTables& tables() const { return tables_[front_]; }
  int64_t rebuilds() const { return position_[kRebuilds]; }

  std::vector<std::pair<std::string, double>> TakeCounts() override;
  double Seconds() const override { return counts_.passes; }

  // A search by the tables in use; the rows may have changed since they were hashed.
  bool ready() const override { return built_; }
  std::string Advice() const override { return AdviceOn(settings_); }
  bool untrained() const override { return rebuilds() == 1; }
  void Keys(const float* hidden, int64_t count, std::vector<uint32_t>& keys) const override;
  void Find(const uint32_t* keys, Marks& marks, std::vector<int32_t>& ids) const override;
  OutputTableSettings search_settings() const override;
  int64_t table_bytes() const override { return tables().bytes(); }

  std::vector<StateTensor> Tensors() override;
  void Restored() override;
  int64_t Bytes() const override;  ///< Of Tensors(), and of the keys of a slice.

 private:
  enum Place {
    kStep,
    kDue,
    kRebuilds,
    kGeneration,
    kNextGeneration,
    kProgress,
    kSeed,
    kFunctions,
    kPlaces
  };

  /// Number of table sets. One is enough where rows move or packed tables are built at once; new
  /// functions need another one for the rows' new keys.
  int sets() const {
    const bool moves = settings_.rehash_touched && settings_.redraw_every == 0;
    return moves || shape_.packed() ? 1 : 2;
  }
  void Allocate();
  HashTables& Back() { return tables_[tables_.size() - 1 - front_]; }
  std::atomic_ref<int32_t> Steps() { return std::atomic_ref(position_[kStep]); }
  /// What Prepare does in the thread whose turn it is.
  void Rebuild(const ConstTensor& weights, uint64_t seed);
  bool Due(const ConstTensor& weights);
  int64_t Interval() const;
  /// Rows that a step hashes.
  int64_t SliceRows() const;
  bool Building() const { return position_[kProgress] >= 0; }
  void Start();
  /// Hashes the next `count` rows; switches to the new tables when they are complete.
  void Advance(const ConstTensor& weights, int64_t count);
  /// Keeps the slice's keys of rows from `begin` on until all are there.
  void KeepKeys(int64_t begin, int64_t count);
  /// Queries use the new tables and functions from here on.
  void TakeOver();
  /// After the tables in use have all rows at their present keys.
  void EndRebuild(const ConstTensor& weights);
  /// The marked rows; they are marked no longer.
  std::vector<int32_t> TakeTouched();
  void MoveTouched(const ConstTensor& weights);
  /// Fraction of the watched rows' codes that have changed since the tables were built.
  double Moved(const ConstTensor& weights) const;
  void WatchRows(const ConstTensor& weights);
  void KeysOf(const Hasher& hasher, const ConstTensor& weights, std::span<const int32_t> rows,
              uint32_t* keys) const;
  /// Identifies the kind of hash functions: family and K.
  int32_t Functions() const;
  std::unique_ptr<Hasher> MakeHasher(int32_t generation) const;

  LshSettings settings_;
  TableShape shape_;
  std::atomic<bool> built_ = false;
  std::mutex turn_;           ///< Held by the thread that rebuilds.
  mutable std::mutex taken_;  ///< Held while hasher_, front_ and counts_ are read or written.
  LshCounts counts_;
  /// The tables in use, at front_, and those being built, unless there is one set.
  std::vector<HashTables> tables_;
  size_t front_ = 0;
  std::shared_ptr<const Hasher> hasher_, next_;
  std::vector<int32_t> position_;
  std::vector<int32_t> watched_;        ///< A sample of rows, to estimate how many codes changed.
  std::vector<uint32_t> watched_keys_;  ///< Their keys when the tables were built.
  std::vector<uint32_t> keys_;          ///< Keys of all rows; only with rehash_touched.
  std::vector<uint32_t> next_keys_;     ///< Those hashed so far [L, outputs]; only if packed.
  std::vector<int32_t> touched_;        ///< 1 for updated rows; only with rehash_touched.
  std::vector<uint32_t> slice_;
};

}  // namespace yoke::layer
