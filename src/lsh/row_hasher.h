// RowHasher: base of the families. It hashes one row at a time by its nonzero coordinates (sparse
// rows, the reference), or sixteen dense rows at a time.
#pragma once

#include <span>
#include <string>

#include "lsh/family.h"
#include "lsh/lanes.h"

namespace yoke {

struct Coordinate {
  int32_t id = 0;
  float value = 0;
};

class RowHasher : public Hasher {
 public:
  /// Throws UserError on an invalid shape.
  RowHasher(const HashShape& shape, int bits_a_hash);

  int key_bits() const override { return key_bits_; }
  void Keys(const float* vectors, int64_t count, int64_t stride, uint32_t* keys) const override;
  void Keys(const SparseRows& rows, uint32_t* keys) const override;
  std::string name() const override;

 protected:
  /// Computes the L keys of a row from its nonzero coordinates, in increasing order of ids.
  virtual void RowKeys(std::span<const Coordinate> row, uint32_t* keys) const = 0;
  /// Computes the keys of `count` <= kLanes rows that lie side by side: columns[i] holds element i
  /// of every row (0 for missing rows) and may be overwritten. Called only if blocks() is true.
  virtual void BlockKeys(Floats* columns, int64_t count, uint32_t* keys) const;
  /// Whether dense rows are hashed by BlockKeys().
  virtual bool blocks() const { return false; }

  const HashShape& shape() const { return shape_; }
  int64_t all_hashes() const { return int64_t{shape_.hashes} * shape_.tables; }
  bool avx512() const { return avx512_; }

 private:
  HashShape shape_;
  int key_bits_;
  bool avx512_;
};

}  // namespace yoke
