// WordColumn: counts words; a vocabulary is chosen from the counts of all rows.
#include "data/word_column.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/utf8.h"

namespace yoke {
namespace {

bool IsOfWord(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) >= 0x80;
}

/// FNV-1a of 64 bits: the same on every machine.
uint64_t HashOf(std::string_view word) {
  uint64_t hash = 14695981039346656037U;
  for (const char c : word) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash ^ hash >> 32;
}

}  // namespace

const std::vector<OptionSpec>& WordOptions() {
  static const std::vector<OptionSpec> specs = {
      {.name = "vocabulary",
       .type = OptionType::kInt,
       .help = "Words of free text that are features: so many of the training data's most frequent "
               "ones. Unless it is set, words are hashed.",
       .minimum = 1,
       .maximum = 1e8},
      {.name = "hashes",
       .type = OptionType::kInt,
       .fallback = int64_t{1} << 18,
       .help = "Features that the words of free text are hashed to.",
       .minimum = 1,
       .maximum = 1e9}};
  return specs;
}

WordFeatures WordFeaturesOf(const Options& options) {
  return {.hashes = options.Int("hashes"),
          .vocabulary = options.Has("vocabulary") ? options.Int("vocabulary") : 0};
}

WordColumn::WordColumn(const WordFeatures& features)
    : hashes_(features.vocabulary > 0 ? 0 : features.hashes), most_(features.vocabulary) {}

WordColumn::WordColumn(const ColumnEncoding& known) : hashes_(known.hashes) {
  for (const std::string& word : known.words) ids_.emplace(word, static_cast<int32_t>(ids_.size()));
}

std::string WordColumn::Add(std::string_view text) {
  if (!IsUtf8(text))
    return fmt::format("{} is not UTF-8; convert the file, for example with iconv", Quoted(text));
  row_.clear();
  std::string word;
  for (const char c : text) {
    if (IsOfWord(c)) {
      word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!word.empty()) {
      AddWord(word);
      word.clear();
    }
  }
  if (!word.empty()) AddWord(word);
  std::ranges::sort(row_);
  for (size_t i = 0; i < row_.size(); ++i) {
    if (i > 0 && row_[i] == row_[i - 1]) {
      rows_.values[rows_.values.size() - 1] += 1;
      continue;
    }
    rows_.ids.push_back(row_[i]);
    rows_.values.push_back(1);
  }
  rows_.EndRow();
  return "";
}

void WordColumn::AddWord(std::string_view word) {
  if (hashes_ > 0) {
    row_.push_back(static_cast<int32_t>(HashOf(word) % static_cast<uint64_t>(hashes_)));
    return;
  }
  auto found = ids_.find(word);
  if (found == ids_.end() && most_ == 0) return;
  if (found == ids_.end()) found = ids_.emplace(word, static_cast<int32_t>(ids_.size())).first;
  row_.push_back(found->second);
}

void WordColumn::Close(ColumnEncoding& encoding) {
  encoding.hashes = hashes_;
  if (most_ == 0) return;
  Require(!ids_.empty(), "data.text: a column holds no word");
  std::vector<double> counts(ids_.size());
  for (int64_t i = 0; i < rows_.ids.size(); ++i)
    counts[static_cast<size_t>(rows_.ids[i])] += rows_.values[i];
  std::vector<std::pair<std::string, int32_t>> words(ids_.begin(), ids_.end());
  std::ranges::sort(words, [&](const auto& a, const auto& b) {
    const double of_a = counts[static_cast<size_t>(a.second)],
                 of_b = counts[static_cast<size_t>(b.second)];
    return of_a != of_b ? of_a > of_b : a.first < b.first;
  });
  words.resize(std::min(words.size(), static_cast<size_t>(most_)));
  std::vector<int32_t> place(ids_.size(), -1);
  ids_.clear();
  for (const auto& [word, id] : words) {
    place[static_cast<size_t>(id)] = static_cast<int32_t>(ids_.size());
    ids_.emplace(word, static_cast<int32_t>(ids_.size()));
    encoding.words.push_back(word);
  }
  most_ = 0;
  Renumber(place);
}

// Leaves out words whose place is -1.
void WordColumn::Renumber(const std::vector<int32_t>& place) {
  const SparseArrays all = std::exchange(rows_, SparseArrays());
  std::vector<std::pair<int32_t, float>> row;
  for (int64_t r = 0; r < all.rows(); ++r) {
    row.clear();
    for (int64_t i = all.offsets[r]; i < all.offsets[r + 1]; ++i)
      if (const int32_t id = place[static_cast<size_t>(all.ids[i])]; id >= 0)
        row.emplace_back(id, all.values[i]);
    std::ranges::sort(row);
    for (const auto& [id, count] : row) rows_.ids.push_back(id), rows_.values.push_back(count);
    rows_.EndRow();
  }
}

void WordColumn::Append(int64_t row, int64_t first, SparseArrays& rows) const {
  const int64_t begin = rows_.offsets[row], end = rows_.offsets[row + 1];
  double squares = 0;
  for (int64_t i = begin; i < end; ++i) squares += double(rows_.values[i]) * rows_.values[i];
  for (int64_t i = begin; i < end; ++i) {
    rows.ids.push_back(static_cast<int32_t>(first + rows_.ids[i]));
    rows.values.push_back(static_cast<float>(rows_.values[i] / std::sqrt(squares)));
  }
}

}  // namespace yoke
