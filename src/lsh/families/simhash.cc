// SimHash (Charikar 2002) with sparse signed projections (Achlioptas 2003): a hash adds up a third
// of the coordinates, each with a drawn sign, and is 1 where the sum is positive. Two vectors agree
// in one hash with probability 1 - angle / pi.
// Cost a dense row: K * L * inputs / 3 additions, sixteen rows an instruction. All paths add the
// coordinates of sign + and those of sign - apart, each in increasing order, so they agree exactly.
#include <vector>

#include "base/random.h"
#include "lsh/row_hasher.h"

namespace yoke {
namespace {

constexpr uint64_t kDraws = 0x73696d68617368;
constexpr int64_t kWidestBlock = 1 << 12;  ///< Inputs up to which dense rows go in blocks.

/// A hash's coordinates: first those of sign +, from middle on those of sign -.
struct Terms {
  int64_t begin = 0, middle = 0, end = 0;
};

template <typename Vector>
[[gnu::always_inline]] inline void AddTerms(const Floats* columns, const int32_t* begin,
                                            const int32_t* end, int part, Vector& sum) {
  for (; begin != end; ++begin) {
    Vector values;
    Load(columns[*begin], part, values);
    sum += values;
  }
}

/// One table's keys of sixteen rows.
template <typename Isa>
[[gnu::always_inline]] inline void Project(const Floats* columns, const Terms* hashes, int count,
                                           const int32_t* coordinates, Ints& keys) {
  for (int part = 0; part < kParts<Isa>; ++part) {
    typename Isa::Int key = {};
    for (int k = 0; k < count; ++k) {
      typename Isa::Float plus = {}, minus = {};
      const auto [begin, middle, end] = hashes[k];
      AddTerms(columns, coordinates + begin, coordinates + middle, part, plus);
      AddTerms(columns, coordinates + middle, coordinates + end, part, minus);
      key = key * 2 - (plus > minus);  // true is -1
    }
    Save(key, part, keys);
  }
}

void ProjectAvx2(const Floats* columns, const Terms* hashes, int count, const int32_t* coordinates,
                 Ints& keys) {
  Project<Avx2>(columns, hashes, count, coordinates, keys);
}

[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]] void ProjectAvx512(
    const Floats* columns, const Terms* hashes, int count, const int32_t* coordinates, Ints& keys) {
  Project<Avx512>(columns, hashes, count, coordinates, keys);
}

/// Adds one coordinate of a row to all sums: plus[h] or minus[h] by the sign of each hash.
[[gnu::always_inline]] inline void AddValue(const int8_t* signs, int64_t hashes, float value,
                                            float* __restrict plus, float* __restrict minus) {
  for (int64_t h = 0; h < hashes; ++h) {
    plus[h] += signs[h] > 0 ? value : 0.0F;
    minus[h] += signs[h] < 0 ? value : 0.0F;
  }
}

void AddValueAvx2(const int8_t* signs, int64_t hashes, float value, float* plus, float* minus) {
  AddValue(signs, hashes, value, plus, minus);
}

[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")]] void AddValueAvx512(
    const int8_t* signs, int64_t hashes, float value, float* plus, float* minus) {
  AddValue(signs, hashes, value, plus, minus);
}

class SimHash : public RowHasher {
 public:
  explicit SimHash(const HashShape& shape) : RowHasher(shape, 1) {
    signs_.resize(shape.inputs * all_hashes());
    for (int64_t h = 0; h < all_hashes(); ++h) DrawSigns(h);
    if (blocks())
      for (int64_t h = 0; h < all_hashes(); ++h) ListTerms(h);
  }

 protected:
  bool blocks() const override { return shape().inputs <= kWidestBlock; }

  void BlockKeys(Floats* columns, int64_t count, uint32_t* keys) const override {
    const auto project = avx512() ? ProjectAvx512 : ProjectAvx2;
    for (int table = 0; table < shape().tables; ++table) {
      Ints key;
      project(columns, &terms_[int64_t{table} * shape().hashes], shape().hashes,
              coordinates_.data(), key);
      StoreKeys(key, count, shape().tables, keys + table);
    }
  }

  void RowKeys(std::span<const Coordinate> row, uint32_t* keys) const override {
    const int64_t hashes = all_hashes();
    std::vector<float> sums(2 * hashes);
    float* plus = sums.data();
    float* minus = plus + hashes;
    const auto add = avx512() ? AddValueAvx512 : AddValueAvx2;
    for (const Coordinate& c : row) add(&signs_[c.id * hashes], hashes, c.value, plus, minus);
    for (int table = 0; table < shape().tables; ++table) {
      uint32_t key = 0;
      for (int k = 0; k < shape().hashes; ++k) key = key * 2 + (*plus++ > *minus++ ? 1 : 0);
      keys[table] = key;
    }
  }

 private:
  int8_t& sign(int64_t input, int64_t hash) { return signs_[input * all_hashes() + hash]; }

  void DrawSigns(int64_t hash) {
    Random random{shape().seed, kDraws, static_cast<uint64_t>(hash)};
    bool none = true;
    for (int64_t i = 0; i < shape().inputs; ++i) {
      const uint64_t draw = random.Below(6);
      sign(i, hash) = static_cast<int8_t>(draw == 0 ? 1 : draw == 1 ? -1 : 0);
      none = none && draw > 1;
    }
    if (none) sign(static_cast<int64_t>(random.Below(shape().inputs)), hash) = 1;
  }

  void ListTerms(int64_t hash) {
    Terms terms{.begin = static_cast<int64_t>(coordinates_.size())};
    for (int8_t wanted : {1, -1}) {
      for (int64_t i = 0; i < shape().inputs; ++i)
        if (sign(i, hash) == wanted) coordinates_.push_back(static_cast<int32_t>(i));
      (wanted > 0 ? terms.middle : terms.end) = static_cast<int64_t>(coordinates_.size());
    }
    terms_.push_back(terms);
  }

  std::vector<int8_t> signs_;  ///< [inputs, K * L]: 1, -1 or 0
  std::vector<Terms> terms_;   ///< A hash each, where rows go in blocks.
  std::vector<int32_t> coordinates_;
};

}  // namespace

namespace family {
HashFamilyEntry simhash() {
  return {.name = "simhash",
          .summary = "signs of sparse random projections: angles between vectors (1 bit a hash)",
          .bits = 1,
          .make = [](const HashShape& shape) -> std::unique_ptr<Hasher> {
            return std::make_unique<SimHash>(shape);
          }};
}
}  // namespace family

}  // namespace yoke
