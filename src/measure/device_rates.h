// DeviceRates: rates of a device, without a model: of its memory, copies and matrix products.
#pragma once

#include <memory>

#include "kernels/linear/linear.h"
#include "tensor/device.h"
#include "tensor/types.h"

namespace yoke {

/// 0: not measured.
struct DeviceRates {
  double memory = 0;                      ///< Bytes read and written per second by a copy inside.
  double to_device = 0, from_device = 0;  ///< Bytes per second between it and its staging memory.
  double f32 = 0, tf32 = 0, bf16 = 0;     ///< Operations per second of matrix products.
};

struct RatesRequest {
  double seconds = 0.8;                ///< About the time that it takes.
  int64_t bytes = int64_t{256} << 20;  ///< Of a copy inside; a quarter is copied in and out.
  int64_t largest = 8192;              ///< Rows of a matrix.
};

/// Of a device other than the CPU. Throws Error if it fails or its memory is full.
DeviceRates MeasureRates(Device& device, const RatesRequest& request = {});

/// Operations per second of products of square matrices that take a millisecond or have `largest`
/// rows.
double SpeedOfProducts(Device& device, DType type, const RatesRequest& request);

/// A product of square matrices, with which a device's arithmetic peak is measured.
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
