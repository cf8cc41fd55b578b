// Rows end in order and without an id twice.
#include "data/text.h"

#include <gtest/gtest.h>

#include "data/support/memory_files.h"

namespace yoke::sparse_row_test {

TEST(SparseRow, IsSortedAndHoldsNoIdTwice) {
  const auto source = MemorySource("x", "x");
  const LineReader lines(*source);
  SparseArrays rows;
  for (int32_t id : {5, 1, 3})
    rows.ids.push_back(id), rows.values.push_back(static_cast<float>(id));
  EndSparseRow(lines, 0, rows);
  EXPECT_EQ(testing_support::RowText(rows, 0), "1:1 3:3 5:5");
  for (int32_t id : {2, 9, 2}) rows.ids.push_back(id), rows.values.push_back(0);
  EXPECT_THROW(EndSparseRow(lines, 3, rows), UserError);
}

}  // namespace yoke::sparse_row_test
