// DWTA, densified winner-take-all (Chen and Shrivastava 2018): the place of the largest of eight
// drawn coordinates; a bin that sees only zeros borrows the code of a random other bin, the same
// sequence of lenders for every vector, so that equal codes still mean similar vectors.
#include "lsh/winner_take_all.h"

namespace yoke::family {

HashFamilyEntry dwta() {
  return {
      .name = "dwta",
      .summary = "index of the largest of 8 drawn coordinates; empty bins borrow (3 bits per hash)",
      .bits = WinnerTakeAllHasher::kBits,
      .make = [](const HashShape& shape) -> std::unique_ptr<Hasher> {
        return std::make_unique<WinnerTakeAllHasher>(shape, /*borrow=*/true);
      }};
}

}  // namespace yoke::family
