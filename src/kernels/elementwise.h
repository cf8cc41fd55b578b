// Elementwise: functions of each element whose derivative depends on the input; f32 or bf16, on the
// caller's kernel threads.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include "kernels/makers.h"
#include "tensor/tensor.h"

namespace yoke {

/// to[i] = make(i) for every i, divided among threads.
template <typename Number, typename Make>
void FillEach(Number* to, int64_t count, const Make& make) {
  constexpr int64_t kWorthThreads = 8192;
#pragma omp parallel for schedule(static) if (count > kWorthThreads)
  for (int64_t i = 0; i < count; ++i) to[i] = Number(make(i));
}

/// output = function.Value(input)
template <typename Function>
void ApplyEach(const Function& function, const Tensor& input, const Tensor& output) {
  const auto run = [&]<typename Number>(const Number* x) {
    FillEach(output.As<Number>(), input.Count(),
             [&, x](int64_t i) { return function.Value(float(x[i])); });
  };
  if (input.type == DType::kBf16)
    run(input.As<Bf16>());
  else
    run(input.As<float>());
}

/// input_gradient = output_gradient * function.Slope(input); may use output_gradient's memory.
template <typename Function>
void ApplySlope(const Function& function, const Tensor& input, const Tensor& output_gradient,
                const Tensor& input_gradient) {
  const auto run = [&]<typename Number>(const Number* x) {
    const auto* dy = output_gradient.As<Number>();
    FillEach(input_gradient.As<Number>(), input.Count(),
             [&, x, dy](int64_t i) { return float(dy[i]) * function.Slope(float(x[i])); });
  };
  if (input.type == DType::kBf16)
    run(input.As<Bf16>());
  else
    run(input.As<float>());
}

struct ElementwiseCall {
  Tensor input, output, output_gradient;
  Tensor input_gradient;  ///< May use output_gradient's memory.

  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(input.data, output.data, output_gradient.data, input_gradient.data);
  }
};

using ElementwiseKernel = Kernel<ElementwiseCall>;

template <typename Function>
struct ElementwiseLoop {
  using Call = ElementwiseCall;
  Function function;
  void Forward(const Call& call) const { ApplyEach(function, call.input, call.output); }
  void Backward(const Call& call) const {
    ApplySlope(function, call.input, call.output_gradient, call.input_gradient);
  }
};

/// A function by its name, with the parameters that it has, in their order.
struct NamedFunction {
  const char* name;
  std::array<float, 2> parameters = {};
};

template <typename Function>
std::unique_ptr<ElementwiseKernel> ElementwiseOnCuda(const Function& function,
                                                     const Target& target) {
  NamedFunction named = {.name = Function::kName};
  if constexpr (!std::is_empty_v<Function>) {
    static_assert(sizeof(Function) <= sizeof named.parameters);
    std::memcpy(named.parameters.data(), &function, sizeof function);
  }
  return cuda::Make<ElementwiseCall>(named, target);
}

/// `Function` has a `kName`, `float Value(float x) const` and its derivative `float Slope(float x)
/// const`.
template <typename Function>
inline constexpr KernelList<ElementwiseCall, Function> kElementwise(
    Function::kName, {},
    {{"cuda", "cuda", ElementwiseOnCuda<Function>},
     {"loops", LoopsOf<ElementwiseLoop<Function>, Function>}});

template <typename Function>
std::unique_ptr<ElementwiseKernel> MakeElementwise(const Function& function,
                                                   const Target& target = {}) {
  return kElementwise<Function>.Make(function, target);
}

}  // namespace yoke
