// KeptStaging: an array's elements for the host, in memory that is kept from call to call.
#pragma once

#include "tensor/array.h"

namespace yoke {

/// For arrays of one device.
class KeptStaging {
 public:
  /// The elements themselves where they lie on the host; otherwise memory for a copy, which is
  /// valid until the next call.
  std::span<float> Of(Array<float> values) {
    if (values.OnHost()) return values.Host();
    if (memory_.bytes() < values.Bytes())
      memory_ = Buffer(values.device->staging(), values.Bytes());
    return AllOf<float>(memory_).First(values.count).Host();
  }
  /// The same, with the elements as they are.
  std::span<float> Read(Array<float> values) {
    const std::span<float> copy = Of(values);
    if (!values.OnHost()) Copy(OnHost(copy), values);
    return copy;
  }
  /// Copies them back.
  void Write(Array<float> values) {
    if (!values.OnHost()) Copy(values, OnHost(Of(values)));
  }

 private:
  Buffer memory_;
};

}  // namespace yoke
