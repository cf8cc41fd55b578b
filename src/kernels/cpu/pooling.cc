// Pooling over vectors of channels: a plain tensor is one of batch * channels images with a single
// channel. Backward gathers: each input number adds up the windows that cover it, so that nothing
// is zeroed first and threads never meet.
#include "kernels/pooling.h"

#include <algorithm>

namespace yoke::cpu {
namespace {

constexpr int64_t kLanes = 64;

/// Where one window lies along an axis: input [begin, end), of which `first` is the tap at begin.
struct Extent {
  int64_t begin, end, first, counted;
  Extent(const Window& window, int64_t position, int64_t length) {
    const int64_t start = position * window.stride - window.padding;
    counted = std::min(start + window.size, length + window.padding) - start;
    begin = std::max<int64_t>(start, 0);
    end = std::min(start + window.size, length);
    first = begin - start;
  }
};

/// The windows [begin, end) that cover one input position.
struct Cover {
  int64_t begin, end;
  Cover(const Window& window, int64_t position, int64_t windows) {
    const int64_t p = position + window.padding;
    begin = p < window.size ? 0 : (p - window.size) / window.stride + 1;
    end = std::min(p / window.stride + 1, windows);
  }
};

template <typename T>
class VectorPool : public PoolingKernel {
 public:
  explicit VectorPool(const PoolingShape& shape) : s_(shape) {
    const Shape out = shape.Output();
    rows_ = out[2], columns_ = out[3];
    const bool plain = shape.layout == Layout::kPlain;
    images_ = plain ? s_.batch * s_.channels : s_.batch;
    channels_ = plain ? 1 : s_.channels;
  }

  void Forward(const void* input, void* output, void* saved) override {
    const T* x = static_cast<const T*>(input);
    T* y = static_cast<T*>(output);
    auto* taps = static_cast<uint8_t*>(saved);
#pragma omp parallel for schedule(static) collapse(2)
    for (int64_t n = 0; n < images_; ++n)
      for (int64_t row = 0; row < rows_; ++row)
        for (int64_t column = 0; column < columns_; ++column) {
          const int64_t out = ((n * rows_ + row) * columns_ + column) * channels_;
          const T* image = x + n * s_.height * s_.width * channels_;
          for (int64_t c = 0; c < channels_; c += kLanes)
            ForwardWindow(image + c, row, column, std::min(kLanes, channels_ - c), y + out + c,
                          taps ? taps + out + c : nullptr);
        }
  }

  void Backward(const void* output_gradient, const void* saved, void* input_gradient) override {
    const T* dy = static_cast<const T*>(output_gradient);
    const bool maximum = s_.function == Pooling::kMaximum;
    const auto* taps = maximum ? static_cast<const uint8_t*>(saved) : nullptr;
    T* dx = static_cast<T*>(input_gradient);
#pragma omp parallel for schedule(static) collapse(2)
    for (int64_t n = 0; n < images_; ++n)
      for (int64_t row = 0; row < s_.height; ++row)
        for (int64_t column = 0; column < s_.width; ++column) {
          const int64_t in = ((n * s_.height + row) * s_.width + column) * channels_;
          const int64_t image = n * rows_ * columns_ * channels_;
          for (int64_t c = 0; c < channels_; c += kLanes)
            BackwardPixel(dy + image + c, taps ? taps + image + c : nullptr, row, column,
                          std::min(kLanes, channels_ - c), dx + in + c);
        }
  }

  int64_t saved_bytes() const override {
    return s_.training && s_.function == Pooling::kMaximum ? s_.Output().Count() : 0;
  }
  std::string name() const override { return "vector loops"; }

 private:
  void ForwardWindow(const T* image, int64_t row, int64_t column, int64_t lanes, T* y,
                     uint8_t* taps) const {
    const Extent rows(s_.rows, row, s_.height), columns(s_.columns, column, s_.width);
    if (s_.function == Pooling::kMaximum)
      Largest(image, rows, columns, lanes, y, taps);
    else
      Mean(image, rows, columns, lanes, y);
  }

  void Largest(const T* image, const Extent& rows, const Extent& columns, int64_t lanes, T* y,
               uint8_t* taps) const {
    float best[kLanes];
    int32_t winner[kLanes];
    const T* first = image + (rows.begin * s_.width + columns.begin) * channels_;
    for (int64_t c = 0; c < lanes; ++c)
      best[c] = float(first[c]), winner[c] = Tap(rows, rows.begin, columns, columns.begin);
    for (int64_t i = rows.begin; i < rows.end; ++i)
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        const T* x = image + (i * s_.width + j) * channels_;
        const int32_t tap = Tap(rows, i, columns, j);
        for (int64_t c = 0; c < lanes; ++c) {
          const float value = float(x[c]);
          const bool wins = (value > best[c]) | (value != value);  // a NaN wins
          best[c] = wins ? value : best[c];
          winner[c] = wins ? tap : winner[c];
        }
      }
    for (int64_t c = 0; c < lanes; ++c) y[c] = T(best[c]);
    if (taps)
      for (int64_t c = 0; c < lanes; ++c) taps[c] = static_cast<uint8_t>(winner[c]);
  }

  void Mean(const T* image, const Extent& rows, const Extent& columns, int64_t lanes, T* y) const {
    float sum[kLanes] = {};
    for (int64_t i = rows.begin; i < rows.end; ++i)
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        const T* x = image + (i * s_.width + j) * channels_;
        for (int64_t c = 0; c < lanes; ++c) sum[c] += float(x[c]);
      }
    const float scale = 1 / float(rows.counted * columns.counted);
    for (int64_t c = 0; c < lanes; ++c) y[c] = T(sum[c] * scale);
  }

  int32_t Tap(const Extent& rows, int64_t i, const Extent& columns, int64_t j) const {
    return static_cast<int32_t>((i - rows.begin + rows.first) * s_.columns.size + j -
                                columns.begin + columns.first);
  }

  void BackwardPixel(const T* dy, const uint8_t* taps, int64_t row, int64_t column, int64_t lanes,
                     T* dx) const {
    float sum[kLanes] = {};
    const Cover rows(s_.rows, row, rows_), columns(s_.columns, column, columns_);
    for (int64_t i = rows.begin; i < rows.end; ++i)
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        const int64_t window = (i * columns_ + j) * channels_;
        if (taps) {
          const int64_t y = row + s_.rows.padding - i * s_.rows.stride;
          const int64_t x = column + s_.columns.padding - j * s_.columns.stride;
          const auto tap = static_cast<uint8_t>(y * s_.columns.size + x);
          for (int64_t c = 0; c < lanes; ++c)
            sum[c] += taps[window + c] == tap ? float(dy[window + c]) : 0.0F;
        } else {
          const float scale = Share(i, j);
          for (int64_t c = 0; c < lanes; ++c) sum[c] += float(dy[window + c]) * scale;
        }
      }
    for (int64_t c = 0; c < lanes; ++c) dx[c] = T(sum[c]);
  }

  float Share(int64_t i, int64_t j) const {
    const Extent rows(s_.rows, i, s_.height), columns(s_.columns, j, s_.width);
    return 1 / float(rows.counted * columns.counted);
  }

  PoolingShape s_;
  int64_t rows_ = 0, columns_ = 0;     // of the output
  int64_t images_ = 0, channels_ = 0;  // as vectors see them
};

}  // namespace

std::unique_ptr<PoolingKernel> Pool(const PoolingShape& shape) {
  if (shape.rows.size * shape.columns.size > 256) return nullptr;  // a tap is a byte
  if (shape.type == DType::kBf16) return std::make_unique<VectorPool<Bf16>>(shape);
  return std::make_unique<VectorPool<float>>(shape);
}

}  // namespace yoke::cpu
