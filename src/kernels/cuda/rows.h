// Rows: a team a row: layer normalization, losses of scores, a step's loss.
#pragma once

#include <cmath>

#include "kernels/cross_entropy/cross_entropy.h"
#include "kernels/cuda/numbers.h"
#include "kernels/layer_norm.h"
#include "kernels/losses.h"
#include "kernels/makers.h"

namespace yoke::cuda {

template <typename T>
struct LayerNormBody {
  LayerNormCall call;
  int64_t columns;
  float epsilon;
  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t r) const {
    const T* const x = static_cast<const T*>(call.input) + r * columns;
    T* const y = static_cast<T*>(call.output) + r * columns;
    const auto n = static_cast<float>(columns);
    const float mean = SumOf<float>(team, columns, [&](int64_t i) { return Wide(x[i]); }) / n;
    const float squares = SumOf<float>(
        team, columns, [&](int64_t i) { return (Wide(x[i]) - mean) * (Wide(x[i]) - mean); });
    const float inverse = 1 / sqrtf(squares / n + epsilon);
    team.Once([&] {
      if (call.saved) call.saved[2 * r] = mean, call.saved[2 * r + 1] = inverse;
    });
    team.Each(columns, [&](int64_t i) {
      const float w = call.weight ? call.weight[i] : 1, b = call.bias ? call.bias[i] : 0;
      y[i] = Narrow<T>((Wide(x[i]) - mean) * inverse * w + b);
    });
  }
};

template <typename T>
struct LayerNormColumnsBody {
  LayerNormCall call;
  int64_t rows, columns;
  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t tile) const {
    team.Columns(
        rows, PairSum{},
        [&](int64_t r, int c) {
          const int64_t column = tile * kWarp + c, at = r * columns + column;
          if (column >= columns) return PairSum{};
          const float g = Wide(static_cast<const T*>(call.output_gradient)[at]);
          const float x = Wide(static_cast<const T*>(call.input)[at]);
          return PairSum{g * (x - call.saved[2 * r]) * call.saved[2 * r + 1], g};
        },
        [](const PairSum& a, const PairSum& b) { return a + b; },
        [&](int c, const PairSum& sum) {
          const int64_t column = tile * kWarp + c;
          if (column >= columns) return;
          if (call.weight_gradient) call.weight_gradient[column] = sum.product;
          if (call.bias_gradient) call.bias_gradient[column] = sum.value;
        });
  }
};

template <typename T>
struct LayerNormBackBody {
  LayerNormCall call;
  int64_t columns;
  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t r) const {
    const T* const x = static_cast<const T*>(call.input) + r * columns;
    const T* const dy = static_cast<const T*>(call.output_gradient) + r * columns;
    T* const dx = static_cast<T*>(call.input_gradient) + r * columns;
    const float mean = call.saved[2 * r], inverse = call.saved[2 * r + 1];
    const auto g = [&](int64_t i) { return Wide(dy[i]) * (call.weight ? call.weight[i] : 1); };
    const auto z = [&](int64_t i) { return (Wide(x[i]) - mean) * inverse; };
    const PairSum sum = SumOf<PairSum>(team, columns, [&](int64_t i) {
      return PairSum{g(i) * z(i), g(i)};
    });
    const float n = static_cast<float>(columns), value = sum.value / n, product = sum.product / n;
    team.Each(columns,
              [&](int64_t i) { dx[i] = Narrow<T>((g(i) - value - z(i) * product) * inverse); });
  }
};

template <typename Grid>
class LayerNormOn : public GridKernel<Grid, LayerNormCall> {
 public:
  LayerNormOn(const LayerNormShape& shape, const Grid& grid)
      : GridKernel<Grid, LayerNormCall>(grid), s_(shape) {}
  void Forward(const LayerNormCall& call) override {
    WithType(s_.type, [&]<typename T>(T) {
      this->grid_.Teams(s_.rows, ThreadsFor(s_.columns),
                        LayerNormBody<T>{call, s_.columns, static_cast<float>(s_.epsilon)});
    });
  }
  void Backward(const LayerNormCall& call) override {
    WithType(s_.type, [&]<typename T>(T) {
      if (call.weight_gradient || call.bias_gradient)
        this->grid_.Teams((s_.columns + kWarp - 1) / kWarp, kMostThreads,
                          LayerNormColumnsBody<T>{call, s_.rows, s_.columns});
      if (call.input_gradient)
        this->grid_.Teams(s_.rows, ThreadsFor(s_.columns), LayerNormBackBody<T>{call, s_.columns});
    });
  }

 private:
  LayerNormShape s_;
};

/// The targets of a batch: TargetsOf for a GPU.
struct TargetView {
  const int32_t* classes;
  const int64_t* offsets;
  const int32_t* ids;
  bool binary;  ///< One output, whose target is the class itself.

  YOKE_HOST_DEVICE int64_t Count(int64_t n) const {
    if (!classes) return offsets[n + 1] - offsets[n];
    return binary ? classes[n] : 1;
  }
  YOKE_HOST_DEVICE int32_t Id(int64_t n, int64_t k) const {
    if (!classes) return ids[offsets[n] + k];
    return binary ? 0 : classes[n];
  }
};

struct CrossEntropyBody {
  TargetView targets;
  const float* scores;
  float* losses;
  float* gradient;  ///< Null: forward.
  int64_t outputs;
  double scale;
  bool softmax;

  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t n) const {
    const float* const row = scores + n * outputs;
    const double log_sum = softmax ? LogSum(team, row) : 0;
    gradient ? Back(team, n, row, log_sum) : Loss(team, n, row, log_sum);
  }

 private:
  template <typename Team>
  YOKE_HOST_DEVICE double LogSum(Team& team, const float* row) const {
    const float largest = team.Reduce(
        outputs, -INFINITY, [&](int64_t o) { return row[o]; },
        [](float a, float b) { return b > a ? b : a; });
    const double sum = SumOf<double>(
        team, outputs, [&](int64_t o) { return static_cast<double>(expf(row[o] - largest)); });
    return largest + log(sum);
  }

  template <typename Team>
  YOKE_HOST_DEVICE void Loss(Team& team, int64_t n, const float* row, double log_sum) const {
    const int64_t count = targets.Count(n);
    double loss = 0;
    if (softmax)
      loss = SumOf<double>(team, count, [&](int64_t k) {
        return (log_sum - row[targets.Id(n, k)]) / static_cast<double>(count);
      });
    else
      loss = SumOf<double>(team, outputs,
                           [&](int64_t o) {
                             const double s = row[o];
                             return (s > 0 ? s : 0.0) + log1p(exp(-fabs(s)));
                           }) -
             SumOf<double>(team, count,
                           [&](int64_t k) { return static_cast<double>(row[targets.Id(n, k)]); });
    team.Once([&] { losses[n] = static_cast<float>(loss); });
  }

  template <typename Team>
  YOKE_HOST_DEVICE void Back(Team& team, int64_t n, const float* row, double log_sum) const {
    const int64_t count = targets.Count(n);
    float* const g = gradient + n * outputs;
    team.Each(outputs, [&](int64_t o) {
      const double value = softmax ? exp(row[o] - log_sum) : 1 / (1 + exp(-double(row[o])));
      g[o] = softmax && count == 0 ? 0.0F : static_cast<float>(scale * value);
    });
    team.Sync();
    // One thread: a label may be there twice.
    const auto part = static_cast<float>(softmax ? scale / static_cast<double>(count) : scale);
    team.Once([&] {
      for (int64_t k = 0; k < count; ++k) g[targets.Id(n, k)] -= part;
    });
  }
};

template <typename Grid>
class CrossEntropyOn : public GridKernel<Grid, CrossEntropyCall> {
 public:
  CrossEntropyOn(const CrossEntropyShape& shape, const Grid& grid)
      : GridKernel<Grid, CrossEntropyCall>(grid), s_(shape) {}
  void Forward(const CrossEntropyCall& call) override { Run(call, nullptr); }
  void Backward(const CrossEntropyCall& call) override { Run(call, call.gradient); }

 private:
  void Run(const CrossEntropyCall& call, float* gradient) {
    const bool softmax = s_.function == CrossEntropy::kSoftmax;
    this->grid_.Teams(
        s_.batch, ThreadsFor(s_.outputs),
        CrossEntropyBody{.targets = {call.labels.classes, call.labels.sets.offsets,
                                     call.labels.sets.ids, !softmax && s_.outputs == 1},
                         .scores = call.scores,
                         .losses = call.losses,
                         .gradient = gradient,
                         .outputs = s_.outputs,
                         .scale = 1.0 / static_cast<double>(s_.MeanOver()),
                         .softmax = softmax});
  }

  CrossEntropyShape s_;
};

/// The loss of an error, and its slope (kernels/losses.h).
struct ErrorFunction {
  RegressionLoss function;
  double parameter;

  YOKE_HOST_DEVICE static double Sign(double e) { return e > 0 ? 1 : e < 0 ? -1 : e; }
  YOKE_HOST_DEVICE double Loss(double e) const {
    switch (function) {
      case RegressionLoss::kAbsolute:
        return fabs(e);
      case RegressionLoss::kHuber:
        return fabs(e) <= parameter ? e * e / 2 : parameter * (fabs(e) - parameter / 2);
      case RegressionLoss::kQuantile:
        return e < 0 ? -parameter * e : (1 - parameter) * e;
      default:
        return e * e;
    }
  }
  YOKE_HOST_DEVICE double Slope(double e) const {
    switch (function) {
      case RegressionLoss::kAbsolute:
        return Sign(e);
      case RegressionLoss::kHuber:
        return fabs(e) <= parameter ? e : parameter * Sign(e);
      case RegressionLoss::kQuantile:
        return e < 0 ? -parameter : e > 0 ? 1 - parameter : e;
      default:
        return 2 * e;
    }
  }
};

struct RegressionLossBody {
  ErrorFunction error;
  const float* scores;
  const float* targets;
  float* losses;
  int64_t outputs;
  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t n) const {
    const double sum = SumOf<double>(team, outputs, [&](int64_t o) {
      const int64_t i = n * outputs + o;
      return error.Loss(double{scores[i]} - targets[i]);
    });
    team.Once([&] { losses[n] = static_cast<float>(sum / static_cast<double>(outputs)); });
  }
};

struct RegressionSlopeBody {
  ErrorFunction error;
  const float* scores;
  const float* targets;
  float* gradient;
  double count;
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    gradient[i] = static_cast<float>(error.Slope(double{scores[i]} - targets[i]) / count);
  }
};

template <typename Grid>
class RegressionLossOn : public GridKernel<Grid, RegressionLossCall> {
 public:
  RegressionLossOn(const RegressionLossShape& shape, const Grid& grid)
      : GridKernel<Grid, RegressionLossCall>(grid), s_(shape) {}
  void Forward(const RegressionLossCall& call) override {
    this->grid_.Teams(
        s_.batch, ThreadsFor(s_.outputs),
        RegressionLossBody{
            {s_.function, s_.parameter}, call.scores, call.targets, call.losses, s_.outputs});
  }
  void Backward(const RegressionLossCall& call) override {
    const int64_t count = s_.batch * s_.outputs;
    this->grid_.Each(count, RegressionSlopeBody{{s_.function, s_.parameter},
                                                call.scores,
                                                call.targets,
                                                call.gradient,
                                                static_cast<double>(count)});
  }

 private:
  RegressionLossShape s_;
};

struct StepLossBody {
  StepLossCall call;
  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t /*one*/) const {
    const double own = SumOf<double>(
        team, call.count, [&](int64_t i) { return static_cast<double>(call.losses[i]); });
    team.Once([&] {
      double loss = own + (call.first ? 0 : *call.loss);
      if (call.last) loss /= static_cast<double>(call.count);
      *call.loss = loss;
      if (call.last && call.stop && !IsPossible(loss)) *call.stop = 1;
    });
  }
  YOKE_HOST_DEVICE static bool IsPossible(double loss) {
    return loss > -1e-3 && loss < INFINITY;  // IsPossibleLoss; a NaN is neither
  }
};

template <typename Grid>
class StepLossOn : public GridKernel<Grid, StepLossCall> {
 public:
  StepLossOn(const NoShape& /*none*/, const Grid& grid) : GridKernel<Grid, StepLossCall>(grid) {}
  void Forward(const StepLossCall& call) override {
    this->grid_.Teams(1, ThreadsFor(call.count), StepLossBody{call});
  }
};

}  // namespace yoke::cuda
