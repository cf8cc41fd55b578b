// Convolution in plain loops: y[n,o,p] = b[o] + sum over c, k of w[o,c,k]
// x[n,c,p*stride+k*dilation-padding]. Sums are f32.
#include "kernels/convolution/convolution.h"

#include <vector>

namespace yoke::reference {
namespace {

template <typename T>
class ConvolutionLoops : public ConvolutionKernel {
 public:
  explicit ConvolutionLoops(const ConvolutionShape& shape)
      : s_(shape),
        out_(shape.Output()),
        weight_(shape.Weight()),
        input_index_(shape.Input(), shape.layout),
        output_index_(out_, shape.layout),
        weight_index_(weight_, Layout::kPlain) {}

  void Forward(const ConvolutionCall& call) override {
    const T* x = static_cast<const T*>(call.input);
    const T* w = static_cast<const T*>(call.weight);
    const T* b = static_cast<const T*>(call.bias);
    T* y = static_cast<T*>(call.output);
    ForEachOutput([&](int64_t n, int64_t o, int64_t row, int64_t column) {
      float sum = s_.bias ? float(b[o]) : 0;
      ForEachTap(n, o, row, column,
                 [&](int64_t in, int64_t tap) { sum += float(x[in]) * float(w[tap]); });
      y[output_index_(n, o, row, column)] = T(s_.relu && sum < 0 ? 0.0F : sum);
    });
  }

  void Backward(const ConvolutionCall& call) override {
    const T* x = static_cast<const T*>(call.input);
    const T* w = static_cast<const T*>(call.weight);
    const T* y = static_cast<const T*>(call.output);
    T* dy = static_cast<T*>(call.output_gradient);
    std::vector<float> dw(weight_.Count()), db(s_.outputs);
    std::vector<float> dx(call.input_gradient ? s_.Input().Count() : 0);
    ForEachOutput([&](int64_t n, int64_t o, int64_t row, int64_t column) {
      const int64_t out = output_index_(n, o, row, column);
      if (s_.relu && float(y[out]) == 0) dy[out] = T(0.0F);
      const float g = float(dy[out]);
      db[o] += g;
      ForEachTap(n, o, row, column, [&](int64_t in, int64_t tap) {
        dw[tap] += g * float(x[in]);
        if (!dx.empty()) dx[in] += g * float(w[tap]);
      });
    });
    std::copy(dw.begin(), dw.end(), call.weight_gradient);
    if (s_.bias) std::copy(db.begin(), db.end(), call.bias_gradient);
    for (size_t i = 0; i < dx.size(); ++i) static_cast<T*>(call.input_gradient)[i] = T(dx[i]);
  }

  std::string name() const override { return "reference"; }

 private:
  template <typename Body>
  void ForEachOutput(const Body& body) const {
    for (int64_t n = 0; n < s_.batch; ++n)
      for (int64_t o = 0; o < s_.outputs; ++o)
        for (int64_t row = 0; row < out_[2]; ++row)
          for (int64_t column = 0; column < out_[3]; ++column) body(n, o, row, column);
  }

  /// Calls body(offset of the input, offset of the weight) for each product in one output.
  template <typename Body>
  void ForEachTap(int64_t n, int64_t o, int64_t row, int64_t column, const Body& body) const {
    const int64_t first = o / (s_.outputs / s_.groups) * weight_[1];
    for (int64_t c = 0; c < weight_[1]; ++c)
      for (int64_t i = 0; i < s_.rows.size; ++i)
        for (int64_t j = 0; j < s_.columns.size; ++j) {
          const int64_t y = row * s_.rows.stride + i * s_.rows.dilation - s_.rows.padding;
          const int64_t x =
              column * s_.columns.stride + j * s_.columns.dilation - s_.columns.padding;
          if (y >= 0 && y < s_.height && x >= 0 && x < s_.width)
            body(input_index_(n, first + c, y, x), weight_index_(o, c, i, j));
        }
  }

  ConvolutionShape s_;
  Shape out_, weight_;
  ImageIndex input_index_, output_index_, weight_index_;
};

}  // namespace

std::unique_ptr<ConvolutionKernel> Convolution(const ConvolutionShape& shape) {
  if (shape.type == DType::kBf16) return std::make_unique<ConvolutionLoops<Bf16>>(shape);
  return std::make_unique<ConvolutionLoops<float>>(shape);
}

}  // namespace yoke::reference
