// CudaHost: kernels of CUDA on the host beside the CPU's reference: a grid, numbers, poisoned
// results, and how far apart both may be. Included before every other header of kernels/cuda.
#pragma once

#define YOKE_HOST_DEVICE  // before every header of kernels/cuda

#include "kernels/cuda/host_products.h"
#include "kernels/cuda/team.h"
//
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tensor/device.h"
#include "tensor/tensor.h"

namespace yoke::cuda {

/// Runs the bodies of CUDA kernels on the host.
class HostGrid {
 public:
  using Product = HostProduct;
  using Convolver = HostConvolver;

  static Device& device() { return Cpu(); }
  static Stream& stream() { return CpuStream(); }
  /// body(i) for every i below `count`.
  template <typename Body>
  static void Each(int64_t count, const Body& body) {
    for (int64_t i = 0; i < count; ++i) body(i);
  }
  /// body(team, i) for every i below `count`, each by a team of `threads`.
  template <typename Body>
  static void Teams(int64_t count, int threads, const Body& body) {
    HostTeam team(threads);
    for (int64_t i = 0; i < count; ++i) body(team, i);
  }
};

/// Elements of f32 or bf16.
class Elements {
 public:
  Elements() = default;
  /// NaN, where a kernel is to write.
  Elements(DType type, int64_t count)
      : Elements(type, std::vector<float>(static_cast<size_t>(count),
                                          std::numeric_limits<float>::quiet_NaN())) {}
  Elements(DType type, const std::vector<float>& values) : type_(type) {
    if (type == DType::kBf16)
      for (const float value : values) bf16_.emplace_back(value);
    else
      f32_ = values;
  }
  void* data() { return type_ == DType::kBf16 ? static_cast<void*>(bf16_.data()) : f32_.data(); }
  float* f32() { return f32_.data(); }
  Tensor Of(const Shape& shape, Layout layout = Layout::kPlain) {
    return {.shape = shape, .type = type_, .data = data(), .layout = layout};
  }
  std::vector<float> Values() const {
    if (type_ != DType::kBf16) return f32_;
    std::vector<float> values;
    for (const Bf16 element : bf16_) values.push_back(static_cast<float>(element));
    return values;
  }
  DType type() const { return type_; }

 private:
  DType type_ = DType::kF32;
  std::vector<float> f32_;
  std::vector<Bf16> bf16_;
};

/// Normal numbers, the same for a seed.
inline std::vector<float> Normals(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}
inline Elements Drawn(DType type, int64_t count, unsigned seed) {
  return {type, Normals(count, seed)};
}

/// Elements agree to `tolerance` of the larger of 1 and their size; bf16 to two of its steps more.
inline void ExpectNear(const Elements& ours, const Elements& reference, const char* what,
                       float tolerance = 2e-5F) {
  const std::vector<float> a = ours.Values(), b = reference.Values();
  ASSERT_EQ(a.size(), b.size()) << what;
  if (ours.type() == DType::kBf16) tolerance += 1.0F / 64;
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(b[i]) && std::isnan(a[i])) continue;
    if (a[i] == b[i]) continue;  // infinite ones
    ASSERT_LE(std::abs(a[i] - b[i]), tolerance * std::max(1.0F, std::abs(b[i])))
        << what << ", element " << i << ": " << a[i] << " for " << b[i];
  }
}

inline constexpr Layout kLayouts[] = {Layout::kPlain, Layout::kChannelsLast};
inline constexpr DType kFloats[] = {DType::kF32, DType::kBf16};

inline std::string NameOf(DType type, Layout layout) {
  return std::string(NameOf(type)) + (layout == Layout::kPlain ? ", plain" : ", channels last");
}

}  // namespace yoke::cuda
