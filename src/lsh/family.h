// Hash families for locality-sensitive hashing: similar vectors get the same key more often than
// dissimilar ones.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace yoke {

/// Keys of up to so many bits are slots of a table as they are.
inline constexpr int kMaxKeyBits = 24;

struct HashShape {
  int64_t inputs = 0;  ///< Length of the vectors.
  int hashes = 1;      ///< K: hashes per key.
  int tables = 1;      ///< L: keys per vector.
  /// 1 to kMaxKeyBits. K hashes of more bits together are folded: all bits are mixed into so many.
  int slot_bits = kMaxKeyBits;
  uint64_t seed = 1;
  bool reference = false;  ///< Use only the plain loops (tests, machines without AVX2).
  bool avx512 = true;      ///< False: behave like a machine without AVX-512.
};

/// The drawn functions of one family: L keys of K hashes each. Immutable: threads may share it.
class Hasher {
 public:
  virtual ~Hasher() = default;
  /// Bits per key: K times the family's bits per hash, at most slot_bits.
  virtual int key_bits() const = 0;
  /// Computes the keys of dense vectors that lie `stride` elements apart, in the calling thread:
  /// keys[i * L + l] < 2^key_bits().
  virtual void Keys(const float* vectors, int64_t count, int64_t stride, uint32_t* keys) const = 0;
  /// The same for sparse rows; equal to the keys of the dense rows.
  virtual void Keys(const SparseRows& rows, uint32_t* keys) const = 0;
  /// The implementation in use: "avx512", "avx2" or "reference".
  virtual std::string name() const = 0;
};

/// An entry of the list of hash families (src/lsh/families.def).
struct HashFamilyEntry {
  std::string name;
  std::string summary;
  int bits = 1;  ///< Bits per hash.
  /// Throws UserError on an invalid shape.
  std::unique_ptr<Hasher> (*make)(const HashShape& shape);
};
const std::vector<HashFamilyEntry>& hash_families();

}  // namespace yoke
