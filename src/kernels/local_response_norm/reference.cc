// Local response normalization in plain loops:
//   dx_c = dy_c s_c^-beta - 2 alpha beta / size * x_c * (sum over neighbours of dy x s^(-beta-1))
#include "kernels/local_response_norm/local_response_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace yoke::reference {
namespace {

template <typename T>
class LocalResponseNormLoops : public LocalResponseNormKernel {
 public:
  explicit LocalResponseNormLoops(const LocalResponseNormShape& shape) : s_(shape) {}

  void Forward(const LocalResponseNormCall& call) override {
    const T* x = static_cast<const T*>(call.input);
    ForEachPixel([&](int64_t first, int64_t apart) {
      for (int64_t c = 0; c < s_.channels; ++c) {
        const int64_t i = first + c * apart;
        const double scale = std::pow(SumOfSquares(x + first, c, apart), -s_.beta);
        static_cast<T*>(call.output)[i] = T(float(float(x[i]) * scale));
      }
    });
  }

  void Backward(const LocalResponseNormCall& call) override {
    const T* x = static_cast<const T*>(call.input);
    const T* dy = static_cast<const T*>(call.output_gradient);
    std::vector<double> sums(s_.channels), shares(s_.channels), gradient(s_.channels);
    ForEachPixel([&](int64_t first, int64_t apart) {
      for (int64_t c = 0; c < s_.channels; ++c) {
        const int64_t i = first + c * apart;
        const double sum = SumOfSquares(x + first, c, apart);
        gradient[c] = float(dy[i]) * std::pow(sum, -s_.beta);
        shares[c] = float(x[i]) * gradient[c] / sum;
      }
      for (int64_t c = 0; c < s_.channels; ++c) {
        double share = 0;
        ForEachNeighbour(c, [&](int64_t j) { share += shares[j]; });
        const int64_t i = first + c * apart;
        const double factor = 2 * s_.alpha * s_.beta / double(s_.size);
        static_cast<T*>(call.input_gradient)[i] =
            T(float(gradient[c] - factor * float(x[i]) * share));
      }
    });
  }

  std::string name() const override { return "reference"; }

 private:
  /// Calls body(offset of the pixel's first channel, how far channels are apart).
  template <typename Body>
  void ForEachPixel(const Body& body) const {
    const bool plain = s_.layout == Layout::kPlain;
    for (int64_t n = 0; n < s_.batch; ++n)
      for (int64_t p = 0; p < s_.pixels; ++p)
        body(n * s_.channels * s_.pixels + (plain ? p : p * s_.channels), plain ? s_.pixels : 1);
  }
  template <typename Body>
  void ForEachNeighbour(int64_t c, const Body& body) const {
    const int64_t reach = s_.size / 2;
    for (int64_t j = std::max<int64_t>(c - reach, 0); j <= std::min(c + reach, s_.channels - 1);
         ++j)
      body(j);
  }
  double SumOfSquares(const T* x, int64_t c, int64_t apart) const {
    double sum = 0;
    ForEachNeighbour(
        c, [&](int64_t j) { sum += double(float(x[j * apart])) * double(float(x[j * apart])); });
    return s_.k + s_.alpha / double(s_.size) * sum;
  }

  LocalResponseNormShape s_;
};

}  // namespace

std::unique_ptr<LocalResponseNormKernel> LocalResponseNorm(const LocalResponseNormShape& shape) {
  if (shape.type == DType::kBf16) return std::make_unique<LocalResponseNormLoops<Bf16>>(shape);
  return std::make_unique<LocalResponseNormLoops<float>>(shape);
}

}  // namespace yoke::reference
