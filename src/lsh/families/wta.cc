// WTA, winner-take-all (Yagnik, Strelow, Ross and Lin 2011): the place of the largest of eight
// drawn coordinates; it depends on the order of the coordinates alone.
#include "lsh/winner_take_all.h"

namespace yoke::family {

HashFamilyEntry wta() {
  return {.name = "wta",
          .summary = "index of the largest of 8 drawn coordinates (3 bits per hash)",
          .bits = WinnerTakeAllHasher::kBits,
          .make = [](const HashShape& shape) -> std::unique_ptr<Hasher> {
            return std::make_unique<WinnerTakeAllHasher>(shape, /*borrow=*/false);
          }};
}

}  // namespace yoke::family
