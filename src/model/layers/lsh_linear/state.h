// LshState: the hash tables of one hashed layer and the schedule of their rebuilds.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "lsh/family.h"
#include "lsh/tables.h"
#include "model/layer.h"
#include "model/layer_counts.h"
#include "model/layers/lsh_linear/settings.h"

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
};

/// Rebuilds are incremental and need no extra thread: each step hashes some of the rows into a
/// second set of tables, which replaces the first when it is complete. So runs are reproducible,
/// and no step waits for a rebuild; only packed tables keep the rows' keys instead, and the step
/// that completes these waits until the tables are built from them. Without hashing it only counts.
/// The state has nothing that is not in Tensors(); their memory is allocated on first use.
class LshState : public LayerState, public LayerCounts {
 public:
  explicit LshState(const LshSettings& settings);

  /// Call before each training step with the current rows [outputs, inputs], f32 or bf16. The first
  /// call draws the hash functions from `seed` and builds the tables.
  void Prepare(const ConstTensor& weights, uint64_t seed);
  /// Marks rows that are about to be updated.
  void Touch(std::span<const int32_t> ids);

  const Hasher& hasher() const { return *hasher_; }
  const HashTables& tables() const { return tables_.front(); }
  int64_t rebuilds() const { return position_[kRebuilds]; }

  LshCounts counts;
  std::vector<std::pair<std::string, double>> TakeCounts() override;
  double Seconds() const override { return counts.passes; }

  std::vector<StateTensor> Tensors() override;
  void Restored() override;
  int64_t Bytes() const override;

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

  /// Number of table sets.
  int sets() const { return settings_.rehash_touched || shape_.packed() ? 1 : 2; }
  void Allocate();
  bool Due(const ConstTensor& weights);
  int64_t Interval() const;
  bool Building() const { return position_[kProgress] >= 0; }
  void Start();
  /// Hashes the next `count` rows; switches to the new tables when they are complete.
  void Advance(const ConstTensor& weights, int64_t count);
  /// Keeps the slice's keys of rows from `begin` on until all are there.
  void KeepKeys(int64_t begin, int64_t count);
  void TakeOver();
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
  /// The tables in use and, unless rehash_touched, those being built.
  std::vector<HashTables> tables_;
  std::unique_ptr<Hasher> hasher_, next_;
  std::vector<int32_t> position_;
  std::vector<int32_t> watched_;        ///< A sample of rows, to estimate how many codes changed.
  std::vector<uint32_t> watched_keys_;  ///< Their keys when the tables were built.
  std::vector<uint32_t> keys_;          ///< Keys of all rows; only with rehash_touched.
  std::vector<uint32_t> next_keys_;     ///< Those hashed so far [L, outputs]; only if packed.
  std::vector<int32_t> touched_;        ///< 1 for updated rows; only with rehash_touched.
  std::vector<uint32_t> slice_;
};

}  // namespace yoke::layer
