// Winner-take-all: a hash is the place of the largest of eight drawn coordinates.
// wta (Yagnik, Strelow, Ross and Lin 2011) depends on the order of the coordinates alone. dwta,
// densified (Chen and Shrivastava 2018): a bin that sees only zeros borrows the code of a random
// other bin, the same sequence of lenders for every vector, so that equal codes still mean similar
// vectors.
// Cost a dense row: 8 * K * L comparisons, sixteen rows an instruction; a sparse row: K * L and the
// bins of its nonzero coordinates.
#include <algorithm>
#include <limits>
#include <vector>

#include "base/random.h"
#include "kernels/instructions.h"
#include "lsh/row_hasher.h"

namespace yoke {
namespace {

constexpr uint64_t kPermutationDraws = 0x64777461;
constexpr uint64_t kBorrowDraws = 0x626f72726f77;
constexpr int kAttempts = 100;
constexpr float kAbsent = -std::numeric_limits<float>::infinity();

/// The place of the largest of eight columns in each of sixteen rows, -1 where all are absent.
template <typename Isa>
[[gnu::always_inline]] inline void Winners(const Floats* columns, const int32_t* members,
                                           int64_t bins, Ints* places) {
  for (int64_t bin = 0; bin < bins; ++bin)
    for (int part = 0; part < kParts<Isa>; ++part) {
      typename Isa::Float best = typename Isa::Float{} + kAbsent, value;
      typename Isa::Int place = typename Isa::Int{} - 1;
      for (int32_t j = 0; j < 8; ++j) {
        Load(columns[members[bin * 8 + j]], part, value);
        const auto better = value > best;
        best = better ? value : best;
        place = better ? typename Isa::Int{} + j : place;
      }
      Save(place, part, places[bin]);
    }
}

void WinnersAvx2(const Floats* columns, const int32_t* members, int64_t bins, Ints* places) {
  Winners<Avx2>(columns, members, bins, places);
}

YOKE_AVX512 void WinnersAvx512(const Floats* columns, const int32_t* members, int64_t bins,
                               Ints* places) {
  Winners<Avx512>(columns, members, bins, places);
}

/// Zeros do not take part.
void DropZeros(Floats* columns, int64_t inputs) {
  for (int64_t i = 0; i < inputs; ++i)
    for (float& value : columns[i].v) value = value == 0.0F ? kAbsent : value;
}

/// The rows in which some bin is empty, a bit each.
uint32_t RowsWithEmptyBins(const std::vector<Ints>& places) {
  Ints all;
  for (const Ints& place : places)
    for (int row = 0; row < kLanes; ++row) all.v[row] |= place.v[row];
  uint32_t rows = 0;
  for (int row = 0; row < kLanes; ++row) rows |= (all.v[row] < 0 ? 1U : 0U) << row;
  return rows;
}

/// A bin has eight places. They are filled one after the other from random permutations of the
/// coordinates. A hash's code is the place of the largest value (the first of equal ones); zeros do
/// not take part. If the input is wider than 8 * K * L, all coordinates are dealt out, several per
/// place.
class WinnerTakeAllHasher : public RowHasher {
 public:
  static constexpr int kBits = 3;

  /// `borrow`: a bin that sees only zeros takes the code of another bin; otherwise its code is 0.
  WinnerTakeAllHasher(const HashShape& shape, bool borrow);

 protected:
  bool blocks() const override { return width_ == kPlaces; }
  void BlockKeys(Floats* columns, int64_t count, uint32_t* keys) const override;
  void RowKeys(std::span<const Coordinate> row, uint32_t* keys) const override;

 private:
  static constexpr int kPlaces = 1 << kBits;

  void DealOut();
  void ListSeats();
  /// Assigns a code to every bin of a row whose place is -1.
  void FillEmpty(std::vector<int32_t>& places) const;
  int32_t Borrowed(const std::vector<int32_t>& places, int64_t bin) const;

  bool borrow_;
  int64_t width_;                 ///< Coordinates per bin: a multiple of kPlaces.
  std::vector<int32_t> members_;  ///< [K * L, width]: coordinates
  std::vector<int64_t> offsets_;  ///< [inputs + 1]: start of each coordinate's seats.
  std::vector<int32_t> seats_;    ///< Indices into members_, in increasing order.
};

WinnerTakeAllHasher::WinnerTakeAllHasher(const HashShape& shape, bool borrow)
    : RowHasher(shape, kBits),
      borrow_(borrow),
      width_(kPlaces * std::max<int64_t>(1, shape.inputs / (kPlaces * all_hashes()))) {
  DealOut();
  ListSeats();
}

void WinnerTakeAllHasher::DealOut() {
  const int64_t inputs = shape().inputs;
  const int64_t bins_a_deal = std::max<int64_t>(1, inputs / width_);
  std::vector<int64_t> order;
  for (int64_t bin = 0; bin < all_hashes(); ++bin) {
    const int64_t seat = bin % bins_a_deal * width_;
    if (seat == 0) {
      const auto deal = static_cast<uint64_t>(bin / bins_a_deal);
      order = Permutation(inputs, Random{shape().seed, kPermutationDraws, deal});
    }
    for (int64_t j = 0; j < width_; ++j)  // fewer than eight inputs sit down again: ties lose
      members_.push_back(static_cast<int32_t>(order[(seat + j) % inputs]));
  }
}

void WinnerTakeAllHasher::ListSeats() {
  offsets_.assign(shape().inputs + 1, 0);
  for (int32_t member : members_) ++offsets_[member + 1];
  for (int64_t i = 0; i < shape().inputs; ++i) offsets_[i + 1] += offsets_[i];
  seats_.resize(members_.size());
  std::vector<int64_t> next(offsets_.begin(), offsets_.end() - 1);
  for (size_t seat = 0; seat < members_.size(); ++seat)
    seats_[next[members_[seat]]++] = static_cast<int32_t>(seat);
}

void WinnerTakeAllHasher::BlockKeys(Floats* columns, int64_t count, uint32_t* keys) const {
  DropZeros(columns, shape().inputs);
  std::vector<Ints> places(all_hashes());
  (avx512() ? WinnersAvx512 : WinnersAvx2)(columns, members_.data(), all_hashes(), places.data());
  const uint32_t incomplete = RowsWithEmptyBins(places);
  std::vector<int32_t> row(places.size());
  for (int lane = 0; lane < count; ++lane) {
    if ((incomplete >> lane & 1) == 0) continue;
    for (size_t bin = 0; bin < row.size(); ++bin) row[bin] = places[bin].v[lane];
    FillEmpty(row);
    for (size_t bin = 0; bin < row.size(); ++bin) places[bin].v[lane] = row[bin];
  }
  const Ints* place = places.data();
  for (int table = 0; table < shape().tables; ++table)
    StoreKeys(count, keys + table, [&](int, int hashes, Ints& word) {
      for (int k = 0; k < hashes; ++k, ++place)
        for (int row = 0; row < kLanes; ++row) word.v[row] = word.v[row] << kBits | place->v[row];
    });
}

void WinnerTakeAllHasher::RowKeys(std::span<const Coordinate> row, uint32_t* keys) const {
  std::vector<int32_t> places(all_hashes(), -1);
  std::vector<float> best(all_hashes(), kAbsent);
  for (const Coordinate& c : row)
    for (int64_t k = offsets_[c.id]; k < offsets_[c.id + 1]; ++k) {
      const auto [bin, place] = std::div(int64_t{seats_[k]}, width_);
      const bool first = c.value == best[bin] && place < places[bin];
      if (!(c.value > best[bin]) && !first) continue;
      best[bin] = c.value;
      places[bin] = static_cast<int32_t>(place);
    }
  for (int32_t& place : places)
    if (place > 0) place /= static_cast<int32_t>(width_ / kPlaces);
  FillEmpty(places);
  const int32_t* place = places.data();
  for (int table = 0; table < shape().tables; ++table)
    keys[table] = Key([&] { return static_cast<uint32_t>(*place++); });
}

void WinnerTakeAllHasher::FillEmpty(std::vector<int32_t>& places) const {
  const auto full = [](int32_t place) { return place >= 0; };
  if (std::ranges::all_of(places, full)) return;
  const std::vector<int32_t> found = places;
  const bool lend = borrow_ && std::ranges::any_of(found, full);
  for (size_t bin = 0; bin < places.size(); ++bin)
    if (found[bin] < 0) places[bin] = lend ? Borrowed(found, static_cast<int64_t>(bin)) : 0;
}

int32_t WinnerTakeAllHasher::Borrowed(const std::vector<int32_t>& places, int64_t bin) const {
  Random lenders{shape().seed, kBorrowDraws, static_cast<uint64_t>(bin)};
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int32_t place = places[lenders.Below(places.size())];
    if (place >= 0) return place;
  }
  return 0;
}

template <bool borrow>
std::unique_ptr<Hasher> MakeWinnerTakeAll(const HashShape& shape) {
  return std::make_unique<WinnerTakeAllHasher>(shape, borrow);
}

}  // namespace

namespace family {

HashFamilyEntry wta() {
  return {.name = "wta",
          .summary = "index of the largest of 8 drawn coordinates (3 bits per hash)",
          .bits = WinnerTakeAllHasher::kBits,
          .make = MakeWinnerTakeAll<false>};
}

HashFamilyEntry dwta() {
  return {
      .name = "dwta",
      .summary = "index of the largest of 8 drawn coordinates; empty bins borrow (3 bits per hash)",
      .bits = WinnerTakeAllHasher::kBits,
      .make = MakeWinnerTakeAll<true>};
}

}  // namespace family

}  // namespace yoke
