// WeighRows: multiplies each row by its weight, for examples that count more or less than others.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/kernel.h"

namespace yoke {

struct WeighRowsCall {
  float* values = nullptr;         ///< [rows, width], changed.
  const float* weights = nullptr;  ///< [rows]
  int64_t rows = 0;
  int64_t width = 0;

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(values, weights);
  }
};

std::unique_ptr<Kernel<WeighRowsCall>> MakeWeighRows(const Target& target = {});

}  // namespace yoke
