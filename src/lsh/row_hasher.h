// RowHasher: base of the families. It hashes one row at a time by its nonzero coordinates (sparse
// rows, the reference), or sixteen dense rows at a time.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "base/random.h"
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

  // A key's hashes are computed in words of at most kMaxKeyBits bits.

  /// A row's key; code() gives its K codes, one after the other.
  template <typename Code>
  uint32_t Key(Code code) const {
    uint64_t folded = 0;
    for (int first = 0; first < shape_.hashes; first += hashes_a_word_) {
      uint32_t word = 0;
      for (int k = 0; k < HashesOf(first); ++k) word = word << bits_a_hash_ | code();
      folded = Fold(folded, word);
    }
    return Slot(folded);
  }
  /// One table's keys of `count` rows, L apart; word_of(first, hashes, word) computes the word of
  /// sixteen rows that begins with the first-th hash.
  template <typename WordOf>
  void StoreKeys(int64_t count, uint32_t* keys, WordOf word_of) const {
    std::array<uint64_t, kLanes> folded = {};
    for (int first = 0; first < shape_.hashes; first += hashes_a_word_) {
      Ints word;
      word_of(first, HashesOf(first), word);
      for (int row = 0; row < kLanes; ++row)
        folded[row] = Fold(folded[row], static_cast<uint32_t>(word.v[row]));
    }
    for (int64_t row = 0; row < count; ++row) keys[row * shape_.tables] = Slot(folded[row]);
  }

  const HashShape& shape() const { return shape_; }
  int64_t all_hashes() const { return int64_t{shape_.hashes} * shape_.tables; }
  bool avx512() const { return avx512_; }

 private:
  /// Hashes of the word that begins with the first-th.
  int HashesOf(int first) const { return std::min(hashes_a_word_, shape_.hashes - first); }
  uint64_t Fold(uint64_t folded, uint32_t word) const {
    return folds_ ? Random::Mix((folded ^ word) + 0x9E3779B97F4A7C15ULL) : word;
  }
  uint32_t Slot(uint64_t folded) const {
    return static_cast<uint32_t>(folds_ ? folded >> (64 - key_bits_) : folded);
  }

  HashShape shape_;
  int bits_a_hash_, hashes_a_word_;
  bool folds_;  ///< K hashes have more bits than a slot.
  int key_bits_;
  bool avx512_;
};

}  // namespace yoke
