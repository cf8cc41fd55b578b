// EndSparseRow: validates a row of sparse input after its line has been read.
#pragma once

#include "data/memory_reader.h"
#include "data/text.h"

namespace yoke {

/// Ends the row of `rows` that started at entry `begin` and sorts its ids. A duplicate id is an
/// error at the current line.
void EndSparseRow(const LineReader& lines, int64_t begin, SparseArrays& rows);

}  // namespace yoke
