// Numbers classes in order of appearance, then sorts them by label.
#include "data/classes.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/check.h"
#include "base/utf8.h"
#include "data/text.h"

namespace yoke {
namespace {

// One spelling per label. Whole numbers are spelled out, since above 2^53 several are one double.
std::string Canonical(std::string_view label) {
  if (std::string whole = WholeNumber(label); !whole.empty()) return whole;
  double number = 0;
  if (!ParseNumber(label, number)) return std::string(label);
  return fmt::format("{}", number == 0 ? 0.0 : number);
}

// The order of two whole numbers in their one spelling.
bool WholeBefore(const std::string& a, const std::string& b) {
  const bool below_0 = a.front() == '-';
  if (below_0 != (b.front() == '-')) return below_0;
  if (a.size() != b.size()) return (a.size() < b.size()) != below_0;
  return below_0 ? b < a : a < b;
}

bool Before(const std::string& a, const std::string& b) {
  const bool whole_a = !WholeNumber(a).empty(), whole_b = !WholeNumber(b).empty();
  if (whole_a && whole_b) return WholeBefore(a, b);
  double x = 0, y = 0;
  const bool a_is_number = whole_a || ParseNumber(a, x);
  const bool b_is_number = whole_b || ParseNumber(b, y);
  if (a_is_number != b_is_number) return a_is_number;
  if (!a_is_number) return a < b;
  // Infinite for a whole number beyond f64.
  return std::strtod(a.c_str(), nullptr) < std::strtod(b.c_str(), nullptr);
}

}  // namespace

ClassLabels::ClassLabels(const DataInfo* like) {
  if (!like) return;
  names_ = like->label_names;
  for (size_t i = 0; i < names_.size(); ++i) index_[Canonical(names_[i])] = static_cast<int32_t>(i);
  closed_ = true;
}

int32_t ClassLabels::Index(std::string_view label) {
  if (last_index_ >= 0 && label == last_label_) return last_index_;
  std::string name = Canonical(label);
  const auto found = index_.find(name);
  if (found == index_.end() && closed_) return -1;
  last_label_ = label;
  if (found != index_.end()) return last_index_ = found->second;
  Require(IsUtf8(name), "the label '{}' is not UTF-8", name);
  last_index_ = static_cast<int32_t>(names_.size());
  index_[name] = last_index_;
  names_.push_back(std::move(name));
  return last_index_;
}

bool ClassLabels::Knows(std::string_view label) const { return index_.contains(Canonical(label)); }

void ClassLabels::Close(GrowingArray<int32_t>& classes) {
  if (closed_) return;
  closed_ = true;
  last_index_ = -1;
  std::vector<int32_t> order(names_.size()), rank(names_.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return Before(names_[a], names_[b]); });
  std::vector<std::string> sorted;
  for (size_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = static_cast<int32_t>(i);
    index_[names_[order[i]]] = static_cast<int32_t>(i);
    sorted.push_back(names_[order[i]]);
  }
  names_ = std::move(sorted);
  for (int32_t& value : classes.span()) value = rank[value];
}

std::string ClassLabels::Known() const {
  std::string known;
  for (size_t i = 0; i < names_.size() && i < 12; ++i) known += (i ? ", " : "") + names_[i];
  return names_.size() > 12 ? fmt::format("{}, ... ({} classes)", known, names_.size()) : known;
}

void AddLabel(int32_t label, SparseArrays& rows) {
  const auto row = rows.ids.span().subspan(static_cast<size_t>(rows.offsets[rows.rows()]));
  if (std::ranges::find(row, label) == row.end()) rows.ids.push_back(label);
}

void CloseLabelSets(ClassLabels& classes, SparseArrays& rows) {
  classes.Close(rows.ids);
  for (int64_t r = 0; r < rows.rows(); ++r)
    std::sort(rows.ids.data() + rows.offsets[r], rows.ids.data() + rows.offsets[r + 1]);
}

}  // namespace yoke
