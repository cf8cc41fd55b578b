// EndSparseRow: what a row of sparse input must be when its line has been read.
#pragma once

#include "data/memory_reader.h"
#include "data/text.h"

namespace yoke {

/// Ends the row of `rows` that began at entry `begin`: puts its ids in ascending order. An id that
/// stands there twice is an error at the line last read.
void EndSparseRow(const LineReader& lines, int64_t begin, SparseArrays& rows);

}  // namespace yoke
