// Safetensors: named tensors in one file (a JSON header, then the numbers), as the Python package
// of that name reads them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/storage.h"
#include "tensor/types.h"

namespace yoke {

/// A tensor of a file, or to be put into one; owns nothing.
struct StoredTensor {
  std::string name;
  DType type = DType::kF32;
  Shape shape;
  const void* data = nullptr;

  int64_t Bytes() const { return shape.Count() * SizeOf(type); }
};

/// The bytes of a file that holds these tensors in this order. They depend on names, shapes, types
/// and numbers alone; a checksum in the header's metadata covers every byte of the file.
std::string EncodeSafetensors(std::span<const StoredTensor> tensors);
/// Writes the same bytes durably to a file, straight from the tensors, and returns their checksum.
std::string WriteSafetensors(const std::string& path, std::span<const StoredTensor> tensors);

/// Reads such a file, which is mapped: what is not being read takes no memory.
class Safetensors {
 public:
  /// Checks every byte. Throws UserError naming the file when it cannot be read, breaks off or was
  /// altered.
  static Safetensors Open(const std::string& path);
  /// The same of bytes; `name` stands for the file in messages.
  Safetensors(std::string bytes, std::string name);

  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  /// The tensor of this name, type and shape; throws UserError when there is none.
  const StoredTensor& Find(const std::string& name, DType type, const Shape& shape) const;
  /// Copies that tensor to `wanted.data`.
  void CopyTo(const StoredTensor& wanted) const;
  /// Whether it holds a tensor of the name, type and shape of `wanted`.
  bool Has(const StoredTensor& wanted) const;
  const std::string& checksum() const { return checksum_; }

 private:
  Safetensors(SharedBytes file, bool mapped, std::string name);
  /// Calls use(piece) for one piece after the other of a part of the file.
  template <typename Use>
  void InPieces(std::string_view part, const Use& use) const;
  std::string ComputedChecksum() const;

  SharedBytes file_;
  bool mapped_;
  std::string name_;
  std::string checksum_;
  std::vector<StoredTensor> tensors_;
};

/// Tensors (data still null, instead an offset from the start of the data) that a header promises,
/// checked against each other and against the bytes that follow it. Throws UserError.
struct TensorAt {
  StoredTensor tensor;
  int64_t offset = 0;
};
std::vector<TensorAt> ParseSafetensorsHeader(std::string_view header, int64_t data_bytes,
                                             const std::string& name);

}  // namespace yoke
