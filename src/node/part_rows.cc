// PartRows: a merge for each row-sparse slice.
#include "node/part_rows.h"

#include "kernels/vectors.h"

namespace yoke {

void PartRows::Weigh(const ParamLayout& layout, float fraction, Gradients& part) {
  for (int s = 0; s < std::ssize(layout.slices()); ++s) Scale(part.rows(s).values, fraction);
}

void PartRows::Sum(const ParamLayout& layout, std::span<const Gradients* const> parts,
                   Gradients& sum) {
  for (int s = 0; s < std::ssize(layout.slices()); ++s) {
    const Slice& slice = layout.slices()[s];
    if (slice.kind != SliceKind::kRowSparse) continue;
    blocks_.clear();
    for (const Gradients* part : parts) {
      const RowGradient& rows = part->rows(s);
      blocks_.push_back(
          {.rows = rows.ids, .values = rows.values.data(), .stride = slice.RowWidth()});
    }
    RowGradient& to = sum.rows(s);
    merge_.Run(blocks_, slice.RowWidth(), to.ids, to.values);
  }
}

}  // namespace yoke
