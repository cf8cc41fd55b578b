// Batch normalization in plain loops, a channel at a time:
//   y = relu((x - mean) / sqrt(variance + epsilon) * weight + bias + z)
//   dx = scale (g - mean of g - (x - mean) / deviation^2 * mean of g (x - mean)), g = dy behind the
//   ReLU (Ioffe and Szegedy 2015, section 3).
#include <algorithm>
#include <atomic>
#include <cmath>

#include "kernels/batch_norm/batch_norm.h"

namespace yoke::reference {
namespace {

template <typename T>
class BatchNormLoops : public BatchNormKernel {
 public:
  explicit BatchNormLoops(const BatchNormShape& shape) : s_(shape) {}

  void Forward(const BatchNormCall& call) override {
    for (int64_t c = 0; c < s_.channels; ++c) {
      if (s_.training) {
        SaveMoments(s_, call, c, MomentsOf(call, c));
        Normalize(call, c, Saved(call, 0, c), Saved(call, 2, c));
      } else {
        const double deviation = std::sqrt(double(call.running_variance[c]) + s_.epsilon);
        Normalize(call, c, call.running_mean[c],
                  float((call.weight ? call.weight[c] : 1) / deviation));
      }
    }
  }

  void Backward(const BatchNormCall& call) override {
    T* dy = static_cast<T*>(call.output_gradient);
    for (int64_t i = 0; call.more_gradient && i < s_.Count(); ++i)
      dy[i] = T(float(dy[i]) + float(static_cast<const T*>(call.more_gradient)[i]));
    if (s_.relu) Mask(call);
    if (call.addend_gradient && call.addend_gradient != call.output_gradient)
      for (int64_t i = 0; i < s_.Count(); ++i)
        static_cast<T*>(call.addend_gradient)[i] = static_cast<T*>(call.output_gradient)[i];
    for (int64_t c = 0; c < s_.channels; ++c) BackwardChannel(call, c);
  }

  std::string name() const override { return "reference"; }

 private:
  template <typename Body>
  void ForEach(int64_t c, const Body& body) const {
    for (int64_t n = 0; n < s_.batch; ++n)
      for (int64_t p = 0; p < s_.pixels; ++p)
        body(s_.layout == Layout::kPlain ? (n * s_.channels + c) * s_.pixels + p
                                         : (n * s_.pixels + p) * s_.channels + c);
  }
  float Saved(const BatchNormCall& call, int64_t row, int64_t c) const {
    return call.saved[row * s_.channels + c];
  }

  Moments MomentsOf(const BatchNormCall& call, int64_t c) const {
    const T* x = static_cast<const T*>(call.input);
    const double rows = double(s_.Rows());
    double sum = 0, squares = 0;
    ForEach(c, [&](int64_t i) { sum += float(x[i]); });
    const double mean = sum / rows;
    ForEach(c, [&](int64_t i) { squares += (float(x[i]) - mean) * (float(x[i]) - mean); });
    return {mean, squares / rows};
  }

  void Normalize(const BatchNormCall& call, int64_t c, float mean, float scale) const {
    const T* x = static_cast<const T*>(call.input);
    const T* z = static_cast<const T*>(call.addend);
    T* y = static_cast<T*>(call.output);
    const float bias = call.bias ? call.bias[c] : 0.0F;
    ForEach(c, [&](int64_t i) {
      float value = (float(x[i]) - mean) * scale + bias;
      if (s_.add) value += float(z[i]);
      y[i] = T(s_.relu && value < 0 ? 0.0F : value);  // a NaN stays one
    });
  }

  /// Zeroes the gradient where the ReLU was off.
  void Mask(const BatchNormCall& call) const {
    const T* x = static_cast<const T*>(call.input);
    const T* y = static_cast<const T*>(call.output);
    T* dy = static_cast<T*>(call.output_gradient);
    for (int64_t c = 0; c < s_.channels; ++c)
      ForEach(c, [&](int64_t i) {
        const float value =
            s_.add ? float(y[i])
                   : (float(x[i]) - Saved(call, 0, c)) * Saved(call, 2, c) + Saved(call, 3, c);
        if (value <= 0) dy[i] = T(0.0F);
      });
  }

  void BackwardChannel(const BatchNormCall& call, int64_t c) const {
    const T* x = static_cast<const T*>(call.input);
    const T* g = static_cast<const T*>(call.output_gradient);
    const double mean = Saved(call, 0, c), inverse = Saved(call, 1, c), scale = Saved(call, 2, c);
    double sum = 0, product = 0;
    ForEach(c, [&](int64_t i) {
      sum += float(g[i]);
      product += float(g[i]) * (float(x[i]) - mean);
    });
    if (call.weight_gradient) call.weight_gradient[c] = float(product * inverse);
    if (call.bias_gradient) call.bias_gradient[c] = float(sum);
    if (!call.input_gradient) return;
    const double rows = double(s_.Rows()), slope = inverse * inverse * product / rows;
    ForEach(c, [&](int64_t i) {
      const double d = float(g[i]) - sum / rows - (float(x[i]) - mean) * slope;
      static_cast<T*>(call.input_gradient)[i] = T(float(scale * d));
    });
  }

  BatchNormShape s_;
};

}  // namespace

std::unique_ptr<BatchNormKernel> BatchNorm(const BatchNormShape& shape) {
  if (shape.type == DType::kBf16) return std::make_unique<BatchNormLoops<Bf16>>(shape);
  return std::make_unique<BatchNormLoops<float>>(shape);
}

}  // namespace yoke::reference

namespace yoke {

void SaveMoments(const BatchNormShape& shape, const BatchNormCall& call, int64_t channel,
                 const Moments& moments) {
  const int64_t c = channel, channels = shape.channels, rows = shape.Rows();
  const double inverse = 1 / std::sqrt(moments.variance + shape.epsilon);
  call.saved[c] = static_cast<float>(moments.mean);
  call.saved[channels + c] = static_cast<float>(inverse);
  call.saved[2 * channels + c] =
      static_cast<float>(call.weight ? inverse * double(call.weight[c]) : inverse);
  call.saved[3 * channels + c] = call.bias ? call.bias[c] : 0.0F;
  const double unbiased = moments.variance * double(rows) / double(std::max<int64_t>(rows - 1, 1));
  // Passes that share the statistics (hogwild) may move them at the same time. Each element is read
  // and written whole. One of two moves at once may be lost: the running mean then misses one batch
  // of many, and nothing in training reads it. A lock would cost every training step.
  const auto move = [&](float& running, double now) {
    const std::atomic_ref<float> shared(running);
    const double before = shared.load(std::memory_order_relaxed);
    shared.store(static_cast<float>((1 - shape.momentum) * before + shape.momentum * now),
                 std::memory_order_relaxed);
  };
  if (!call.moved_mean) return;
  move(call.moved_mean[c], moments.mean);
  move(call.moved_variance[c], unbiased);
}

}  // namespace yoke
