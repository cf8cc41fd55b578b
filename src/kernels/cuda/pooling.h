// Pooling: an output a thread forward, an input a thread backward, which gathers from its windows.
#pragma once

#include <cmath>

#include "kernels/cuda/numbers.h"
#include "kernels/makers.h"
#include "kernels/pooling/pooling.h"

namespace yoke::cuda {

/// A window along one axis of `length` elements, and the number of windows.
struct Axis {
  int32_t size, stride, padding, length, count, padded_end;
  Axis(const Window& window, int64_t elements)
      : size(static_cast<int32_t>(window.size)),
        stride(static_cast<int32_t>(window.stride)),
        padding(static_cast<int32_t>(window.padding)),
        length(static_cast<int32_t>(elements)),
        count(static_cast<int32_t>(window.Count(elements))),
        padded_end(static_cast<int32_t>(elements + window.EndPadding())) {}
  YOKE_HOST_DEVICE int32_t Start(int32_t window) const { return window * stride - padding; }
  YOKE_HOST_DEVICE int32_t Begin(int32_t window) const {
    return Start(window) < 0 ? 0 : Start(window);
  }
  YOKE_HOST_DEVICE int32_t End(int32_t window) const {
    return static_cast<int32_t>(Least(Start(window) + size, length));
  }
  /// Elements that an average counts.
  YOKE_HOST_DEVICE int32_t Counted(int32_t window, bool leaves_out_padding) const {
    if (leaves_out_padding) return End(window) - Begin(window);
    return static_cast<int32_t>(Least(Start(window) + size, padded_end)) - Start(window);
  }
  /// The windows over an element: [FirstOver, EndOver).
  YOKE_HOST_DEVICE int32_t FirstOver(int32_t element) const {
    const int32_t rest = element + padding - size;
    return rest < 0 ? 0 : rest / stride + 1;
  }
  YOKE_HOST_DEVICE int32_t EndOver(int32_t element) const {
    return static_cast<int32_t>(Least((element + padding) / stride + 1, count));
  }
};

template <typename T>
struct PoolBody {
  Image in, out;
  Axis rows, columns;
  bool maximum, leaves_out_padding;
  const T* from;
  T* to;
  int32_t* best;  ///< Of maxima: the place of each; null: not needed.
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    const Image::Place p = out.At(i);
    float sum = 0;
    int64_t place = in.Of(p.n, p.c, rows.Begin(p.y), columns.Begin(p.x));
    for (int32_t y = rows.Begin(p.y); y < rows.End(p.y); ++y)
      for (int32_t x = columns.Begin(p.x); x < columns.End(p.x); ++x) {
        const int64_t at = in.Of(p.n, p.c, y, x);
        const float value = Wide(from[at]);
        sum += value;
        if (maximum && (value > Wide(from[place]) || value != value)) place = at;
      }
    if (!maximum) {
      const auto counted = static_cast<float>(rows.Counted(p.y, leaves_out_padding) *
                                              columns.Counted(p.x, leaves_out_padding));
      to[i] = Narrow<T>(sum / counted);
      return;
    }
    to[i] = from[place];
    if (best) best[i] = static_cast<int32_t>(place);
  }
};

template <typename T>
struct PoolBackBody {
  Image in, out;
  Axis rows, columns;
  bool maximum, leaves_out_padding;
  const T* gradient;
  T* to;
  const int32_t* best;
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    const Image::Place p = in.At(i);
    float sum = 0;
    for (int32_t y = rows.FirstOver(p.y); y < rows.EndOver(p.y); ++y)
      for (int32_t x = columns.FirstOver(p.x); x < columns.EndOver(p.x); ++x) {
        const int64_t at = out.Of(p.n, p.c, y, x);
        if (maximum) {
          if (best[at] == static_cast<int32_t>(i)) sum += Wide(gradient[at]);
        } else {
          sum += Wide(gradient[at]) / static_cast<float>(rows.Counted(y, leaves_out_padding) *
                                                         columns.Counted(x, leaves_out_padding));
        }
      }
    to[i] = Narrow<T>(sum);
  }
};

template <typename Grid>
class PoolingOn : public GridKernel<Grid, PoolingCall> {
 public:
  PoolingOn(const PoolingShape& shape, const Grid& grid)
      : GridKernel<Grid, PoolingCall>(grid), s_(shape) {}

  int64_t saved_bytes() const override {
    return s_.training && Maximum() ? s_.Output().Count() * SizeOf(DType::kI32) : 0;
  }
  void Forward(const PoolingCall& call) override {
    WithType(s_.type, [&]<typename T>(T) {
      this->grid_.Each(s_.Output().Count(),
                       PoolBody<T>{In(), Out(), Rows(), Columns(), Maximum(), s_.leaves_out_padding,
                                   static_cast<const T*>(call.input), static_cast<T*>(call.output),
                                   static_cast<int32_t*>(call.saved)});
    });
  }
  void Backward(const PoolingCall& call) override {
    WithType(s_.type, [&]<typename T>(T) {
      this->grid_.Each(
          s_.Input().Count(),
          PoolBackBody<T>{In(), Out(), Rows(), Columns(), Maximum(), s_.leaves_out_padding,
                          static_cast<const T*>(call.output_gradient),
                          static_cast<T*>(call.input_gradient),
                          static_cast<const int32_t*>(call.saved)});
    });
  }

 private:
  bool Maximum() const { return s_.function == Pooling::kMaximum; }
  Image In() const { return Image(s_.Input(), s_.layout); }
  Image Out() const { return Image(s_.Output(), s_.layout); }
  Axis Rows() const { return Axis(s_.rows, s_.height); }
  Axis Columns() const { return Axis(s_.columns, s_.width); }

  PoolingShape s_;
};

}  // namespace yoke::cuda
