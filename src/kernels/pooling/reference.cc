// Pooling in plain loops.
#include "kernels/pooling/pooling.h"

#include <cmath>
#include <vector>

namespace yoke::reference {
namespace {

/// The part of one window that lies on the input, and how many elements it counts with padding.
struct Extent {
  int64_t begin, end, counted;
  Extent(const Window& window, int64_t position, int64_t length, bool leaves_out_padding) {
    const int64_t start = position * window.stride - window.padding;
    begin = std::max<int64_t>(start, 0);
    end = std::min(start + window.size, length);
    counted = std::min(start + window.size, length + window.EndPadding()) - start;
    if (leaves_out_padding) counted = end - begin;
  }
};

template <typename T>
class PoolLoops : public PoolingKernel {
 public:
  explicit PoolLoops(const PoolingShape& shape)
      : s_(shape),
        out_(shape.Output()),
        input_index_(shape.Input(), shape.layout),
        output_index_(out_, shape.layout) {}

  void Forward(const PoolingCall& call) override {
    const T* x = static_cast<const T*>(call.input);
    T* y = static_cast<T*>(call.output);
    ForEachWindow(
        [&](int64_t n, int64_t c, int64_t out, const Extent& rows, const Extent& columns) {
          if (s_.function == Pooling::kAverage) {
            float sum = 0;
            ForEachInput(n, c, rows, columns, [&](int64_t in) { sum += float(x[in]); });
            y[out] = T(sum / float(rows.counted * columns.counted));
            return;
          }
          int64_t best = input_index_(n, c, rows.begin, columns.begin);
          ForEachInput(n, c, rows, columns, [&](int64_t in) {
            if (float(x[in]) > float(x[best]) || std::isnan(float(x[in]))) best = in;
          });
          y[out] = x[best];
          if (call.saved) static_cast<int64_t*>(call.saved)[out] = best;
        });
  }

  void Backward(const PoolingCall& call) override {
    const T* dy = static_cast<const T*>(call.output_gradient);
    std::vector<float> dx(s_.Input().Count());
    ForEachWindow(
        [&](int64_t n, int64_t c, int64_t out, const Extent& rows, const Extent& columns) {
          const float g = float(dy[out]);
          if (s_.function == Pooling::kMaximum) {
            dx[static_cast<const int64_t*>(call.saved)[out]] += g;
            return;
          }
          const float share = g / float(rows.counted * columns.counted);
          ForEachInput(n, c, rows, columns, [&](int64_t in) { dx[in] += share; });
        });
    for (size_t i = 0; i < dx.size(); ++i) static_cast<T*>(call.input_gradient)[i] = T(dx[i]);
  }

  int64_t saved_bytes() const override {
    return s_.training && s_.function == Pooling::kMaximum ? out_.Count() * 8 : 0;
  }
  std::string name() const override { return "reference"; }

 private:
  template <typename Body>
  void ForEachWindow(const Body& body) const {
    for (int64_t n = 0; n < s_.batch; ++n)
      for (int64_t c = 0; c < s_.channels; ++c)
        for (int64_t row = 0; row < out_[2]; ++row)
          for (int64_t column = 0; column < out_[3]; ++column)
            body(n, c, output_index_(n, c, row, column),
                 Extent(s_.rows, row, s_.height, s_.leaves_out_padding),
                 Extent(s_.columns, column, s_.width, s_.leaves_out_padding));
  }

  template <typename Body>
  void ForEachInput(int64_t n, int64_t c, const Extent& rows, const Extent& columns,
                    const Body& body) const {
    for (int64_t y = rows.begin; y < rows.end; ++y)
      for (int64_t x = columns.begin; x < columns.end; ++x) body(input_index_(n, c, y, x));
  }

  PoolingShape s_;
  Shape out_;
  ImageIndex input_index_, output_index_;
};

}  // namespace

std::unique_ptr<PoolingKernel> Pool(const PoolingShape& shape) {
  if (shape.type == DType::kBf16) return std::make_unique<PoolLoops<Bf16>>(shape);
  return std::make_unique<PoolLoops<float>>(shape);
}

}  // namespace yoke::reference
