// SquareProduct: a product of square matrices, with which a device's arithmetic peak is measured.
#pragma once

#include <memory>

#include "kernels/linear/linear.h"
#include "tensor/device.h"

namespace yoke {

class SquareProduct {
 public:
  /// Of random matrices on the device, f32 or bf16. Throws Error if its memory is too small.
  SquareProduct(int64_t size, DType type, Device& device = Cpu());
  /// Returns when it is computed.
  void Run() const;
  double Operations() const { return 2.0 * double(size_) * double(size_) * double(size_); }

 private:
  int64_t size_;
  Device& device_;
  std::unique_ptr<LinearKernel> kernel_;
  Buffer input_, weight_, output_, scratch_;
};

}  // namespace yoke
