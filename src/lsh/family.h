// Hash families: functions under which similar vectors fall into the same bucket more often than
// dissimilar ones (locality-sensitive hashing).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace yoke {

struct HashShape {
  int64_t inputs = 0;  ///< Length of the vectors.
  int hashes = 1;      ///< K: hashes that make one table's key.
  int tables = 1;      ///< L: keys a vector.
  uint64_t seed = 1;
  bool reference = false;  ///< Only the plain loops (tests; plain machines).
  bool avx512 = true;      ///< False: as a machine without AVX-512.
};

/// The drawn functions of one family: L keys of K hashes each. Immutable: threads may share it.
class Hasher {
 public:
  virtual ~Hasher() = default;
  /// Bits of one table's key: K times the family's bits a hash; at most kMaxKeyBits.
  virtual int key_bits() const = 0;
  /// Keys of dense vectors `stride` numbers apart, in the calling thread: keys[i * L + l] <
  /// 2^key_bits().
  virtual void Keys(const float* vectors, int64_t count, int64_t stride, uint32_t* keys) const = 0;
  /// The same for sparse rows: equal to the keys of the rows written out densely.
  virtual void Keys(const SparseRows& rows, uint32_t* keys) const = 0;
  /// What was chosen: "avx512", "avx2", "reference".
  virtual std::string name() const = 0;
};

inline constexpr int kMaxKeyBits = 24;

/// An entry of the list of hash families (src/lsh/families.def).
struct HashFamilyEntry {
  std::string name;
  std::string summary;
  int bits = 1;  ///< Of one hash.
  /// Throws UserError when K times bits is more than kMaxKeyBits.
  std::unique_ptr<Hasher> (*make)(const HashShape& shape);
};
const std::vector<HashFamilyEntry>& hash_families();

}  // namespace yoke
