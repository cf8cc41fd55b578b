// NpyArray: magic, version, and a header that is a Python literal (numpy.lib.format).
#include "data/npy.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "data/text.h"

namespace yoke {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

// What stands behind "'key': " up to one of `ends`; "" if there is no such key.
std::string FieldOf(const std::string& header, const std::string& key, const char* ends) {
  const size_t at = header.find("'" + key + "':");
  if (at == header.npos) return "";
  const size_t begin = header.find_first_not_of(' ', at + key.size() + 3);
  const size_t end = header.find_first_of(ends, begin);
  return end == header.npos ? "" : header.substr(begin, end - begin);
}

template <typename T>
double As(const uint8_t* bytes) {
  T number;
  std::memcpy(&number, bytes, sizeof number);
  return static_cast<double>(number);
}

}  // namespace

NpyArray::NpyArray(ByteSource& source) : input_(source) {
  const std::string header = ReadHeader();
  SetType(FieldOf(header, "descr", ",}"));
  Require(FieldOf(header, "fortran_order", ",}") == "False",
          "{}: its numbers are in column order; expected numpy.ascontiguousarray(array)", Name());
  SetShape(FieldOf(header, "shape", ")"));
}

std::string NpyArray::ReadHeader() {
  std::array<uint8_t, 8> start;
  const bool good = input_.Read(start.data(), start.size()) == start.size() &&
                    std::memcmp(start.data(), kMagic.data(), kMagic.size()) == 0;
  Require(good, "{}: expected a .npy file, as numpy.save writes it", Name());
  std::array<uint8_t, 4> length = {};
  const size_t bytes = start[6] == 1 ? 2 : 4;
  const bool has_length = input_.Read(length.data(), bytes) == bytes;
  constexpr uint32_t kLongest = 1 << 16;
  uint32_t size = 0;
  std::memcpy(&size, length.data(), sizeof size);
  Require(has_length && size <= kLongest, "{}: its header is damaged", Name());
  std::string header(size, ' ');
  Require(input_.Read(header.data(), size) == size, "{}: the file ends in its header", Name());
  return header;
}

void NpyArray::SetType(const std::string& type) {
  const bool good = type.size() == 5 && type.front() == '\'' && type.back() == '\'';
  kind_ = good ? type[2] : '?';
  size_ = good ? type[3] - '0' : 0;
  swapped_ = good && type[1] == '>' && size_ > 1;
  const bool whole =
      (kind_ == 'i' || kind_ == 'u') && (size_ == 1 || size_ == 2 || size_ == 4 || size_ == 8);
  Require(whole || (kind_ == 'f' && (size_ == 4 || size_ == 8)) || (kind_ == 'b' && size_ == 1),
          "{}: its type is {}; expected whole numbers, f4, f8 or booleans", Name(),
          Quoted(good ? type.substr(1, 3) : type));
}

void NpyArray::SetShape(const std::string& shape) {
  const char* at = shape.data();
  const char* const end = at + shape.size();
  bool good = shape.starts_with('(');
  for (at += good; good && at != end;) {
    int64_t length = 0;
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    good = ScanIndex(at, end, kMostElements, length) && length > 0 &&
           !__builtin_mul_overflow(count_, length, &count_) && count_ <= kMostElements;
    axes_.push_back(length);
  }
  Require(good && !axes_.empty(), "{}: its shape is {}; expected axes above 0", Name(),
          Quoted(shape));
}

double NpyArray::Number(const uint8_t* bytes) const {
  switch (kind_ == 'f' ? -size_ : kind_ == 'i' ? 10 + size_ : size_) {
    case -4:
      return As<float>(bytes);
    case -8:
      return As<double>(bytes);
    case 11:
      return As<int8_t>(bytes);
    case 12:
      return As<int16_t>(bytes);
    case 14:
      return As<int32_t>(bytes);
    case 18:
      return As<int64_t>(bytes);
    case 2:
      return As<uint16_t>(bytes);
    case 4:
      return As<uint32_t>(bytes);
    case 8:
      return As<uint64_t>(bytes);
    default:
      return *bytes;
  }
}

void NpyArray::ReadNumbers(const std::function<void(double number, int64_t position)>& take) {
  std::array<uint8_t, 1 << 16> piece;
  for (int64_t left = count_; left > 0;) {
    const int64_t wanted = std::min<int64_t>(left, std::ssize(piece) / size_);
    const int64_t position = input_.Position();
    const size_t got = input_.Read(piece.data(), static_cast<size_t>(wanted * size_));
    Require(got == static_cast<size_t>(wanted * size_),
            "{}: the file ends at byte {}; its header promises {} numbers", Name(),
            input_.Position(), count_);
    for (int64_t i = 0; i < wanted; ++i) {
      uint8_t* const bytes = piece.data() + i * size_;
      if (swapped_) std::reverse(bytes, bytes + size_);
      take(Number(bytes), position + i * size_);
    }
    left -= wanted;
  }
  Require(input_.Read(piece.data(), 1) == 0,
          "{}: more bytes follow its {} numbers; expected the end", Name(), count_);
}

}  // namespace yoke
