// LshState: the hash tables of one hashed layer, and when they are built anew.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "lsh/family.h"
#include "lsh/tables.h"
#include "model/layer.h"
#include "model/layers/lsh_settings.h"

namespace yoke::layer {

/// A rebuild runs beside training without a thread of its own: each step hashes a slice of the rows
/// into a second set of tables, which takes over when it is whole. So a run repeats exactly, and no
/// step waits for a rebuild. The state holds nothing that is not in Tensors(); their memory is
/// taken when they are first used.
class LshState : public LayerState {
 public:
  explicit LshState(const LshSettings& settings);

  /// Before a training step: `weights` are the rows [outputs, inputs] now; the first call draws the
  /// hash functions from `seed` and builds the tables.
  void Prepare(const float* weights, uint64_t seed);
  /// These rows are about to be updated.
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

  /// Sets of tables.
  int sets() const { return settings_.rehash_touched ? 1 : 2; }
  void Allocate();
  bool Due(const float* weights);
  int64_t Interval() const;
  bool Building() const { return position_[kProgress] >= 0; }
  void Start();
  /// Hashes the next `count` rows; takes over the tables when they are whole.
  void Advance(const float* weights, int64_t count);
  void TakeOver();
  void MoveTouched(const float* weights);
  /// Share of the watched rows' codes that are others than when the tables were built.
  double Moved(const float* weights) const;
  void WatchRows(const float* weights);
  void KeysOf(const Hasher& hasher, const float* weights, std::span<const int32_t> rows,
              uint32_t* keys) const;
  /// A number for the kind of hash functions: family and K.
  int32_t Functions() const;
  std::unique_ptr<Hasher> MakeHasher(int32_t generation) const;

  LshSettings settings_;
  std::vector<HashTables> tables_;  ///< In use; and, unless only touched rows move, under way.
  std::unique_ptr<Hasher> hasher_, next_;
  std::vector<int32_t> position_;
  std::vector<int32_t> watched_;        ///< Rows whose codes tell how much all have moved.
  std::vector<uint32_t> watched_keys_;  ///< When the tables were built.
  std::vector<uint32_t> keys_;          ///< Of all rows; only where touched rows are moved.
  std::vector<int32_t> touched_;        ///< 1 for rows updated since; the same.
  std::vector<uint32_t> slice_;
};

}  // namespace yoke::layer
