// DOPH: min-hash of the set of a row's 30 largest coordinates by densified one-permutation hashing
// (Shrivastava 2017, optimal densification). A random function deals the set out to 32 bins, and as
// many functions as K * L bins need; a bin's code is four bits of its least member's number. Two
// sets agree in a hash with probability J + (1 - J) / 16, J their Jaccard similarity: an empty bin
// takes the member of the first bin that is not among random ones, tried in the same order for
// every row. Cost a row: choosing the largest, then about 2 * K * L.
#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "base/random.h"
#include "kernels/instructions.h"
#include "lsh/row_hasher.h"

namespace yoke {
namespace {

constexpr int kBits = 4;
constexpr int32_t kLargest = 30;
constexpr int kDophAttempts = 100;
constexpr int kListed = 8;  ///< Attempts whose bins are listed: of 30 members, nearly all.
constexpr uint64_t kOrderDraws = 0x646f7068;
constexpr uint64_t kDophBorrowDraws = 0x646f706862;
constexpr int kBinBits = 5;                       ///< Of a function's bins: about one a member.
constexpr uint64_t kSpread = 0x9E3779B97F4A7C15;  ///< Keeps the numbers that are mixed apart.
constexpr uint64_t kEmpty = ~uint64_t{0};

/// The two loops over numbers; all widths of vectors give the same.
struct DophLoops {
  /// How many of the numbers are at least `least`.
  int32_t (*count)(std::span<const int32_t> numbers, int32_t least);
  /// mixed[i] = Mix(base + terms[i]).
  void (*mix)(uint64_t base, std::span<const uint64_t> terms, uint64_t* mixed);
};

[[gnu::always_inline]] inline int32_t CountFrom(std::span<const int32_t> numbers, int32_t least) {
  int32_t count = 0;
  for (const int32_t number : numbers) count += number >= least ? 1 : 0;
  return count;
}

[[gnu::always_inline]] inline void MixEach(uint64_t base, std::span<const uint64_t> terms,
                                           uint64_t* __restrict mixed) {
  for (size_t i = 0; i < terms.size(); ++i) mixed[i] = Random::Mix(base + terms[i]);
}

int32_t CountAvx2(std::span<const int32_t> numbers, int32_t least) {
  return CountFrom(numbers, least);
}

void MixAvx2(uint64_t base, std::span<const uint64_t> terms, uint64_t* mixed) {
  MixEach(base, terms, mixed);
}

YOKE_AVX512 int32_t CountAvx512(std::span<const int32_t> numbers, int32_t least) {
  return CountFrom(numbers, least);
}

YOKE_AVX512 void MixAvx512(uint64_t base, std::span<const uint64_t> terms, uint64_t* mixed) {
  MixEach(base, terms, mixed);
}

class Doph : public RowHasher {
 public:
  explicit Doph(const HashShape& shape)
      : RowHasher(shape, kBits),
        loops_(avx512() ? DophLoops{CountAvx512, MixAvx512} : DophLoops{CountAvx2, MixAvx2}) {
    for (int64_t bin = 0; bin < all_hashes(); bin += int64_t{1} << kBinBits)
      functions_.push_back(Random{shape.seed, kOrderDraws, static_cast<uint64_t>(bin)}.Bits());
    for (int64_t bin = 0; bin < all_hashes(); ++bin) {
      lenders_.push_back(Random{shape.seed, kDophBorrowDraws, static_cast<uint64_t>(bin)});
      for (int i = 0; i < kListed; ++i)
        listed_.push_back(static_cast<uint32_t>(lenders_.back().Below(all_hashes())));
    }
  }

 protected:
  void RowKeys(std::span<const Coordinate> row, uint32_t* keys) const override {
    const std::vector<uint64_t> members = LeastMembers(Largest(row));
    if (std::ranges::all_of(members, IsEmpty)) {
      std::fill_n(keys, shape().tables, 0);
      return;
    }
    const std::vector<uint64_t> codes = Codes(members);
    uint64_t bin = 0;
    for (int table = 0; table < shape().tables; ++table)
      keys[table] = Key([&] { return static_cast<uint32_t>(codes[bin++] >> (64 - kBits)); });
  }

 private:
  static bool IsEmpty(uint64_t least) { return least == kEmpty; }

  /// The least number of a set's member in each bin, kEmpty where there is none. A number's first
  /// bits are the bin.
  std::vector<uint64_t> LeastMembers(const std::vector<int32_t>& set) const {
    std::vector<uint64_t> least(functions_.size() << kBinBits, kEmpty);
    std::vector<uint64_t> terms, numbers(set.size());
    for (const int32_t id : set) terms.push_back(kSpread * static_cast<uint64_t>(id + 1));
    for (size_t f = 0; f < functions_.size(); ++f) {
      loops_.mix(functions_[f], terms, numbers.data());
      for (const uint64_t number : numbers) {
        uint64_t& bin = least[(f << kBinBits) + (number >> (64 - kBinBits))];
        bin = std::min(bin, number);
      }
    }
    least.resize(all_hashes());
    return least;
  }

  /// A word for each bin, whose first bits are its code.
  std::vector<uint64_t> Codes(const std::vector<uint64_t>& least) const {
    std::vector<uint64_t> numbers = least, codes(least.size());
    FillEmpty(least, numbers);
    for (size_t bin = 0; bin < numbers.size(); ++bin) numbers[bin] += kSpread * (bin + 1);
    loops_.mix(0, numbers, codes.data());
    return codes;
  }

  /// All empty bins ask once, then those that are still empty: without branches, which every other
  /// bin would surprise.
  void FillEmpty(const std::vector<uint64_t>& least, std::vector<uint64_t>& numbers) const {
    std::vector<uint32_t> empty(least.size() + 1);
    size_t count = 0;
    for (size_t bin = 0; bin < least.size(); ++bin) {
      empty[count] = static_cast<uint32_t>(bin);
      count += IsEmpty(least[bin]) ? 1 : 0;
    }
    for (int i = 0; i < kListed && count > 0; ++i) {
      size_t left = 0;
      for (size_t k = 0; k < count; ++k) {
        const uint32_t bin = empty[k];
        numbers[bin] = least[listed_[bin * kListed + i]];
        empty[left] = bin;
        left += IsEmpty(numbers[bin]) ? 1 : 0;
      }
      count = left;
    }
    for (size_t k = 0; k < count; ++k) numbers[empty[k]] = Borrowed(least, empty[k]);
  }

  /// The ids of the largest coordinates above zero; the smaller ids first among equals.
  std::vector<int32_t> Largest(std::span<const Coordinate> row) const {
    std::vector<int32_t> ids(row.size()), bits(row.size());  // of floats above zero: ordered alike
    size_t count = 0;
    for (const Coordinate& c : row) {  // without a branch, which half of all values would surprise
      ids[count] = c.id;
      bits[count] = std::bit_cast<int32_t>(c.value);
      count += c.value > 0 ? 1 : 0;
    }
    ids.resize(count), bits.resize(count);
    if (count > size_t{kLargest}) KeepLargest(bits, ids);
    return ids;
  }

  void KeepLargest(const std::vector<int32_t>& bits, std::vector<int32_t>& ids) const {
    int32_t last = 0, reach = 0;  // a number that kLargest of them reach, bit by bit
    for (int32_t bit = 1 << 30; bit > 0 && reach != kLargest; bit >>= 1) {
      const int32_t found = loops_.count(bits, last | bit);
      if (found < kLargest) continue;
      last |= bit, reach = found;
    }
    int32_t equals = kLargest - loops_.count(bits, last + 1);
    size_t kept = 0;
    for (size_t i = 0; i < bits.size(); ++i) {
      const bool is_last = bits[i] == last;  // no branch here either
      const bool takes_part = (bits[i] > last) | (is_last & (equals > 0));
      equals -= is_last & takes_part ? 1 : 0;
      ids[kept] = ids[i];
      kept += takes_part ? 1 : 0;
    }
    ids.resize(kLargest);
  }

  /// After the listed attempts.
  uint64_t Borrowed(const std::vector<uint64_t>& least, uint64_t bin) const {
    Random lenders = lenders_[bin];
    for (int attempt = kListed; attempt < kDophAttempts; ++attempt) {
      const uint64_t number = least[lenders.Below(least.size())];
      if (!IsEmpty(number)) return number;
    }
    return 0;
  }

  DophLoops loops_;
  std::vector<uint64_t> functions_;  ///< A word each.
  std::vector<uint32_t> listed_;     ///< [bin, kListed]: whom it asks first,
  std::vector<Random> lenders_;      ///< and in which order it asks others.
};

}  // namespace

namespace family {
HashFamilyEntry doph() {
  return {.name = "doph",
          .summary = "min-hash of the 30 largest coordinates (4 bits per hash)",
          .bits = kBits,
          .make = [](const HashShape& shape) -> std::unique_ptr<Hasher> {
            return std::make_unique<Doph>(shape);
          }};
}
}  // namespace family

}  // namespace yoke
