// NpyArray: an array as NumPy writes it (.npy), read front to back.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "data/source.h"
#include "tensor/sizes.h"

namespace yoke {

/// Whole numbers, floats and booleans of one to eight bytes, in row order.
class NpyArray {
 public:
  /// Reads the header. Throws UserError with the file for one that is damaged, and for other types
  /// or orders.
  explicit NpyArray(ByteSource& source);

  const std::string& Name() const { return input_.Name(); }
  const std::vector<int64_t>& axes() const { return axes_; }
  bool IsBytes() const { return kind_ == 'u' && size_ == 1; }  ///< As images have them.

  /// Calls `take` with every number, in order. Throws UserError if the file ends early or goes on.
  void ReadNumbers(const std::function<void(double number, int64_t position)>& take);

 private:
  std::string ReadHeader();
  void SetType(const std::string& type);
  void SetShape(const std::string& shape);
  double Number(const uint8_t* bytes) const;

  BinaryInput input_;
  char kind_ = 'f';       // f, i, u or b
  int64_t size_ = 4;      // bytes of a number
  bool swapped_ = false;  // big-endian
  std::vector<int64_t> axes_;
  int64_t count_ = 1;
};

}  // namespace yoke
