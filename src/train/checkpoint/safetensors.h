// Safetensors: named tensors in one file (a JSON header, then the data), in the format of the
// Python package of that name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/storage.h"
#include "tensor/types.h"

namespace yoke {

/// A tensor in a file, or to be written to one; owns nothing.
struct StoredTensor {
  std::string name;
  DType type = DType::kF32;
  Shape shape;
  const void* data = nullptr;

  int64_t Bytes() const { return shape.Count() * SizeOf(type); }
};

/// The bytes of a file with these tensors in this order. They depend only on names, shapes, types
/// and values. A checksum in the header's metadata covers every byte of the file.
std::string EncodeSafetensors(std::span<const StoredTensor> tensors);
/// Writes the same bytes durably to a file, directly from the tensors, and returns their checksum.
std::string WriteSafetensors(const std::string& path, std::span<const StoredTensor> tensors);

/// Reads such a file by mapping it: only the parts in use take memory.
class Safetensors {
 public:
  /// Verifies every byte. Throws UserError with the file if it cannot be read, is truncated or was
  /// altered.
  static Safetensors Open(const std::string& path);
  /// The same for bytes in memory; `name` is the file's name in messages.
  Safetensors(std::string bytes, std::string name);
  Safetensors(const Safetensors&) = delete;
  Safetensors& operator=(const Safetensors&) = delete;
  Safetensors(Safetensors&&) = default;
  Safetensors& operator=(Safetensors&&) = default;
  ~Safetensors() = default;

  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  /// The tensor with this name, type and shape. Throws UserError if there is none.
  const StoredTensor& Find(const std::string& name, DType type, const Shape& shape) const;
  /// Copies the tensor with the name and shape of `wanted` to `wanted.data`. Its type is the same,
  /// or one of f32 and bf16, between which it converts.
  void CopyTo(const StoredTensor& wanted) const;
  /// Whether it has a tensor that CopyTo takes.
  bool Has(const StoredTensor& wanted) const;
  const std::string& checksum() const { return checksum_; }

 private:
  Safetensors(SharedBytes file, bool mapped, std::string name);
  /// Calls use(piece) for consecutive pieces of a part of the file.
  template <typename Use>
  void InPieces(std::string_view part, const Use& use) const;
  std::string ComputedChecksum() const;

  SharedBytes file_;
  bool mapped_;
  std::string name_;
  std::string checksum_;
  std::vector<StoredTensor> tensors_;
  std::unordered_map<std::string_view, const StoredTensor*> by_name_;  // into tensors_
};

/// The tensors declared in a header, checked against each other and against the number of bytes
/// that follow. They have offsets from the start of the data instead of pointers. Throws UserError.
struct TensorAt {
  StoredTensor tensor;
  int64_t offset = 0;
};
std::vector<TensorAt> ParseSafetensorsHeader(std::string_view header, int64_t data_bytes,
                                             const std::string& name);

}  // namespace yoke
