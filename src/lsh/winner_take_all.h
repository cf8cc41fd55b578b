// WinnerTakeAllHasher: the index of the largest of eight drawn coordinates, for the families wta
// and dwta.
#pragma once

#include <vector>

#include "lsh/row_hasher.h"

namespace yoke {

/// A bin has eight places. They are filled one after the other from random permutations of the
/// coordinates. A hash's code is the place of the largest value (the first of equal ones); zeros do
/// not take part. If the input is wider than 8 * K * L, all coordinates are dealt out, several per
/// place. Source: Yagnik, Strelow, Ross and Lin, 2011; Chen and Shrivastava, 2018.
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

}  // namespace yoke
