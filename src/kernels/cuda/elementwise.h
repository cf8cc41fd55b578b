// Elementwise: one element a thread: activations, sums, weights of rows, conversions, dropout.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/random.h"
#include "kernels/activation/activation.h"
#include "kernels/convert.h"
#include "kernels/cuda/functions.h"
#include "kernels/cuda/numbers.h"
#include "kernels/dropout.h"
#include "kernels/elementwise.h"
#include "kernels/join/join.h"
#include "kernels/losses.h"
#include "kernels/makers.h"

namespace yoke::cuda {

/// to = function(from).
template <typename T>
struct ValueBody {
  ElementFunction function;
  const T* from;
  T* to;
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    to[i] = Narrow<T>(function.Value(Wide(from[i])));
  }
};

/// to = gradient * slope at `at`: the function's input, or output.
template <typename T>
struct SlopeBody {
  ElementFunction function;
  const T* at;
  const T* gradient;
  T* to;
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    to[i] = Narrow<T>(Wide(gradient[i]) * function.Slope(Wide(at[i])));
  }
};

template <typename Grid>
class ActivationOn : public GridKernel<Grid, ActivationCall> {
 public:
  ActivationOn(const ActivationShape& shape, const Grid& grid)
      : GridKernel<Grid, ActivationCall>(grid),
        s_(shape),
        function_{shape.function == Activation::kSigmoid ? Function::kSigmoid
                  : shape.function == Activation::kTanh  ? Function::kTanh
                                                         : Function::kRelu} {}

  void Forward(const ActivationCall& call) override {
    WithType(s_.type, [&]<typename T>(T) {
      this->grid_.Each(s_.count, ValueBody<T>{function_, static_cast<const T*>(call.input),
                                              static_cast<T*>(call.output)});
    });
  }
  void Backward(const ActivationCall& call) override {
    WithType(s_.type, [&]<typename T>(T) {
      this->grid_.Each(s_.count, SlopeBody<T>{function_, static_cast<const T*>(call.output),
                                              static_cast<const T*>(call.output_gradient),
                                              static_cast<T*>(call.input_gradient)});
    });
  }

 private:
  ActivationShape s_;
  ElementFunction function_;
};

/// The functions of elementwise.h, by name.
template <typename Grid>
class ElementwiseOn : public GridKernel<Grid, ElementwiseCall> {
 public:
  ElementwiseOn(const NamedFunction& function, const Grid& grid)
      : GridKernel<Grid, ElementwiseCall>(grid),
        function_{FunctionOf(function.name), function.parameters[0], function.parameters[1]} {}

  void Forward(const ElementwiseCall& call) override {
    WithType(call.input.type, [&]<typename T>(T) {
      this->grid_.Each(call.input.Count(),
                       ValueBody<T>{function_, call.input.As<T>(), call.output.As<T>()});
    });
  }
  void Backward(const ElementwiseCall& call) override {
    WithType(call.input.type, [&]<typename T>(T) {
      this->grid_.Each(call.input.Count(),
                       SlopeBody<T>{function_, call.input.As<T>(), call.output_gradient.As<T>(),
                                    call.input_gradient.As<T>()});
    });
  }

 private:
  ElementFunction function_;
};

/// Up to kMostAddends at a time; `output` is an addend too where there are more.
inline constexpr int kMostAddends = 8;
template <typename T>
struct SumBody {
  const T* inputs[kMostAddends];
  int count;
  bool relu;
  T* output;
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    float sum = Wide(inputs[0][i]);
    for (int k = 1; k < count; ++k) sum += Wide(inputs[k][i]);
    output[i] = Narrow<T>(relu && sum < 0 ? 0.0F : sum);  // a NaN remains
  }
};

template <typename Grid>
class SumOn : public GridKernel<Grid, SumCall> {
 public:
  SumOn(const SumShape& shape, const Grid& grid)
      : GridKernel<Grid, SumCall>(grid), relu_(shape.relu) {}

  /// More than eight tensors are rounded to the output's type in between.
  void Forward(const SumCall& call) override {
    Check(!call.inputs.empty(), "a sum is of one tensor or more");
    const auto total = static_cast<int>(call.inputs.size());
    const auto same = std::ranges::find(call.inputs, call.output.data, &Tensor::data);
    const auto first = same == call.inputs.end() ? 0 : static_cast<int>(same - call.inputs.begin());
    // That one is read before the output is written.
    const auto input = [&](int k) -> const Tensor& {
      return call.inputs[k == 0 ? first : k <= first ? k - 1 : k];
    };
    WithType(call.output.type, [&]<typename T>(T) {
      T* const output = call.output.As<T>();
      for (int done = 0; done < total;) {
        SumBody<T> body = {.inputs = {}, .count = 0, .relu = false, .output = output};
        if (done > 0) body.inputs[body.count++] = output;
        while (done < total && body.count < kMostAddends)
          body.inputs[body.count++] = input(done++).template As<T>();
        body.relu = relu_ && done == total;
        this->grid_.Each(call.output.Count(), body);
      }
    });
  }

 private:
  bool relu_;
};

struct WeighBody {
  float* values;
  const float* weights;
  int64_t width;
  YOKE_HOST_DEVICE void operator()(int64_t i) const { values[i] *= weights[i / width]; }
};

template <typename Grid>
class WeighRowsOn : public GridKernel<Grid, WeighRowsCall> {
 public:
  WeighRowsOn(const NoShape& /*none*/, const Grid& grid) : GridKernel<Grid, WeighRowsCall>(grid) {}
  void Forward(const WeighRowsCall& call) override {
    this->grid_.Each(call.rows * call.width, WeighBody{call.values, call.weights, call.width});
  }
};

/// Element i of `to`, in its own order. Images of equal layout have one long row.
template <typename From, typename To>
struct ConvertBody {
  const From* from;
  To* to;
  Image source, target;
  bool transposed;
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    int64_t at = i;
    if (transposed) {
      const Image::Place p = target.At(i);
      at = source.Of(p.n, p.c, p.y, p.x);
    }
    to[i] = Narrow<To>(Wide(from[at]));
  }
};

template <typename Grid>
class ConvertOn : public GridKernel<Grid, ConvertCall> {
 public:
  ConvertOn(const NoShape& /*none*/, const Grid& grid) : GridKernel<Grid, ConvertCall>(grid) {}
  void Forward(const ConvertCall& call) override {
    Check(call.from.Count() == call.to.Count(), "a conversion keeps the shape");
    WithType(call.from.type, [&]<typename From>(From) {
      WithType(call.to.type, [&]<typename To>(To) {
        ConvertBody<From, To> body = {
            .from = call.from.As<From>(),
            .to = call.to.As<To>(),
            .source = {},
            .target = {},
            .transposed = call.from.layout != call.to.layout && call.from.shape.rank() == 4};
        if (body.transposed) {
          body.source = Image(call.from.shape, call.from.layout);
          body.target = Image(call.from.shape, call.to.layout);
        }
        this->grid_.Each(call.to.Count(), body);
      });
    });
  }
};

/// Random::Mix and the key of a list of words, on a GPU too.
YOKE_HOST_DEVICE inline uint64_t MixBits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}
inline constexpr uint64_t kRandomStep = 0x9E3779B97F4A7C15ULL;
YOKE_HOST_DEVICE inline uint64_t KeyWith(uint64_t key, uint64_t word) {
  return MixBits((key ^ word) + kRandomStep);
}

template <typename T>
struct DropoutBody {
  uint64_t key;  ///< Of seed and purpose.
  const int64_t* epoch;
  uint64_t layer;
  uint64_t threshold;
  const int64_t* examples;
  int64_t count;
  float scale;
  bool draws;
  uint8_t* mask;
  const T* from;
  T* to;

  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    if (draws) mask[i] = Kept(i / count, i % count);
    to[i] = Narrow<T>(mask[i] ? Wide(from[i]) * scale : 0.0F);
  }
  YOKE_HOST_DEVICE uint8_t Kept(int64_t n, int64_t at) const {
    const auto example = static_cast<uint64_t>(examples ? examples[n] : n);
    const uint64_t of_epoch = KeyWith(key, static_cast<uint64_t>(epoch ? *epoch : 0));
    const uint64_t own = MixBits(KeyWith(KeyWith(of_epoch, example), layer) + kRandomStep);
    const uint64_t bits = MixBits(own + kRandomStep * static_cast<uint64_t>(at / 4 + 1));
    return (bits >> (16 * (at % 4)) & 0xFFFF) < threshold ? 1 : 0;
  }
};

template <typename Grid>
class DropoutOn : public GridKernel<Grid, DropoutCall> {
 public:
  DropoutOn(const DropoutShape& shape, const Grid& grid)
      : GridKernel<Grid, DropoutCall>(grid), s_(shape) {}
  void Forward(const DropoutCall& call) override { Apply(call, true); }
  void Backward(const DropoutCall& call) override { Apply(call, false); }

 private:
  void Apply(const DropoutCall& call, bool draws) {
    const uint64_t key = KeyWith(KeyWith(0, call.seed), Word(Draw::kDropout));
    WithType(s_.type, [&]<typename T>(T) {
      this->grid_.Each(
          s_.batch * s_.count,
          DropoutBody<T>{.key = key,
                         .epoch = call.epoch,
                         .layer = call.layer,
                         .threshold = static_cast<uint64_t>(std::lround(s_.keep * 65536)),
                         .examples = call.examples,
                         .count = s_.count,
                         .scale = static_cast<float>(1 / s_.keep),
                         .draws = draws,
                         .mask = call.mask,
                         .from = static_cast<const T*>(call.from),
                         .to = static_cast<T*>(call.to)});
    });
  }

  DropoutShape s_;
};

}  // namespace yoke::cuda
