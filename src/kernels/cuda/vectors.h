// Vectors: operations on arrays of values, an element a thread; sums by teams whose partial sums
// are added in order.
#pragma once

#include <cmath>

#include "kernels/cuda/numbers.h"
#include "kernels/makers.h"
#include "kernels/vectors.h"

namespace yoke::cuda {

struct VectorBody {
  VectorCall::Operation operation;
  float* y;
  float a;
  const float* p;
  const float* q;
  float n;
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    using Operation = VectorCall::Operation;
    switch (operation) {
      case Operation::kFill:
        y[i] = a;
        return;
      case Operation::kScale:
        y[i] *= a;
        return;
      case Operation::kDivide:
        y[i] /= a;
        return;
      case Operation::kAdd:
        y[i] += p[i];
        return;
      case Operation::kAddScaled:
        y[i] += a * p[i];
        return;
      case Operation::kSubtract:
        y[i] -= p[i];
        return;
      case Operation::kAddDifference:
        y[i] += a * (p[i] - q[i]);
        return;
      case Operation::kScaledDifference:
        y[i] = a * (p[i] - q[i]);
        return;
      case Operation::kMoveTowards:
        y[i] = (1 - a) * y[i] + a * p[i];
        return;
      case Operation::kMoveTowardsAll:
        y[i] += a * (p[i] - n * y[i]);
        return;
      default:
        return;
    }
  }
};

/// Of a part of an array: the sum of squares, or the place of the first element that is not finite
/// (as a number; `count`: none).
struct PartBody {
  const float* x;
  int64_t count, part;
  bool squares;
  double* partial;
  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t i) const {
    const int64_t begin = i * part, own = Most(Least(part, count - begin), 0);
    const float* const from = x + begin;
    const double all = static_cast<double>(count);
    const double result =
        squares ? SumOf<double>(team, own,
                                [&](int64_t k) { return static_cast<double>(from[k]) * from[k]; })
                : team.Reduce(
                      own, all,
                      [&](int64_t k) {
                        const bool finite = fabsf(from[k]) < INFINITY;
                        return finite ? all : static_cast<double>(begin + k);
                      },
                      [](double a, double b) { return b < a ? b : a; });
    team.Once([&] { partial[i] = result; });
  }
};

struct JoinPartsBody {
  const double* partial;
  int64_t parts, count;
  VectorCall::Operation operation;
  double* result;
  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t /*one*/) const {
    using Operation = VectorCall::Operation;
    const bool squares = operation != Operation::kFirstNonFinite;
    const double total = team.Reduce(
        parts, squares ? 0.0 : static_cast<double>(count), [&](int64_t i) { return partial[i]; },
        [squares](double a, double b) { return squares ? a + b
                                               : b < a ? b
                                                       : a; });
    team.Once([&] {
      if (operation == Operation::kAddSquareSum)
        *result += total;
      else
        *result = squares || total < static_cast<double>(count) ? total : -1;
    });
  }
};

template <typename Grid>
class VectorsOn : public GridKernel<Grid, VectorCall> {
 public:
  VectorsOn(const NoShape& /*none*/, const Grid& grid)
      : GridKernel<Grid, VectorCall>(grid),
        partial_(grid.device(), kParts * static_cast<int64_t>(sizeof(double))) {}

  void Forward(const VectorCall& call) override {
    using Operation = VectorCall::Operation;
    const bool finds = call.operation == Operation::kFirstNonFinite;
    if (!finds && call.operation != Operation::kSquareSum &&
        call.operation != Operation::kAddSquareSum)
      return this->grid_.Each(call.count,
                              VectorBody{call.operation, call.y, call.a, call.p, call.q, call.n});
    const int64_t part = Most((call.count + kParts - 1) / kParts, kLeastPart);
    const int64_t parts = (call.count + part - 1) / part;
    this->grid_.Teams(parts, kTeam,
                      PartBody{call.p, call.count, part, !finds, partial_.As<double>()});
    this->grid_.Teams(
        1, kTeam,
        JoinPartsBody{partial_.As<double>(), parts, call.count, call.operation, call.result});
  }

 private:
  static constexpr int64_t kParts = 1024;
  static constexpr int64_t kLeastPart = 4096;

  Buffer partial_;  // of the call that runs: calls are ordered
};

}  // namespace yoke::cuda
