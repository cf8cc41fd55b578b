// Splits pieces of a file into lines, and parses numbers.
#include "data/text.h"
#include "data/memory_reader.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/utf8.h"

namespace yoke {
namespace {

constexpr size_t kLongestLine = 1 << 28;

// from_chars returns the same error for overflow and underflow; strtod distinguishes them.
double FarNumber(const char* begin, const char* end) {
  return std::strtod(std::string(begin, end).c_str(), nullptr);
}

// Parses into the stored type: a float converted from a double would be rounded twice.
template <typename T>
bool Scan(const char*& begin, const char* end, T& value) {
  const char* digits = begin + (begin != end && *begin == '+');
  if (digits != begin && digits != end && *digits == '-') return false;
  const auto [stop, error] = std::from_chars(digits, end, value);
  if (error == std::errc::invalid_argument) return false;
  if (error == std::errc::result_out_of_range) value = static_cast<T>(FarNumber(digits, stop));
  begin = stop;
  return std::isfinite(value);
}

// A decimal number: digits, and how many of them stand before the point.
struct Decimal {
  bool negative = false;
  std::string digits;
  int64_t whole = 0;
};

std::string_view TakeDigits(std::string_view& text) {
  size_t count = 0;
  while (count < text.size() && text[count] >= '0' && text[count] <= '9') ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

// Reads "e+12" into `exponent`; false if something else stands there or it has no use.
bool TakeExponent(std::string_view& text, int64_t& exponent) {
  constexpr int64_t kMost = 400;  // more than any f64 has
  if (text.empty()) return true;
  if (text.front() != 'e' && text.front() != 'E') return false;
  text.remove_prefix(text.substr(1).starts_with('+') ? 2 : 1);
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  const bool all = error == std::errc() && stop == text.data() + text.size();
  return all && exponent >= -kMost && exponent <= kMost;
}

bool ParseDecimal(std::string_view text, Decimal& decimal) {
  decimal.negative = text.starts_with('-');
  if (decimal.negative || text.starts_with('+')) text.remove_prefix(1);
  decimal.digits = TakeDigits(text);
  decimal.whole = static_cast<int64_t>(decimal.digits.size());
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    decimal.digits += TakeDigits(text);
  }
  int64_t exponent = 0;
  const bool good = !decimal.digits.empty() && TakeExponent(text, exponent);
  decimal.whole += exponent;
  return good;
}

void SortRow(int64_t begin, SparseArrays& rows) {
  std::vector<std::pair<int32_t, float>> pairs;
  for (int64_t i = begin; i < rows.ids.size(); ++i)
    pairs.emplace_back(rows.ids[i], rows.values.empty() ? 1.0F : rows.values[i]);
  std::sort(pairs.begin(), pairs.end());
  for (size_t i = 0; i < pairs.size(); ++i) {
    rows.ids[begin + static_cast<int64_t>(i)] = pairs[i].first;
    if (!rows.values.empty()) rows.values[begin + static_cast<int64_t>(i)] = pairs[i].second;
  }
}

}  // namespace

std::string WholeNumber(std::string_view text) {
  Decimal decimal;
  if (!ParseDecimal(text, decimal)) return "";
  std::string& digits = decimal.digits;
  const auto whole = static_cast<size_t>(std::max<int64_t>(decimal.whole, 0));
  const size_t last = digits.find_last_not_of('0');
  if (last == digits.npos) return "0";
  if (last + 1 > whole) return "";
  digits.resize(whole, '0');
  digits.erase(0, digits.find_first_not_of('0'));
  return (decimal.negative ? "-" : "") + digits;
}

std::string Quoted(std::string_view text) {
  constexpr size_t kLongest = 40;
  std::string quoted = "'";
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    quoted += byte >= 32 && byte < 127 ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return quoted + (text.size() > kLongest ? "...'" : "'");
}

bool ParseNumber(std::string_view text, double& value) {
  const char* begin = text.data();
  const char* end = begin + text.size();
  return (ScanPlain(begin, end, value) || Scan(begin, end, value)) && begin == end;
}

bool IsNotFinite(std::string_view text) {
  double value = 0;
  const char* begin = text.data();
  const char* end = begin + text.size();
  return begin != end && !Scan(begin, end, value) && begin == end && !std::isfinite(value);
}

bool ScanAnyFloat(const char*& begin, const char* end, float& value) {
  return Scan(begin, end, value);
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view WordAt(const char* begin, const char* end) {
  const char* stop = begin;
  while (stop != end && !IsBlank(*stop)) ++stop;
  return {begin, static_cast<size_t>(stop - begin)};
}

bool LineReader::Take(std::string_view& line) {
  carried_.clear();
  for (;;) {
    const size_t length = piece_.find('\n');
    if (length != piece_.npos) {
      line = piece_.substr(0, length);
      if (!carried_.empty()) line = carried_ += line;
      piece_.remove_prefix(length + 1);
      return true;
    }
    carried_ += piece_;
    Require(carried_.size() <= kLongestLine,
            "{}:{}: the line is longer than {} MB; expected lines of text", Name(), number_ + 1,
            kLongestLine >> 20);
    piece_ = source_->Next();
    if (!piece_.empty()) continue;
    if (carried_.empty()) return false;
    line = carried_;
    return true;
  }
}

bool LineReader::Next(std::string_view& line) {
  if (!Take(line)) return false;
  line = WithoutReturn(line);
  if (++number_ == 1) CheckStart(line);
  return true;
}

void LineReader::CheckStart(std::string_view& line) const {
  const std::string_view encoding = WideEncoding(line);
  if (!encoding.empty()) Fail("the file is {} text; expected UTF-8", encoding);
  if (line.starts_with(kByteOrderMark)) line.remove_prefix(kByteOrderMark.size());
}

bool LineReader::NextLines(std::string_view& lines) {
  if (piece_.empty()) piece_ = source_->Next();
  const size_t last = piece_.rfind('\n');
  if (last == piece_.npos) return Take(lines);
  lines = piece_.substr(0, last + 1);
  piece_.remove_prefix(lines.size());
  return true;
}

bool LineReader::NextFilled(std::string_view& line) {
  if (!Next(line)) return false;
  if (!Trimmed(line).empty()) return true;
  const int64_t blank = number_;
  while (Next(line)) {
    if (!Trimmed(line).empty()) Fail("line {} above is blank; expected an example there", blank);
  }
  return false;
}

void EndSparseRow(const LineReader& lines, int64_t begin, SparseArrays& rows) {
  const auto ids = rows.ids.span().subspan(static_cast<size_t>(begin));
  if (!std::is_sorted(ids.begin(), ids.end())) SortRow(begin, rows);
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) lines.Fail("{} occurs twice; expected each id once a line", *twice);
  rows.EndRow();
}

}  // namespace yoke
