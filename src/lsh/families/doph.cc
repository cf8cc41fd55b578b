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
#include "lsh/row_hasher.h"

namespace yoke {
namespace {

constexpr int kBits = 4;
constexpr size_t kLargest = 30;
constexpr int kDophAttempts = 100;
constexpr uint64_t kOrderDraws = 0x646f7068;
constexpr uint64_t kDophBorrowDraws = 0x646f706862;
constexpr int kBinBits = 5;                       ///< Of a function's bins: about one a member.
constexpr uint64_t kSpread = 0x9E3779B97F4A7C15;  ///< Keeps the numbers that are mixed apart.
constexpr uint64_t kEmpty = ~uint64_t{0};

class Doph : public RowHasher {
 public:
  explicit Doph(const HashShape& shape) : RowHasher(shape, kBits) {
    for (int64_t bin = 0; bin < all_hashes(); bin += int64_t{1} << kBinBits)
      functions_.push_back(Random{shape.seed, kOrderDraws, static_cast<uint64_t>(bin)}.Bits());
    for (int64_t bin = 0; bin < all_hashes(); ++bin)
      lenders_.push_back(Random{shape.seed, kDophBorrowDraws, static_cast<uint64_t>(bin)});
  }

  std::string name() const override { return "reference"; }

 protected:
  void RowKeys(std::span<const Coordinate> row, uint32_t* keys) const override {
    std::vector<uint64_t> members = LeastMembers(Largest(row));
    if (std::ranges::all_of(members, IsEmpty)) {
      std::fill_n(keys, shape().tables, 0);
      return;
    }
    uint64_t bin = 0;
    for (int table = 0; table < shape().tables; ++table)
      keys[table] = Key([&] { return Code(members, bin++); });
  }

 private:
  static bool IsEmpty(uint64_t least) { return least == kEmpty; }

  /// The least number of a set's member in each bin, kEmpty where there is none. A number's first
  /// bits are the bin.
  std::vector<uint64_t> LeastMembers(const std::vector<int32_t>& set) const {
    std::vector<uint64_t> least(functions_.size() << kBinBits, kEmpty);
    for (size_t f = 0; f < functions_.size(); ++f)
      for (const int32_t id : set) {
        const uint64_t number =
            Random::Mix(functions_[f] + kSpread * static_cast<uint64_t>(id + 1));
        uint64_t& bin = least[(f << kBinBits) + (number >> (64 - kBinBits))];
        bin = std::min(bin, number);
      }
    least.resize(all_hashes());
    return least;
  }

  uint32_t Code(const std::vector<uint64_t>& least, uint64_t bin) const {
    const uint64_t number = IsEmpty(least[bin]) ? Borrowed(least, bin) : least[bin];
    return static_cast<uint32_t>(Random::Mix(number + kSpread * (bin + 1)) >> (64 - kBits));
  }

  /// The ids of the largest coordinates above zero; the smaller ids first among equals.
  static std::vector<int32_t> Largest(std::span<const Coordinate> row) {
    std::vector<int32_t> ids(row.size()), bits(row.size());  // of floats above zero: ordered alike
    size_t count = 0;
    for (const Coordinate& c : row) {  // without a branch, which half of all values would surprise
      ids[count] = c.id;
      bits[count] = std::bit_cast<int32_t>(c.value);
      count += c.value > 0 ? 1 : 0;
    }
    ids.resize(count), bits.resize(count);
    if (count > kLargest) KeepLargest(bits, ids);
    return ids;
  }

  static void KeepLargest(const std::vector<int32_t>& bits, std::vector<int32_t>& ids) {
    const auto above = [&](int32_t least) {
      size_t count = 0;
      for (const int32_t number : bits) count += number >= least ? 1 : 0;
      return count;
    };
    int32_t last = 0;  // the largest number that kLargest of them reach, bit by bit
    for (int32_t bit = 1 << 30; bit > 0; bit >>= 1)
      if (above(last | bit) >= kLargest) last |= bit;
    size_t equals = kLargest - above(last + 1), kept = 0;
    for (size_t i = 0; i < bits.size(); ++i) {
      const bool takes_part = bits[i] > last || (bits[i] == last && equals > 0);
      equals -= takes_part && bits[i] == last ? 1 : 0;
      ids[kept] = ids[i];
      kept += takes_part ? 1 : 0;
    }
    ids.resize(kLargest);
  }

  uint64_t Borrowed(const std::vector<uint64_t>& least, uint64_t bin) const {
    Random lenders = lenders_[bin];
    for (int attempt = 0; attempt < kDophAttempts; ++attempt) {
      const uint64_t number = least[lenders.Below(least.size())];
      if (!IsEmpty(number)) return number;
    }
    return 0;
  }

  std::vector<uint64_t> functions_;  ///< A word each.
  std::vector<Random> lenders_;      ///< By bin: in which order it asks others.
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
