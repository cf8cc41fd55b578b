// SimHash (Charikar 2002) with sparse signed projections (Achlioptas 2003): a hash adds up a third
// of the coordinates, each with a drawn sign, and is 1 where the sum is positive. Two vectors agree
// in one hash with probability 1 - angle / pi.
// Cost a dense row: K * L * inputs / 3 additions, sixteen rows an instruction. All paths add the
// coordinates of sign + and those of sign - apart, each in increasing order, so they agree exactly.
#include <algorithm>
#include <span>
#include <vector>

#include "base/random.h"
#include "kernels/instructions.h"
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
[[gnu::always_inline]] inline void AddTo(Vector& sum, const Floats* columns, int32_t coordinate,
                                         int part) {
  Vector values;
  Load(columns[coordinate], part, values);
  sum += values;
}

/// Both sums of a hash grow side by side: one alone would wait for each of its additions.
template <typename Vector>
[[gnu::always_inline]] inline void SumTerms(const Terms& terms, const Floats* columns,
                                            const int32_t* coordinates, int part, Vector& plus,
                                            Vector& minus) {
  int64_t p = terms.begin, m = terms.middle;
  for (; p < terms.middle && m < terms.end; ++p, ++m) {
    AddTo(plus, columns, coordinates[p], part);
    AddTo(minus, columns, coordinates[m], part);
  }
  for (; p < terms.middle; ++p) AddTo(plus, columns, coordinates[p], part);
  for (; m < terms.end; ++m) AddTo(minus, columns, coordinates[m], part);
}

/// One table's keys of sixteen rows.
template <typename Isa>
[[gnu::always_inline]] inline void Project(const Floats* columns, const Terms* hashes, int count,
                                           const int32_t* coordinates, Ints& keys) {
  for (int part = 0; part < kParts<Isa>; ++part) {
    typename Isa::Int key = {};
    for (int k = 0; k < count; ++k) {
      typename Isa::Float plus = {}, minus = {};
      SumTerms(hashes[k], columns, coordinates, part, plus, minus);
      key = key * 2 - (plus > minus);  // true is -1
    }
    Save(key, part, keys);
  }
}

void ProjectAvx2(const Floats* columns, const Terms* hashes, int count, const int32_t* coordinates,
                 Ints& keys) {
  Project<Avx2>(columns, hashes, count, coordinates, keys);
}

YOKE_AVX512 void ProjectAvx512(const Floats* columns, const Terms* hashes, int count,
                               const int32_t* coordinates, Ints& keys) {
  Project<Avx512>(columns, hashes, count, coordinates, keys);
}

/// The signs with which sixteen hashes take a coordinate: a bit each.
struct Signs {
  uint16_t plus = 0, minus = 0;
};

constexpr Ints kBitOfLane = {.v = {1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7,
                                   1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14,
                                   1 << 15}};

/// Adds a value where the lane's bit is set.
template <typename Isa>
[[gnu::always_inline]] inline void AddWhere(int32_t bits, float value, int part, Floats& sums) {
  typename Isa::Int of_lane;
  typename Isa::Float sum;
  Load(kBitOfLane, part, of_lane);
  Load(sums, part, sum);
  sum += (of_lane & bits) != 0 ? typename Isa::Float{} + value : typename Isa::Float{};
  Save(sum, part, sums);
}

/// Adds one coordinate of a row to all sums, each sign apart.
template <typename Isa>
[[gnu::always_inline]] inline void AddValue(std::span<const Signs> signs, float value, Floats* plus,
                                            Floats* minus) {
  for (size_t i = 0; i < signs.size(); ++i)
    for (int part = 0; part < kParts<Isa>; ++part) {
      AddWhere<Isa>(signs[i].plus, value, part, plus[i]);
      AddWhere<Isa>(signs[i].minus, value, part, minus[i]);
    }
}

void AddValueAvx2(std::span<const Signs> signs, float value, Floats* plus, Floats* minus) {
  AddValue<Avx2>(signs, value, plus, minus);
}

YOKE_AVX512 void AddValueAvx512(std::span<const Signs> signs, float value, Floats* plus,
                                Floats* minus) {
  AddValue<Avx512>(signs, value, plus, minus);
}

class SimHash : public RowHasher {
 public:
  explicit SimHash(const HashShape& shape)
      : RowHasher(shape, 1),
        words_((all_hashes() + kLanes - 1) / kLanes),
        signs_(shape.inputs * words_) {
    for (int64_t word = 0; word < words_; ++word) DrawSigns(word);
    if (blocks())
      for (int64_t h = 0; h < all_hashes(); ++h) ListTerms(h);
  }

 protected:
  bool blocks() const override { return shape().inputs <= kWidestBlock; }

  void BlockKeys(Floats* columns, int64_t count, uint32_t* keys) const override {
    const auto project = avx512() ? ProjectAvx512 : ProjectAvx2;
    for (int table = 0; table < shape().tables; ++table)
      StoreKeys(count, keys + table, [&](int first, int hashes, Ints& word) {
        project(columns, &terms_[int64_t{table} * shape().hashes + first], hashes,
                coordinates_.data(), word);
      });
  }

  void RowKeys(std::span<const Coordinate> row, uint32_t* keys) const override {
    std::vector<Floats> sums(2 * words_);
    Floats* const plus = sums.data();
    Floats* const minus = plus + words_;
    const auto add = avx512() ? AddValueAvx512 : AddValueAvx2;
    for (const Coordinate& c : row)
      add({&signs_[c.id * words_], static_cast<size_t>(words_)}, c.value, plus, minus);
    int64_t hash = 0;
    for (int table = 0; table < shape().tables; ++table)
      keys[table] = Key([&]() -> uint32_t {
        const int64_t word = hash / kLanes, lane = hash++ % kLanes;
        return plus[word].v[lane] > minus[word].v[lane] ? 1 : 0;
      });
  }

 private:
  int SignOf(int64_t input, int64_t hash) const {
    const Signs& signs = signs_[input * words_ + hash / kLanes];
    return (signs.plus >> hash % kLanes & 1) - (signs.minus >> hash % kLanes & 1);
  }

  /// Draws the signs of sixteen hashes, each from a stream of its own.
  void DrawSigns(int64_t word) {
    std::vector<Random> streams;
    for (int64_t hash = word * kLanes; hash < std::min(all_hashes(), (word + 1) * kLanes); ++hash)
      streams.push_back(Random{shape().seed, kDraws, static_cast<uint64_t>(hash)});
    unsigned used = 0;  // hashes that take any coordinate
    for (int64_t i = 0; i < shape().inputs; ++i) {
      unsigned plus = 0, minus = 0;
      for (size_t lane = 0; lane < streams.size(); ++lane) {
        const uint64_t draw = streams[lane].Below(6);
        plus |= (draw == 0 ? 1U : 0U) << lane;
        minus |= (draw == 1 ? 1U : 0U) << lane;
      }
      used |= plus | minus;
      signs_[i * words_ + word] = {static_cast<uint16_t>(plus), static_cast<uint16_t>(minus)};
    }
    for (size_t lane = 0; lane < streams.size(); ++lane) {
      if (used >> lane & 1) continue;
      const auto any = static_cast<int64_t>(streams[lane].Below(shape().inputs));
      signs_[any * words_ + word].plus |= static_cast<uint16_t>(1U << lane);
    }
  }

  void ListTerms(int64_t hash) {
    Terms terms{.begin = static_cast<int64_t>(coordinates_.size())};
    for (const int wanted : {1, -1}) {
      for (int64_t i = 0; i < shape().inputs; ++i)
        if (SignOf(i, hash) == wanted) coordinates_.push_back(static_cast<int32_t>(i));
      (wanted > 0 ? terms.middle : terms.end) = static_cast<int64_t>(coordinates_.size());
    }
    terms_.push_back(terms);
  }

  int64_t words_;             ///< K * L in sixteens.
  std::vector<Signs> signs_;  ///< [inputs, words]
  std::vector<Terms> terms_;  ///< A hash each, where rows go in blocks.
  std::vector<int32_t> coordinates_;
};

}  // namespace

namespace family {
HashFamilyEntry simhash() {
  return {.name = "simhash",
          .summary = "signs of sparse random projections: angles between vectors (1 bit per hash)",
          .bits = 1,
          .make = [](const HashShape& shape) -> std::unique_ptr<Hasher> {
            return std::make_unique<SimHash>(shape);
          }};
}
}  // namespace family

}  // namespace yoke
