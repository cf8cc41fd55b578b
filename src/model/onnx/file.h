// OnnxFile: the validated messages of an ONNX file and the data of its tensors.
#pragma once

#include <fmt/core.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"

namespace yoke::onnx_file {

/// Stands for the length of the batch axis, which is unknown, in a tensor's dimensions and in
/// constants that a Shape gives.
inline constexpr int64_t kBatch = std::numeric_limits<int64_t>::min() + 4096;
/// Stands for what a file computes from the length of the batch axis.
inline constexpr int64_t kFromBatch = kBatch + 1;
inline constexpr bool IsFromBatch(int64_t length) {
  return length == kBatch || length == kFromBatch;
}
/// The axis of a Reshape that takes what is left.
inline constexpr int64_t kInferred = -1;
/// Maximum length of an axis, kernel or stride, so that products of a few of them do not overflow.
inline constexpr int64_t kLongestAxis = int64_t{1} << 24;
/// A tensor with known contents.
struct Constant {
  std::vector<int64_t> dims;
  bool integer = false;  ///< True: `ints` holds the data; false: `floats`.
  std::vector<float> floats = {};
  std::vector<int64_t> ints = {};

  /// Whether it holds the length of the batch axis, or what was computed from it.
  bool KnowsBatch() const { return std::ranges::any_of(ints, IsFromBatch); }
  int64_t Count() const { return static_cast<int64_t>(integer ? ints.size() : floats.size()); }
};

/// The shortest decimal number that parses to this float: 0.1 for 0.1f.
double Shortest(float number);

/// Whether an ONNX type is a supported floating-point type (read as f32).
bool IsFloat(int64_t type);

class OnnxFile {
 public:
  /// Throws UserError unless the bytes are a model of opset 6 or later.
  OnnxFile(std::string_view bytes, std::string name, std::string folder);

  const std::string& name() const { return name_; }
  const onnx::GraphProto& graph() const { return model_.graph(); }
  /// The value of a key of the metadata; "" without it.
  std::string Metadata(std::string_view key) const;
  std::map<std::string, std::string> Metadata() const;  ///< All, by key.
  int64_t opset() const { return opset_; }
  /// A tensor's data, from this file or from the external file that it names. Throws UserError.
  Constant Read(const onnx::TensorProto& tensor) const;

 private:
  void CheckVersion();
  std::string External(const onnx::TensorProto& tensor, uint64_t bytes) const;

  std::string name_;
  std::string folder_;
  onnx::ModelProto model_;
  int64_t opset_ = 0;
};

/// Reads `count` bytes of a regular file from `offset` on. Throws UserError.
std::string ReadBytes(const std::string& path, uint64_t offset, uint64_t count);
/// Reads a file of less than 2 GB, more than which no ONNX file holds. Throws UserError.
std::string ReadSmallFile(const std::string& path);
/// The metadata of a file, by key; passes over its graph. Throws UserError.
std::map<std::string, std::string> ReadMetadata(const std::string& path);

/// A node of the file and its attributes.
class Node {
 public:
  Node(const OnnxFile& file, const onnx::NodeProto& node) : file_(&file), node_(&node) {}

  const std::string& type() const { return node_->op_type(); }
  const std::string& name() const { return node_->name(); }
  const OnnxFile& file() const { return *file_; }
  const onnx::NodeProto& proto() const { return *node_; }
  int inputs() const { return node_->input_size(); }
  /// The name of an input, or "" if it is absent.
  const std::string& input(int i) const;
  const std::string& output(int i = 0) const;

  int64_t Int(std::string_view attribute, int64_t fallback) const;
  double Float(std::string_view attribute, double fallback) const;
  std::string Text(std::string_view attribute, const std::string& fallback) const;
  std::vector<int64_t> Ints(std::string_view attribute) const;         ///< Empty if absent.
  const onnx::AttributeProto* Find(std::string_view attribute) const;  ///< Or null.

  /// Throws UserError with file and node unless `condition` holds.
  template <typename... Args>
  void Need(bool condition, fmt::format_string<Args...> sentence, Args&&... args) const {
    if (!condition) Refuse(fmt::format(sentence, std::forward<Args>(args)...));
  }
  [[noreturn]] void Refuse(const std::string& sentence) const;

 private:
  const OnnxFile* file_;
  const onnx::NodeProto* node_;
};

}  // namespace yoke::onnx_file
