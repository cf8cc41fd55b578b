// Batch normalization in as few passes over memory as it takes. Forward: x for the moments; x (and
// z) for y. Backward: dy and x (and y where a sum stands before the ReLU, then z's gradient is
// written on the way) for the parameters' gradients; the same for dx. Without an addition, the
// ReLU's sign is recomputed from x, so y is not read.
//
// The moments are sums of x - k and their squares, k being the mean of a few rows: a large mean
// cancels nothing. Each thread sums in double over f32 sums of a few hundred rows; the parts do not
// depend on how many threads happen to run, so neither does the result.
#include "kernels/batch_norm/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/batch_norm/cpu_passes.h"
#include "kernels/threads.h"

namespace yoke::cpu {
namespace {

constexpr int64_t kSamples = 16;                 // rows whose mean is subtracted
constexpr int64_t kParallelBatchNorm = 1 << 14;  // elements that are worth a team of threads
constexpr int64_t kStreamBytes = 12 << 20;       // of a result that no cache keeps

class BatchNormPasses : public BatchNormKernel {
 public:
  explicit BatchNormPasses(const BatchNormShape& shape)
      : s_(shape), part_(PassesFor(s_.type, &name_)) {
    if (s_.pixels == 1) s_.layout = Layout::kChannelsLast;  // the same memory
    parts_ = s_.Count() < kParallelBatchNorm ? 1 : std::max(KernelThreads(), 1);
    const int64_t contiguous = s_.layout == Layout::kPlain ? s_.pixels : s_.channels;
    stream_ =
        s_.Count() * SizeOf(s_.type) >= kStreamBytes && contiguous * SizeOf(s_.type) % 64 == 0;
  }

  void Forward(const BatchNormCall& call) override {
    float* constants = Constants(call);
    NormPass pass = Pass(NormStep::kNormalize, call);
    pass.z = s_.add ? call.addend : nullptr;
    pass.to = call.output;
    pass.relu = s_.relu;
    pass.stream = stream_;
    if (s_.training) {
      FindMoments(call, constants);
    } else {
      UseRunning(call, constants);
      pass.center = call.running_mean;
      pass.scale = constants;
      pass.bias = constants + s_.channels;
    }
    Run(pass, call);
  }

  void Backward(const BatchNormCall& call) override {
    const bool masks = s_.add && s_.relu;
    NormPass pass = Pass(NormStep::kGradientSums, call);
    pass.dy = call.output_gradient;
    pass.y = masks ? call.output : nullptr;
    pass.more = call.more_gradient;
    pass.to = GradientAt(call);
    if (pass.more && !pass.to) pass.to = call.output_gradient;
    pass.relu = s_.relu;
    Run(pass, call);
    float* constants = Constants(call);
    ParameterGradients(call, constants);
    if (!call.input_gradient) return;
    pass.step = NormStep::kInputGradient;
    if (masks || pass.more) pass.dy = pass.to, pass.relu = false;
    pass.y = pass.more = nullptr;
    pass.to = call.input_gradient;
    pass.stream = stream_ && pass.to != pass.dy;
    pass.slope = constants;
    pass.offset = constants + s_.channels;
    Run(pass, call);
  }

  int64_t scratch_bytes() const override {
    return (3 * parts_ * s_.channels) * int64_t{sizeof(double)} +
           2 * s_.channels * int64_t{sizeof(float)};
  }
  std::string name() const override { return name_; }

 private:
  double* Sums(const BatchNormCall& call) const { return static_cast<double*>(call.scratch); }
  /// Two rows of elements [channels].
  float* Constants(const BatchNormCall& call) const {
    return reinterpret_cast<float*>(Sums(call) + 3 * parts_ * s_.channels);
  }

  NormPass Pass(NormStep step, const BatchNormCall& call) const {
    return {.step = step,
            .x = call.input,
            .batch = s_.batch,
            .channels = s_.channels,
            .pixels = s_.pixels,
            .layout = s_.layout,
            .center = call.saved,
            .scale = call.saved ? call.saved + 2 * s_.channels : nullptr,
            .bias = call.saved ? call.saved + 3 * s_.channels : nullptr};
  }

  /// Where the first pass back writes the gradient behind the ReLU; null: nowhere.
  void* GradientAt(const BatchNormCall& call) const {
    if (!s_.add) return nullptr;
    if (s_.relu) return call.addend_gradient ? call.addend_gradient : call.output_gradient;
    return call.addend_gradient == call.output_gradient ? nullptr : call.addend_gradient;
  }

  void Run(const NormPass& pass, const BatchNormCall& call) const {
    const int64_t ranges = pass.Ranges();
    double* sums = Sums(call);
    const int64_t apart = pass.ByChannel() ? 0 : 3 * s_.channels;
#pragma omp parallel for schedule(static) num_threads(Team()) if (parts_ > 1)
    for (int64_t part = 0; part < parts_; ++part)
      part_(pass, ranges * part / parts_, ranges * (part + 1) / parts_, sums + part * apart);
    if (apart == 0) return;
    for (int64_t part = 1; part < parts_; ++part)
      for (int64_t i = 0; i < 2 * s_.channels; ++i) sums[i] += sums[part * apart + i];
  }
  int Team() const { return std::min(parts_, KernelThreads()); }

  void FindMoments(const BatchNormCall& call, float* samples) const {
    NormPass pass = Pass(NormStep::kMoments, call);
    pass.center = samples;
    if (s_.type == DType::kBf16)
      Sample(static_cast<const Bf16*>(call.input), samples);
    else
      Sample(static_cast<const float*>(call.input), samples);
    Run(pass, call);
    const double *sums = Sums(call), *squares = sums + s_.channels;
    const double rows = double(s_.Rows());
    for (int64_t c = 0; c < s_.channels; ++c) {
      const double shift = sums[c] / rows, variance = squares[c] / rows - shift * shift;
      // not std::max, which would lose a NaN
      SaveMoments(s_, call, c, {samples[c] + shift, variance < 0 ? 0 : variance});
    }
  }

  /// The mean of rows that lie evenly over the batch.
  template <typename T>
  void Sample(const T* x, float* samples) const {
    const int64_t count = std::min(kSamples, s_.Rows());
    std::fill_n(samples, s_.channels, 0.0F);
    const bool plain = s_.layout == Layout::kPlain;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = s_.Rows() * i / count, n = row / s_.pixels, p = row % s_.pixels;
      const int64_t first = plain ? n * s_.channels * s_.pixels + p : row * s_.channels;
      const int64_t apart = plain ? s_.pixels : 1;
      for (int64_t c = 0; c < s_.channels; ++c)
        samples[c] += float(x[first + c * apart]) / float(count);
    }
  }

  /// Scale and bias of the running statistics.
  void UseRunning(const BatchNormCall& call, float* constants) const {
    for (int64_t c = 0; c < s_.channels; ++c) {
      const double deviation = std::sqrt(double(call.running_variance[c]) + s_.epsilon);
      constants[c] = float((call.weight ? call.weight[c] : 1) / deviation);
      constants[s_.channels + c] = call.bias ? call.bias[c] : 0.0F;
    }
  }

  /// Of weight and bias; and slope and offset for the pass that writes dx.
  void ParameterGradients(const BatchNormCall& call, float* constants) const {
    const double *sums = Sums(call), *products = sums + s_.channels;
    const float *inverses = call.saved + s_.channels, *scales = inverses + s_.channels;
    const double rows = double(s_.Rows());
    for (int64_t c = 0; c < s_.channels; ++c) {
      const double inverse = inverses[c], scale = scales[c];
      if (call.weight_gradient) call.weight_gradient[c] = float(products[c] * inverse);
      if (call.bias_gradient) call.bias_gradient[c] = float(sums[c]);
      constants[c] = float(-scale * inverse * inverse * products[c] / rows);
      constants[s_.channels + c] = float(-scale * sums[c] / rows);
    }
  }

  BatchNormShape s_;
  const char* name_ = "";
  NormPart part_;
  int parts_ = 1;
  bool stream_ = false;
};

}  // namespace

std::unique_ptr<BatchNormKernel> BatchNorm(const BatchNormShape& shape) {
  return std::make_unique<BatchNormPasses>(shape);
}

}  // namespace yoke::cpu
