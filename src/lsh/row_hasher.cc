// RowHasher: rows brought into the form that the families take; the list of families.
#include "lsh/row_hasher.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "kernels/instructions.h"

namespace yoke {
namespace {

const HashShape& Checked(const HashShape& shape) {
  Require(shape.inputs >= 1 && shape.hashes >= 1 && shape.tables >= 1,
          "hashing: expected at least 1 input, hash and table, got {}, {} and {}", shape.inputs,
          shape.hashes, shape.tables);
  Require(shape.slot_bits >= 1 && shape.slot_bits <= kMaxKeyBits,
          "hashing: expected keys of 1 to {} bits, got {}", kMaxKeyBits, shape.slot_bits);
  return shape;
}

/// Values of an id that comes twice are added up, as writing the row out densely does.
void SortedRow(const SparseRows& rows, int64_t n, std::vector<Coordinate>& row) {
  row.clear();
  for (int64_t k = rows.offsets[n]; k < rows.offsets[n + 1]; ++k)
    row.push_back({rows.ids[k], rows.values ? rows.values[k] : 1.0F});
  if (!std::ranges::is_sorted(row, {}, &Coordinate::id))
    std::ranges::stable_sort(row, {}, &Coordinate::id);
  size_t kept = 0;
  for (const Coordinate& next : row) {
    if (kept > 0 && row[kept - 1].id == next.id)
      row[kept - 1].value += next.value;
    else
      row[kept++] = next;
  }
  row.resize(kept);
  std::erase_if(row, [](const Coordinate& c) { return c.value == 0; });
}

void SortedRow(const float* dense, int64_t inputs, std::vector<Coordinate>& row) {
  row.resize(inputs);
  size_t kept = 0;
  for (int64_t i = 0; i < inputs; ++i) {  // without a branch, which any zero might surprise
    row[kept] = {static_cast<int32_t>(i), dense[i]};
    kept += dense[i] != 0 ? 1 : 0;
  }
  row.resize(kept);
}

/// Four rows at a time share the visit of a column's cache line.
void ToLanes(const float* rows, int64_t count, int64_t stride, std::vector<Floats>& columns) {
  auto* out = reinterpret_cast<float*>(columns.data());
  const auto inputs = static_cast<int64_t>(columns.size());
  if (count < kLanes) std::ranges::fill(columns, Floats{});
  int64_t row = 0;
  for (; row + 4 <= count; row += 4) {
    const float* from = rows + row * stride;
    for (int64_t i = 0; i < inputs; ++i)
      for (int64_t lane = 0; lane < 4; ++lane)
        out[i * kLanes + row + lane] = from[lane * stride + i];
  }
  for (; row < count; ++row)
    for (int64_t i = 0; i < inputs; ++i) out[i * kLanes + row] = rows[row * stride + i];
}

}  // namespace

namespace family {
#define YOKE_FAMILY(name) HashFamilyEntry name();
#include "lsh/families.def"
#undef YOKE_FAMILY
}  // namespace family

const std::vector<HashFamilyEntry>& hash_families() {
  static const std::vector<HashFamilyEntry> entries = {
#define YOKE_FAMILY(name) family::name(),
#include "lsh/families.def"
#undef YOKE_FAMILY
  };
  return entries;
}

RowHasher::RowHasher(const HashShape& shape, int bits_a_hash)
    : shape_(Checked(shape)),
      bits_a_hash_(bits_a_hash),
      hashes_a_word_(kMaxKeyBits / bits_a_hash),
      folds_(int64_t{shape.hashes} * bits_a_hash > shape.slot_bits),
      key_bits_(folds_ ? shape.slot_bits : shape.hashes * bits_a_hash),
      avx512_(!shape.reference && shape.avx512 && cpu::HasAvx512()) {}

void RowHasher::Keys(const float* vectors, int64_t count, int64_t stride, uint32_t* keys) const {
  const bool in_blocks = blocks() && !shape_.reference;
  std::vector<Coordinate> row;
  std::vector<Floats> columns(in_blocks ? shape_.inputs : 0);
  const int64_t step = in_blocks ? kLanes : 1;
  for (int64_t n = 0; n < count; n += step) {
    const int64_t rows = std::min(step, count - n);
    if (in_blocks) {
      ToLanes(vectors + n * stride, rows, stride, columns);
      BlockKeys(columns.data(), rows, keys + n * shape_.tables);
    } else {
      SortedRow(vectors + n * stride, shape_.inputs, row);
      RowKeys(row, keys + n * shape_.tables);
    }
  }
}

void RowHasher::Keys(const SparseRows& rows, uint32_t* keys) const {
  std::vector<Coordinate> row;
  for (int64_t n = 0; n < rows.rows; ++n) {
    SortedRow(rows, n, row);
    RowKeys(row, keys + n * shape_.tables);
  }
}

void RowHasher::BlockKeys(Floats*, int64_t, uint32_t*) const {
  Check(false, "this family does not hash in blocks");
}

std::string RowHasher::name() const {
  if (shape_.reference) return "reference";
  return avx512_ ? "avx512" : "avx2";
}

}  // namespace yoke
