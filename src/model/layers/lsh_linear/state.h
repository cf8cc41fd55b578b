// LshState: the hash tables of one hashed layer and the schedule of their rebuilds.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "lsh/family.h"
#include "lsh/tables.h"
#include "model/layer.h"
#include "model/layers/lsh_linear/settings.h"

namespace yoke::layer {

/// Rebuilds are incremental and need no extra thread: each step hashes some of the rows into a
/// second set of tables, which replaces the first when it is complete. So runs are reproducible,
/// and no step waits for a rebuild. The state has nothing that is not in Tensors(); their memory is
/// allocated on first use.
class LshState : public LayerState {
 public:
  explicit LshState(const LshSettings& settings);

  /// Call before each training step with the current rows [outputs, inputs]. The first call draws
  /// the hash functions from `seed` and builds the tables.
  void Prepare(const float* weights, uint64_t seed);
  /// Marks rows that are about to be updated.
  void Touch(std::span<const int32_t> ids);

  const Hasher& hasher() const { return *hasher_; }
  const HashTables& tables() const { return tables_.front(); }
  int64_t rebuilds() const { return position_[kRebuilds]; }

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
  int sets() const { return settings_.rehash_touched ? 1 : 2; }
  void Allocate();
  bool Due(const float* weights);
  int64_t Interval() const;
  bool Building() const { return position_[kProgress] >= 0; }
  void Start();
  /// Hashes the next `count` rows; switches to the new tables when they are complete.
  void Advance(const float* weights, int64_t count);
  void TakeOver();
  void MoveTouched(const float* weights);
  /// Fraction of the watched rows' codes that have changed since the tables were built.
  double Moved(const float* weights) const;
  void WatchRows(const float* weights);
  void KeysOf(const Hasher& hasher, const float* weights, std::span<const int32_t> rows,
              uint32_t* keys) const;
  /// Identifies the kind of hash functions: family and K.
  int32_t Functions() const;
  std::unique_ptr<Hasher> MakeHasher(int32_t generation) const;

  LshSettings settings_;
  /// The tables in use and, unless rehash_touched, those being built.
  std::vector<HashTables> tables_;
  std::unique_ptr<Hasher> hasher_, next_;
  std::vector<int32_t> position_;
  std::vector<int32_t> watched_;        ///< A sample of rows, to estimate how many codes changed.
  std::vector<uint32_t> watched_keys_;  ///< Their keys when the tables were built.
  std::vector<uint32_t> keys_;          ///< Keys of all rows; only with rehash_touched.
  std::vector<int32_t> touched_;        ///< 1 for updated rows; only with rehash_touched.
  std::vector<uint32_t> slice_;
};

}  // namespace yoke::layer
