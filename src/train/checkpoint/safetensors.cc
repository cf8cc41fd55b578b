// Safetensors: u64 length of the header, the header (JSON), the data; little-endian, without gaps.
#include "train/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "kernels/convert.h"
#include "tensor/sizes.h"
#include "train/files.h"

namespace yoke {
namespace {

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMaxHeader = 100'000'000;  // the format's limit
/// The beginning of our headers, so that the checksum has a known position.
constexpr std::string_view kHeaderBegin = R"({"__metadata__":{"checksum":")";
constexpr size_t kSealAt = kLengthBytes + kHeaderBegin.size();
constexpr std::string_view kNoSeal = "0000000000000000";
constexpr size_t kPiece = 8 << 20;  ///< Bytes of a mapped file held at once.

constexpr std::array<std::pair<DType, const char*>, 4> kTypes = {
    {{DType::kF32, "F32"}, {DType::kBf16, "BF16"}, {DType::kI32, "I32"}, {DType::kU8, "U8"}}};

const char* TypeText(DType type) {
  for (const auto& [known, text] : kTypes)
    if (known == type) return text;
  return "";
}

[[noreturn]] void Damaged(const std::string& name, const std::string& what) {
  throw DamagedError(fmt::format("{} is damaged: {}", name, what));
}

SharedBytes Shared(std::string bytes) {
  const auto owner = std::make_shared<const std::string>(std::move(bytes));
  return {*owner, owner};
}

std::string HeaderOf(std::span<const StoredTensor> tensors) {
  Table header = {{"__metadata__", Table{{"checksum", std::string(kNoSeal)}}}};
  int64_t offset = 0;
  for (const StoredTensor& tensor : tensors) {
    header.emplace_back(tensor.name,
                        Table{{"dtype", TypeText(tensor.type)},
                              {"shape", ListOf(tensor.shape.axes())},
                              {"data_offsets", List{offset, offset + tensor.Bytes()}}});
    offset += tensor.Bytes();
  }
  std::string text = FormatJson(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

bool IsFloat(DType type) { return type == DType::kF32 || type == DType::kBf16; }

bool Converts(DType from, DType to) { return from == to || (IsFloat(from) && IsFloat(to)); }

/// A file in pieces: its header with the checksum, then the tensors in place.
struct SealedFile {
  explicit SealedFile(std::span<const StoredTensor> tensors) {
    const std::string header = HeaderOf(tensors);
    const uint64_t length = header.size();
    beginning.assign(reinterpret_cast<const char*>(&length), kLengthBytes);
    beginning += header;
    pieces.push_back(beginning);
    for (const StoredTensor& tensor : tensors)
      pieces.emplace_back(static_cast<const char*>(tensor.data),
                          static_cast<size_t>(tensor.Bytes()));
    checksum = ChecksumOf(pieces);
    beginning.replace(kSealAt, checksum.size(), checksum);
  }
  SealedFile(const SealedFile&) = delete;
  SealedFile& operator=(const SealedFile&) = delete;

  std::string beginning, checksum;
  std::vector<std::string_view> pieces;
};

int64_t WholeNumber(const Value& value, const std::string& name) {
  if (value.AsNumber().value_or(0) >= 0x1p62) Damaged(name, "a size in its header is too large");
  const int64_t* size = value.AsInt();
  if (!size || *size < 0) Damaged(name, "a size in its header is not a whole number");
  return *size;
}

Shape ParseShape(const List& list, const std::string& name) try {
  if (list.size() > Shape::kMaxRank) Damaged(name, "a shape in its header has too many axes");
  std::vector<int64_t> axes;
  for (const Value& axis : list) axes.push_back(WholeNumber(axis, name));
  return Shape(axes);
} catch (const TooLarge&) {
  Damaged(name, "a shape in its header is too large");
}

TensorAt ParseTensor(const std::string& tensor, const Value& entry, const std::string& name) {
  const Value *dtype = entry.Find("dtype"), *shape = entry.Find("shape"),
              *offsets = entry.Find("data_offsets");
  if (!dtype || !shape || !offsets)
    Damaged(name, fmt::format("its header does not describe '{}'", tensor));
  const auto type = std::find_if(kTypes.begin(), kTypes.end(),
                                 [&](const auto& known) { return *dtype == Value(known.second); });
  if (type == kTypes.end()) Damaged(name, fmt::format("the type of '{}' is unknown", tensor));
  if (!shape->AsList() || !offsets->AsList() || offsets->AsList()->size() != 2)
    Damaged(name, fmt::format("its header has no offsets for '{}'", tensor));
  TensorAt at = {{tensor, type->first, ParseShape(*shape->AsList(), name)},
                 WholeNumber(offsets->AsList()->front(), name)};
  if (WholeNumber(offsets->AsList()->back(), name) - at.offset != at.tensor.Bytes())
    Damaged(name, fmt::format("the shape of '{}' does not fit its bytes", tensor));
  return at;
}

}  // namespace

std::string EncodeSafetensors(std::span<const StoredTensor> tensors) {
  const SealedFile file(tensors);
  std::string bytes;
  for (std::string_view piece : file.pieces) bytes += piece;
  return bytes;
}

std::string WriteSafetensors(const std::string& path, std::span<const StoredTensor> tensors) {
  const SealedFile file(tensors);
  WriteDurably(path, file.pieces);
  return file.checksum;
}

std::vector<TensorAt> ParseSafetensorsHeader(std::string_view header, int64_t data_bytes,
                                             const std::string& name) {
  const Value json = ParseJson(header);
  if (!json.AsTable()) Damaged(name, "its header is not JSON");
  std::vector<TensorAt> found;
  for (const auto& [key, value] : *json.AsTable())
    if (key != "__metadata__") found.push_back(ParseTensor(key, value, name));
  std::sort(found.begin(), found.end(),
            [](const TensorAt& a, const TensorAt& b) { return a.offset < b.offset; });
  int64_t end = 0;
  for (const TensorAt& at : found) {
    if (at.offset != end)
      Damaged(name,
              fmt::format("'{}' does not begin where the one before it ends", at.tensor.name));
    if (__builtin_add_overflow(end, at.tensor.Bytes(), &end))
      Damaged(name, "its tensors are too large");
  }
  if (end != data_bytes)
    Damaged(name,
            fmt::format("it has {} bytes of data, but its header declares {}", data_bytes, end));
  return found;
}

Safetensors Safetensors::Open(const std::string& path) { return {MapWhole(path), true, path}; }

Safetensors::Safetensors(std::string bytes, std::string name)
    : Safetensors(Shared(std::move(bytes)), false, std::move(name)) {}

Safetensors::Safetensors(SharedBytes file, bool mapped, std::string name)
    : file_(std::move(file)), mapped_(mapped), name_(std::move(name)) {
  const std::string_view bytes = file_.bytes;
  if (bytes.size() < kLengthBytes)
    Damaged(name_, fmt::format("it holds only {} bytes", bytes.size()));
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > bytes.size() - kLengthBytes || length > kMaxHeader)
    Damaged(name_, "its header is longer than the file");
  const std::string_view header = bytes.substr(kLengthBytes, length);
  if (!header.starts_with(kHeaderBegin)) {
    if (ParseJson(header).AsTable())
      throw DamagedError(
          fmt::format("{} was not written by yoke: its header lacks the checksum in __metadata__ "
                      "that yoke puts "
                      "first, so its bytes cannot be checked",
                      name_));
    Damaged(name_, "its header is not JSON");
  }
  const size_t data = kLengthBytes + length;
  const auto found =
      ParseSafetensorsHeader(header, static_cast<int64_t>(bytes.size() - data), name_);
  checksum_ = bytes.substr(kSealAt, kNoSeal.size());
  if (ComputedChecksum() != checksum_) Damaged(name_, "its checksum does not match");
  tensors_.reserve(found.size());
  by_name_.reserve(found.size());
  for (const TensorAt& at : found) {
    StoredTensor& tensor = tensors_.emplace_back(at.tensor);
    tensor.data = bytes.data() + data + at.offset;
    by_name_.emplace(tensor.name, &tensor);
  }
}

template <typename Use>
void Safetensors::InPieces(std::string_view part, const Use& use) const {
  while (!part.empty()) {
    const std::string_view piece = part.substr(0, kPiece);
    use(piece);
    if (mapped_) DropPages(piece);
    part.remove_prefix(piece.size());
  }
}

std::string Safetensors::ComputedChecksum() const {
  const std::string_view bytes = file_.bytes;
  Checksum checksum(bytes.size());
  checksum.Add(bytes.substr(0, kSealAt));
  checksum.Add(kNoSeal);
  InPieces(bytes.substr(std::min(bytes.size(), kSealAt + kNoSeal.size())),
           [&](std::string_view piece) { checksum.Add(piece); });
  return checksum.Text();
}

void Safetensors::CopyTo(const StoredTensor& wanted) const {
  const auto named = by_name_.find(wanted.name);
  const bool converts = named != by_name_.end() && Converts(named->second->type, wanted.type);
  const DType type = converts ? named->second->type : wanted.type;
  const StoredTensor& found = Find(wanted.name, type, wanted.shape);
  auto* to = static_cast<char*>(const_cast<void*>(wanted.data));
  InPieces({static_cast<const char*>(found.data), static_cast<size_t>(found.Bytes())},
           [&](std::string_view piece) {
             const int64_t count = std::ssize(piece) / SizeOf(type);
             if (type == wanted.type)
               std::memcpy(to, piece.data(), piece.size());
             else
               Convert({.shape = {count}, .type = type, .data = piece.data()},
                       {.shape = {count}, .type = wanted.type, .data = to});
             to += count * SizeOf(wanted.type);
           });
}

bool Safetensors::Has(const StoredTensor& wanted) const {
  const auto found = by_name_.find(wanted.name);
  return found != by_name_.end() && Converts(found->second->type, wanted.type) &&
         found->second->shape == wanted.shape;
}

const StoredTensor& Safetensors::Find(const std::string& name, DType type,
                                      const Shape& shape) const {
  const auto found = by_name_.find(name);
  Require(found != by_name_.end(), "{} has no tensor '{}': it belongs to another model", name_,
          name);
  const StoredTensor& tensor = *found->second;
  Require(tensor.shape == shape && tensor.type == type, "{}: '{}' is {} {}, expected {} {}", name_,
          name, NameOf(tensor.type), tensor.shape.Text(), NameOf(type), shape.Text());
  return tensor;
}

}  // namespace yoke
