// Vectors: named operations on whole arrays of values, for code that averages, moves and scales
// parameters. Arrays of one call are equally long; the first may be any of the others.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "kernels/kernel.h"
#include "tensor/array.h"
#include "tensor/types.h"

namespace yoke {

// On the host, in the calling thread.

using Values = std::span<float>;
using ConstValues = std::span<const float>;

void Scale(Values y, float a);                                           ///< y = a y
void Divide(Values y, float a);                                          ///< y = y / a
void Add(Values y, ConstValues x);                                       ///< y += x
void AddScaled(Values y, float a, ConstValues x);                        ///< y += a x
void Subtract(Values y, ConstValues x);                                  ///< y -= x
void AddDifference(Values y, float a, ConstValues p, ConstValues q);     ///< y += a (p - q)
void ScaledDifference(Values y, float a, ConstValues p, ConstValues q);  ///< y = a (p - q)
void MoveTowards(Values y, float a, ConstValues x);                      ///< y = (1 - a) y + a x
/// y += a (sum - n y): towards n values with this sum, by a each.
void MoveTowardsAll(Values y, float a, ConstValues sum, float n);
/// The sum of squares, the same for any number of threads.
double SquareSum(ConstValues x);
/// Index of the first element that is infinite or not a number; -1: none.
int64_t FirstNonFinite(ConstValues x);
int64_t FirstNonFinite(std::span<const Bf16> x);

/// The inner product of two rows in f32; `row` is f32 or bf16. The compiler chooses the order of
/// the additions.
template <typename T>
float Dot(const T* row, const float* query, int64_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += static_cast<float>(row[i]) * query[i];
  return sum;
}

// The same on the device that holds the arrays, which all lie on the same one. The results are
// there in the order of CurrentStream; a returned value is waited for.

void Fill(Array<float> y, float a);  ///< y = a
void Scale(Array<float> y, float a);
void Divide(Array<float> y, float a);
void Add(Array<float> y, Array<const float> x);
void AddScaled(Array<float> y, float a, Array<const float> x);
void Subtract(Array<float> y, Array<const float> x);
void AddDifference(Array<float> y, float a, Array<const float> p, Array<const float> q);
void ScaledDifference(Array<float> y, float a, Array<const float> p, Array<const float> q);
void MoveTowards(Array<float> y, float a, Array<const float> x);
void MoveTowardsAll(Array<float> y, float a, Array<const float> sum, float n);
double SquareSum(Array<const float> x);
/// Writes the sum to memory of the array's device.
void SquareSum(Array<const float> x, double* sum);
/// Adds it to what is there.
void AddSquareSum(Array<const float> x, double* sum);
int64_t FirstNonFinite(Array<const float> x);

/// One of these operations, as a device's kernel gets it: y, and x or p and q.
struct VectorCall {
  enum class Operation : uint8_t {
    kFill,
    kScale,
    kDivide,
    kAdd,
    kAddScaled,
    kSubtract,
    kAddDifference,
    kScaledDifference,
    kMoveTowards,
    kMoveTowardsAll,
    kSquareSum,  ///< Of p, to *result: memory of the device, or staging memory.
    kAddSquareSum,
    kFirstNonFinite,
  };
  Operation operation = Operation::kFill;
  float* y = nullptr;
  float a = 0;
  const float* p = nullptr;
  const float* q = nullptr;
  float n = 0;
  int64_t count = 0;
  double* result = nullptr;

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(y, p, q, result);
  }
};

std::unique_ptr<Kernel<VectorCall>> MakeVectors(const Target& target = {});

}  // namespace yoke
