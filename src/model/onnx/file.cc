// OnnxFile: parses messages and tensors, and checks every length against the bytes.
#include "model/onnx/file.h"
#include "base/utf8.h"
#include "tensor/sizes.h"

#include <google/protobuf/stubs/logging.h>

#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>

namespace yoke::onnx_file {
namespace {

namespace fs = std::filesystem;

/// The operators read the forms of all opsets from this one on. (The ONNX library's own converter,
/// 1.12 of Debian 12, fails where an optional attribute such as Pad's value is omitted.)
constexpr int64_t kFirstOpset = 6;

/// Converts an IEEE half to a float.
float FloatOfHalf(uint16_t bits) {
  constexpr int kFraction = 10, kBias = 15, kMost = 31;
  const int exponent = bits >> kFraction & kMost;
  const auto fraction = static_cast<float>(bits & ((1 << kFraction) - 1));
  const float sign = bits >> 15 ? -1.0F : 1.0F;
  if (exponent == kMost)
    return sign * (fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                                 : std::numeric_limits<float>::infinity());
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - kBias - kFraction);
  return sign * std::ldexp(fraction + (1 << kFraction), exponent - kBias - kFraction);
}

float FloatOfBf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

/// The number of elements of a tensor, from its dimensions.
int64_t CountOf(const onnx::TensorProto& tensor, const std::string& file) {
  constexpr int64_t kLongest = int64_t{1} << 31;
  int64_t count = 1;
  for (const int64_t dim : tensor.dims()) {
    Require(dim >= 0 && dim <= kLongest, "{}: tensor '{}' has an axis of length {}", file,
            tensor.name(), dim);
    Require(!__builtin_mul_overflow(count, dim, &count) && count <= kMostElements,
            "{}: tensor '{}' claims more than {} numbers", file, tensor.name(), kMostElements);
  }
  return count;
}

size_t SizeOf(int type) {
  switch (type) {
    case onnx::TensorProto::FLOAT:
    case onnx::TensorProto::INT32:
      return 4;
    case onnx::TensorProto::DOUBLE:
    case onnx::TensorProto::INT64:
      return 8;
    case onnx::TensorProto::FLOAT16:
    case onnx::TensorProto::BFLOAT16:
      return 2;
    case onnx::TensorProto::BOOL:
      return 1;
    default:
      return 0;
  }
}

template <typename From, typename To, typename Make = std::identity>
void Unpack(std::string_view bytes, std::vector<To>& to, const Make& make = {}) {
  to.resize(bytes.size() / sizeof(From));
  for (size_t i = 0; i < to.size(); ++i) {
    From number;
    std::memcpy(&number, bytes.data() + i * sizeof(From), sizeof(From));
    to[i] = static_cast<To>(make(number));
  }
}

void UnpackRaw(int type, std::string_view bytes, Constant& constant) {
  switch (type) {
    case onnx::TensorProto::FLOAT:
      return Unpack<float>(bytes, constant.floats);
    case onnx::TensorProto::DOUBLE:
      return Unpack<double>(bytes, constant.floats);
    case onnx::TensorProto::FLOAT16:
      return Unpack<uint16_t>(bytes, constant.floats, FloatOfHalf);
    case onnx::TensorProto::BFLOAT16:
      return Unpack<uint16_t>(bytes, constant.floats, FloatOfBf16);
    case onnx::TensorProto::INT32:
      return Unpack<int32_t>(bytes, constant.ints);
    case onnx::TensorProto::INT64:
      return Unpack<int64_t>(bytes, constant.ints);
    default:
      return Unpack<uint8_t>(bytes, constant.ints);
  }
}

void CopyFields(const onnx::TensorProto& tensor, Constant& constant) {
  switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT:
      constant.floats.assign(tensor.float_data().begin(), tensor.float_data().end());
      return;
    case onnx::TensorProto::DOUBLE:
      for (const double number : tensor.double_data())
        constant.floats.push_back(static_cast<float>(number));
      return;
    case onnx::TensorProto::FLOAT16:
      for (const int32_t bits : tensor.int32_data())
        constant.floats.push_back(FloatOfHalf(static_cast<uint16_t>(bits)));
      return;
    case onnx::TensorProto::BFLOAT16:
      for (const int32_t bits : tensor.int32_data())
        constant.floats.push_back(FloatOfBf16(static_cast<uint16_t>(bits)));
      return;
    case onnx::TensorProto::INT64:
      constant.ints.assign(tensor.int64_data().begin(), tensor.int64_data().end());
      return;
    default:
      constant.ints.assign(tensor.int32_data().begin(), tensor.int32_data().end());
  }
}

/// Location of a tensor's external data.
struct Place {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length = {};
};

/// Whether a location names a file inside the folder without leaving it, by its text.
bool IsInside(const std::string& location) {
  const fs::path path(location);
  return !location.empty() && location.find('\0') == std::string::npos && path.is_relative() &&
         std::ranges::none_of(path, [](const fs::path& part) { return part == ".."; });
}

/// Whether a file stays inside a folder when links are followed.
bool StaysInside(const fs::path& file, const fs::path& folder) {
  const fs::path home = fs::canonical(folder.empty() ? "." : folder), real = fs::canonical(file);
  return std::ranges::mismatch(home, real).in1 == home.end();
}

Place PlaceOf(const onnx::TensorProto& tensor, const std::string& file) {
  Place place;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") place.location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;
    const bool digits = !entry.value().empty() && entry.value().size() < 19 &&
                        entry.value().find_first_not_of("0123456789") == std::string::npos;
    Require(digits, "{}: tensor '{}' has the {} '{}', which is no number", file, tensor.name(),
            entry.key(), entry.value());
    if (entry.key() == "offset") place.offset = std::stoull(entry.value());
    if (entry.key() == "length") place.length = std::stoull(entry.value());
  }
  Require(IsInside(place.location),
          "{}: tensor '{}' lies in '{}': expected the name of a file beside it", file,
          tensor.name(), OneLine(place.location));
  return place;
}

}  // namespace

bool IsFloat(int64_t type) {
  return type == onnx::TensorProto::FLOAT || type == onnx::TensorProto::DOUBLE ||
         type == onnx::TensorProto::FLOAT16 || type == onnx::TensorProto::BFLOAT16;
}

double Shortest(float number) {
  return std::isfinite(number) ? std::stod(fmt::format("{}", number)) : double{number};
}

static uint64_t SizeOfFile(const std::string& path) {
  Require(fs::exists(path), "there is no file {}", path);
  Require(fs::is_regular_file(path), "{} is not a regular file", path);
  return fs::file_size(path);
}

std::string ReadBytes(const std::string& path, uint64_t offset, uint64_t count) {
  const uint64_t size = SizeOfFile(path);
  Require(offset <= size && count <= size - offset,
          "{} ends at byte {}; expected {} bytes from byte {} on", path, size, count, offset);
  std::ifstream in(path, std::ios::binary);
  Require(in.good(), "{} cannot be read: {}", path, std::strerror(errno));
  std::string bytes(static_cast<size_t>(count), '\0');
  in.seekg(static_cast<std::streamoff>(offset));
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  Require(in.gcount() == static_cast<std::streamsize>(bytes.size()), "{} cannot be read", path);
  return bytes;
}

namespace {

/// Reads a number of the wire format of protobuf; false at the end of the file.
bool ReadVarint(std::istream& in, uint64_t& number) {
  number = 0;
  for (int shift = 0, byte = 0x80; byte & 0x80 && shift < 64; shift += 7) {
    if ((byte = in.get()) < 0) return false;
    number |= uint64_t(byte & 0x7F) << shift;
  }
  return true;
}

}  // namespace

std::map<std::string, std::string> ReadMetadata(const std::string& path) {
  SizeOfFile(path);  // refuses what is no file
  std::ifstream in(path, std::ios::binary);
  std::map<std::string, std::string> all;
  constexpr int kWireBits = 3, kLengthDelimited = 2;
  for (uint64_t tag = 0, size = 0; ReadVarint(in, tag) && ReadVarint(in, size);) {
    const auto wire = static_cast<int>(tag & 7);
    Require(wire == 0 || wire == kLengthDelimited, "{} is not an ONNX file", path);
    if (wire == 0) continue;  // `size` is its number
    if (tag >> kWireBits != onnx::ModelProto::kMetadataPropsFieldNumber) {
      in.seekg(static_cast<std::streamoff>(size), std::ios::cur);
      continue;
    }
    Require(size < 1U << 30, "{} is not an ONNX file", path);
    std::string bytes(size, '\0');
    in.read(bytes.data(), static_cast<std::streamsize>(size));
    onnx::StringStringEntryProto entry;
    if (in && entry.ParseFromString(bytes)) all[entry.key()] = entry.value();
  }
  return all;
}

std::string ReadSmallFile(const std::string& path) {
  const uint64_t size = SizeOfFile(path);
  Require(size <= std::numeric_limits<int>::max(),
          "{} has {} bytes; an ONNX file holds less than 2 GB", path, size);
  return ReadBytes(path, 0, size);
}

OnnxFile::OnnxFile(std::string_view bytes, std::string name, std::string folder)
    : name_(std::move(name)), folder_(std::move(folder)) {
  const google::protobuf::LogSilencer silence;  // our message is the only one
  const bool small = bytes.size() <= std::numeric_limits<int>::max();
  Require(small && model_.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())),
          "{} is not an ONNX file, or it is truncated", name_);
  Require(model_.has_graph() && model_.graph().node_size() > 0,
          "{} is not an ONNX file: it has no graph", name_);
  CheckVersion();
}

void OnnxFile::CheckVersion() {
  for (const auto& set : model_.opset_import())
    if (set.domain().empty() || set.domain() == "ai.onnx") opset_ = set.version();
  Require(opset_ >= kFirstOpset,
          "{} uses opset {} of ONNX; expected {} or later (in PyTorch: opset_version=17)", name_,
          opset_, kFirstOpset);
}

std::string OnnxFile::Metadata(std::string_view key) const {
  const auto& all = model_.metadata_props();
  const auto found = std::ranges::find(all, key, [](const auto& entry) { return entry.key(); });
  return found == all.end() ? "" : found->value();
}

std::map<std::string, std::string> OnnxFile::Metadata() const {
  std::map<std::string, std::string> all;
  for (const auto& entry : model_.metadata_props()) all[entry.key()] = entry.value();
  return all;
}

std::string OnnxFile::External(const onnx::TensorProto& tensor, uint64_t bytes) const {
  const Place place = PlaceOf(tensor, name_);
  const std::string path = (fs::path(folder_) / place.location).string();
  Require(fs::exists(path), "{}: the numbers of tensor '{}' should lie in {}, which is not there",
          name_, tensor.name(), path);
  Require(StaysInside(path, folder_),
          "{}: the numbers of tensor '{}' lie in {}, a link to another folder: expected a file "
          "beside the model",
          name_, tensor.name(), path);
  Require(place.length.value_or(bytes) == bytes,
          "{}: tensor '{}' should hold {} bytes and has a length of {}", name_, tensor.name(),
          bytes, place.length.value_or(0));
  return ReadBytes(path, place.offset, bytes);
}

Constant OnnxFile::Read(const onnx::TensorProto& tensor) const {
  const int type = tensor.data_type();
  const auto count = static_cast<uint64_t>(CountOf(tensor, name_));
  const size_t size = SizeOf(type);
  Require(size > 0,
          "{}: tensor '{}' holds numbers of ONNX's type {}; expected float, float16, "
          "bfloat16, double, int32, int64 or bool",
          name_, tensor.name(), type);
  Constant constant{.dims = {tensor.dims().begin(), tensor.dims().end()},
                    .integer = !IsFloat(type)};
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    const std::string bytes = External(tensor, count * size);
    UnpackRaw(type, bytes, constant);
  } else if (tensor.has_raw_data()) {
    Require(tensor.raw_data().size() == count * size,
            "{}: tensor '{}' should hold {} bytes and holds {}", name_, tensor.name(), count * size,
            tensor.raw_data().size());
    UnpackRaw(type, tensor.raw_data(), constant);
  } else {
    CopyFields(tensor, constant);
  }
  Require(static_cast<uint64_t>(constant.Count()) == count,
          "{}: tensor '{}' should hold {} numbers and holds {}", name_, tensor.name(), count,
          constant.Count());
  return constant;
}

const std::string& Node::input(int i) const {
  static const std::string none;
  return i < node_->input_size() ? node_->input(i) : none;
}

const std::string& Node::output(int i) const {
  Need(i < node_->output_size(), "it has {} outputs", node_->output_size());
  return node_->output(i);
}

const onnx::AttributeProto* Node::Find(std::string_view attribute) const {
  for (const auto& candidate : node_->attribute())
    if (candidate.name() == attribute) return &candidate;
  return nullptr;
}

int64_t Node::Int(std::string_view attribute, int64_t fallback) const {
  const auto* found = Find(attribute);
  return found ? found->i() : fallback;
}

double Node::Float(std::string_view attribute, double fallback) const {
  const auto* found = Find(attribute);
  return found ? Shortest(found->f()) : fallback;
}

std::string Node::Text(std::string_view attribute, const std::string& fallback) const {
  const auto* found = Find(attribute);
  return found ? found->s() : fallback;
}

std::vector<int64_t> Node::Ints(std::string_view attribute) const {
  const auto* found = Find(attribute);
  return found ? std::vector<int64_t>(found->ints().begin(), found->ints().end())
               : std::vector<int64_t>();
}

void Node::Refuse(const std::string& sentence) const {
  throw UserError(fmt::format(
      "{}: node '{}' ({}): {}", file_->name(),
      name().empty() ? node_->output_size() ? node_->output(0) : "" : name(), type(), sentence));
}

}  // namespace yoke::onnx_file
