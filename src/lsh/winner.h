// WinnerHasher: which of eight drawn coordinates is the largest, for the families wta and dwta.
#pragma once

#include <vector>

#include "lsh/row_hasher.h"

namespace yoke {

/// A bin has eight places, filled from random permutations of the coordinates, which are dealt out
/// one after the other; a hash's code is the place of the largest value (the first of equals).
/// Zeros do not take part. Inputs wider than 8 * K * L are dealt out whole, several coordinates a
/// place. Source: Yagnik, Strelow, Ross and Lin, 2011; Chen and Shrivastava, 2018.
class WinnerHasher : public RowHasher {
 public:
  static constexpr int kBits = 3;

  /// `borrow`: a bin that sees only zeros takes the code of another; without it, its code is 0.
  WinnerHasher(const HashShape& shape, bool borrow);

 protected:
  bool blocks() const override { return width_ == kPlaces; }
  void BlockKeys(Floats* columns, int64_t count, uint32_t* keys) const override;
  void RowKeys(std::span<const Coordinate> row, uint32_t* keys) const override;

 private:
  static constexpr int kPlaces = 1 << kBits;

  void DealOut();
  void ListSeats();
  /// Gives every bin of a row whose place is -1 a code.
  void FillEmpty(std::vector<int32_t>& places) const;
  int32_t Borrowed(const std::vector<int32_t>& places, int64_t bin) const;

  bool borrow_;
  int64_t width_;                 ///< Coordinates a bin: a multiple of kPlaces.
  std::vector<int32_t> members_;  ///< [K * L, width]: coordinates
  std::vector<int64_t> offsets_;  ///< [inputs + 1]: where each coordinate's seats begin.
  std::vector<int32_t> seats_;    ///< Indices into members_, in increasing order.
};

}  // namespace yoke
