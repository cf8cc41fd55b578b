// WordColumn: free text as sparse features, one for each word of a vocabulary or each hash of
// words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/options.h"
#include "data/memory_reader.h"
#include "data/reader.h"
#include "data/text.h"

namespace yoke {

/// A feature for each of the `vocabulary` words that the training data have most often, or, if that
/// is 0, for each of `hashes` hashes of words (Weinberger et al., "Feature hashing for large scale
/// multitask learning", 2009).
struct WordFeatures {
  int64_t hashes = 1 << 18;
  int64_t vocabulary = 0;
};

/// The keys `vocabulary` and `hashes` of [data].
const std::vector<OptionSpec>& WordOptions();
WordFeatures WordFeaturesOf(const Options& options);

/// A word is a run of letters, digits and characters beyond ASCII; capitals of ASCII do not count.
/// Features are the counts of a text's known words, divided by their root sum of squares.
class WordColumn {
 public:
  /// Learns its vocabulary, if it has one.
  explicit WordColumn(const WordFeatures& features);
  /// With the words or hashes of another column.
  explicit WordColumn(const ColumnEncoding& known);

  /// Adds a text as the next row. Returns what is wrong with it, or "".
  std::string Add(std::string_view text);
  /// Ends learning and describes the features.
  void Close(ColumnEncoding& encoding);
  /// Appends the features of a row to the open row of `rows`, ids from `first`.
  void Append(int64_t row, int64_t first, SparseArrays& rows) const;
  /// Forgets all rows.
  void Clear() { rows_ = SparseArrays(); }

 private:
  void AddWord(std::string_view word);
  void Renumber(const std::vector<int32_t>& place);

  int64_t hashes_ = 0;
  int64_t most_ = 0;  // words of the vocabulary to be learned; 0: it is known
  std::unordered_map<std::string, int32_t, TextHash, std::equal_to<>> ids_;
  SparseArrays rows_;         // of counts
  std::vector<int32_t> row_;  // words of the current one, by id
};

}  // namespace yoke
