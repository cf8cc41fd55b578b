// Vectors: one loop each.
#include "kernels/vectors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "kernels/makers.h"
#include "kernels/threads.h"
#include "tensor/array.h"

namespace yoke {
namespace {

using Operation = VectorCall::Operation;

double SquareSumOf(const float* x, int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * x[i];
  return sum;
}

void RunOnHost(const VectorCall& call) {
  const auto count = static_cast<size_t>(call.count);
  const Values y(call.y, count);
  const ConstValues p(call.p, count), q(call.q, count);
  switch (call.operation) {
    case Operation::kFill:
      std::ranges::fill(y, call.a);
      return;
    case Operation::kScale:
      return Scale(y, call.a);
    case Operation::kDivide:
      return Divide(y, call.a);
    case Operation::kAdd:
      return Add(y, p);
    case Operation::kAddScaled:
      return AddScaled(y, call.a, p);
    case Operation::kSubtract:
      return Subtract(y, p);
    case Operation::kAddDifference:
      return AddDifference(y, call.a, p, q);
    case Operation::kScaledDifference:
      return ScaledDifference(y, call.a, p, q);
    case Operation::kMoveTowards:
      return MoveTowards(y, call.a, p);
    case Operation::kMoveTowardsAll:
      return MoveTowardsAll(y, call.a, p, call.n);
    case Operation::kSquareSum:
      *call.result = SquareSum(p);
      return;
    case Operation::kAddSquareSum:
      *call.result += SquareSum(p);
      return;
    case Operation::kFirstNonFinite:
      *call.result = static_cast<double>(FirstNonFinite(p));
  }
}

/// A stream's vectors: a kernel keeps the number of threads of who made it.
class StreamVectors {
 public:
  Kernel<VectorCall>& Of(int threads, const Target& target) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Kernel<VectorCall>>& vectors = by_threads_[threads];
    if (!vectors) vectors = MakeVectors(target);
    return *vectors;
  }

 private:
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Kernel<VectorCall>>> by_threads_;
};

/// Those of the device's current stream, which keeps them.
Kernel<VectorCall>& VectorsOn(Device& device) {
  Stream& stream = CurrentStream(device);
  void* const vectors = stream.Attached([] { return std::make_shared<StreamVectors>(); });
  return static_cast<StreamVectors*>(vectors)->Of(KernelThreads(),
                                                  {.device = &device, .stream = &stream});
}

/// Runs the call on the arrays' device. `others`: p and q, as far as the operation has them.
void Run(VectorCall call, Array<float> y, std::initializer_list<Array<const float>> others = {}) {
  call.y = y.data;
  call.count = y.count;
  const float** operand = &call.p;
  for (const Array<const float>& other : others) {
    Check(other.count == y.count && (y.count == 0 || other.device == y.device),
          "the arrays of a call are equally long and on one device");
    *std::exchange(operand, &call.q) = other.data;
  }
  if (y.OnHost()) return RunOnHost(call);
  VectorsOn(*y.device).Forward(call);
}

/// Runs an operation with one result in the array's memory.
void SumTo(double* sum, Operation operation, Array<const float> x) {
  const VectorCall call = {.operation = operation, .p = x.data, .count = x.count, .result = sum};
  x.OnHost() ? RunOnHost(call) : VectorsOn(*x.device).Forward(call);
}

/// Runs an operation with one result on a device, and waits for it.
double Reduce(Operation operation, Array<const float> x) {
  const Buffer result(x.device->staging(), sizeof(double));
  VectorsOn(*x.device).Forward(
      {.operation = operation, .p = x.data, .count = x.count, .result = result.As<double>()});
  CurrentStream(*x.device).Wait();
  return *result.As<double>();
}

}  // namespace

void Scale(Values y, float a) {
  const auto count = static_cast<int64_t>(y.size());
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] *= a;
}

void Divide(Values y, float a) {
  const auto count = static_cast<int64_t>(y.size());
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] /= a;
}

void Add(Values y, ConstValues x) {
  const auto count = static_cast<int64_t>(y.size());
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] += x[i];
}

void AddScaled(Values y, float a, ConstValues x) {
  const auto count = static_cast<int64_t>(y.size());
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] += a * x[i];
}

void Subtract(Values y, ConstValues x) {
  const auto count = static_cast<int64_t>(y.size());
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] -= x[i];
}

void AddDifference(Values y, float a, ConstValues p, ConstValues q) {
  const auto count = static_cast<int64_t>(y.size());
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] += a * (p[i] - q[i]);
}

void ScaledDifference(Values y, float a, ConstValues p, ConstValues q) {
  const auto count = static_cast<int64_t>(y.size());
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = a * (p[i] - q[i]);
}

void MoveTowards(Values y, float a, ConstValues x) {
  const auto count = static_cast<int64_t>(y.size());
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] = (1 - a) * y[i] + a * x[i];
}

void MoveTowardsAll(Values y, float a, ConstValues sum, float n) {
  const auto count = static_cast<int64_t>(y.size());
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) y[i] += a * (sum[i] - n * y[i]);
}

/// Block sizes depend only on the count, and blocks are added in order.
double SquareSum(ConstValues x) {
  constexpr int64_t kBlocks = 64;
  std::array<double, kBlocks> sums = {};
  const auto count = static_cast<int64_t>(x.size());
  const int64_t block = std::max<int64_t>(count / kBlocks + 1, 4096);
#pragma omp parallel for schedule(static) if (count > 4 * block)
  for (int64_t b = 0; b < kBlocks; ++b) {
    const int64_t begin = std::min(b * block, count);
    sums[b] = SquareSumOf(x.data() + begin, std::min(block, count - begin));
  }
  double sum = 0;
  for (const double s : sums) sum += s;
  return sum;
}

template <typename T>
static int64_t FirstNonFiniteOf(std::span<const T> x) {
  const auto at =
      std::ranges::find_if_not(x, [](T value) { return std::isfinite(static_cast<float>(value)); });
  return at == x.end() ? -1 : at - x.begin();
}

int64_t FirstNonFinite(ConstValues x) { return FirstNonFiniteOf(x); }

int64_t FirstNonFinite(std::span<const Bf16> x) { return FirstNonFiniteOf(x); }

void Fill(Array<float> y, float a) { Run({.operation = Operation::kFill, .a = a}, y); }

void Scale(Array<float> y, float a) { Run({.operation = Operation::kScale, .a = a}, y); }

void Divide(Array<float> y, float a) { Run({.operation = Operation::kDivide, .a = a}, y); }

void Add(Array<float> y, Array<const float> x) { Run({.operation = Operation::kAdd}, y, {x}); }

void AddScaled(Array<float> y, float a, Array<const float> x) {
  Run({.operation = Operation::kAddScaled, .a = a}, y, {x});
}

void Subtract(Array<float> y, Array<const float> x) {
  Run({.operation = Operation::kSubtract}, y, {x});
}

void AddDifference(Array<float> y, float a, Array<const float> p, Array<const float> q) {
  Run({.operation = Operation::kAddDifference, .a = a}, y, {p, q});
}

void ScaledDifference(Array<float> y, float a, Array<const float> p, Array<const float> q) {
  Run({.operation = Operation::kScaledDifference, .a = a}, y, {p, q});
}

void MoveTowards(Array<float> y, float a, Array<const float> x) {
  Run({.operation = Operation::kMoveTowards, .a = a}, y, {x});
}

void MoveTowardsAll(Array<float> y, float a, Array<const float> sum, float n) {
  Run({.operation = Operation::kMoveTowardsAll, .a = a, .n = n}, y, {sum});
}

double SquareSum(Array<const float> x) {
  return x.OnHost() ? SquareSum(x.Host()) : Reduce(Operation::kSquareSum, x);
}

void SquareSum(Array<const float> x, double* sum) { SumTo(sum, Operation::kSquareSum, x); }

void AddSquareSum(Array<const float> x, double* sum) { SumTo(sum, Operation::kAddSquareSum, x); }

int64_t FirstNonFinite(Array<const float> x) {
  if (x.OnHost()) return FirstNonFinite(x.Host());
  return static_cast<int64_t>(Reduce(Operation::kFirstNonFinite, x));
}

namespace {
struct VectorLoop {
  using Call = VectorCall;
  static void Forward(const Call& call) { RunOnHost(call); }
};
}  // namespace

const KernelList<VectorCall, NoShape> operation::kVectors(
    "vectors",
    {.backward = false,
     .bf16 = false,
     .others = "fill, scale, divide, add, add_scaled, subtract, add_difference, scaled_difference, "
               "move_towards, move_towards_all, square_sum, add_square_sum, first_non_finite"},
    {{"cuda", "cuda", cuda::Make}, {"loops", LoopsOf<VectorLoop>}});

std::unique_ptr<Kernel<VectorCall>> MakeVectors(const Target& target) {
  return operation::kVectors.Make({}, target);
}

}  // namespace yoke
