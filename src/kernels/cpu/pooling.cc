// Pooling over vectors of channels: a plain tensor is one of batch * channels images with a single
// channel. Backward gathers: each input number adds up the windows that cover it, so that nothing
// is zeroed first and threads never meet.
#include "kernels/pooling.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "kernels/cpu/vector.h"

namespace yoke::cpu {
namespace {

/// Calls body(width, c) for blocks of `width` channels from c on that cover all channels; a width
/// is a constant, so that a block's sums stay in registers.
template <typename Body>
void ForEachBlock(int64_t channels, const Body& body) {
  int64_t c = 0;
  for (; c + 8 <= channels; c += 8) body(std::integral_constant<int, 8>(), c);
  for (; c + 4 <= channels; c += 4) body(std::integral_constant<int, 4>(), c);
  for (; c < channels; ++c) body(std::integral_constant<int, 1>(), c);
}

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
    for (int64_t i = 0; i < rows_; ++i) row_extents_.emplace_back(s_.rows, i, s_.height);
    for (int64_t j = 0; j < columns_; ++j) column_extents_.emplace_back(s_.columns, j, s_.width);
    for (int64_t i = 0; i < s_.height; ++i) row_covers_.emplace_back(s_.rows, i, rows_);
    for (int64_t j = 0; j < s_.width; ++j) column_covers_.emplace_back(s_.columns, j, columns_);
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
          ForEachBlock(channels_, [&](auto lanes, int64_t c) {
            ForwardWindow<lanes>(image + c, row, column, y + out + c,
                                 taps ? taps + out + c : nullptr);
          });
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
          ForEachBlock(channels_, [&](auto lanes, int64_t c) {
            BackwardPixel<lanes>(dy + image + c, taps ? taps + image + c : nullptr, row, column,
                                 dx + in + c);
          });
        }
  }

  int64_t saved_bytes() const override {
    return s_.training && s_.function == Pooling::kMaximum ? s_.Output().Count() : 0;
  }
  std::string name() const override { return "vector loops"; }

 private:
  template <int lanes>
  void ForwardWindow(const T* image, int64_t row, int64_t column, T* y, uint8_t* taps) const {
    const Extent &rows = row_extents_[row], &columns = column_extents_[column];
    if (s_.function == Pooling::kMaximum)
      Largest<lanes>(image, rows, columns, y, taps);
    else
      Mean<lanes>(image, rows, columns, y);
  }

  template <int lanes>
  void Largest(const T* image, const Extent& rows, const Extent& columns, T* y,
               uint8_t* taps) const {
    using V = Vector<lanes>;
    auto best = V::Load(image + (rows.begin * s_.width + columns.begin) * channels_);
    auto winner = typename V::Ints{} + Tap(rows, rows.begin, columns, columns.begin);
    for (int64_t i = rows.begin; i < rows.end; ++i)
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        const auto x = V::Load(image + (i * s_.width + j) * channels_);
        const typename V::Ints wins = (x > best) | (x != x);  // a NaN wins
        best = wins ? x : best;
        winner = wins ? typename V::Ints{} + Tap(rows, i, columns, j) : winner;
      }
    V::Store(best, y);
    if (taps) V::Store(winner, taps);
  }

  template <int lanes>
  void Mean(const T* image, const Extent& rows, const Extent& columns, T* y) const {
    using V = Vector<lanes>;
    typename V::Floats sum = {};
    for (int64_t i = rows.begin; i < rows.end; ++i)
      for (int64_t j = columns.begin; j < columns.end; ++j)
        sum += V::Load(image + (i * s_.width + j) * channels_);
    V::Store(sum / float(rows.counted * columns.counted), y);
  }

  int32_t Tap(const Extent& rows, int64_t i, const Extent& columns, int64_t j) const {
    return static_cast<int32_t>((i - rows.begin + rows.first) * s_.columns.size + j -
                                columns.begin + columns.first);
  }

  template <int lanes>
  void BackwardPixel(const T* dy, const uint8_t* taps, int64_t row, int64_t column, T* dx) const {
    using V = Vector<lanes>;
    typename V::Floats sum = {};
    const Cover &rows = row_covers_[row], &columns = column_covers_[column];
    for (int64_t i = rows.begin; i < rows.end; ++i)
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        const int64_t window = (i * columns_ + j) * channels_;
        const auto g = V::Load(dy + window);
        if (taps) {
          const int64_t y = row + s_.rows.padding - i * s_.rows.stride;
          const int64_t x = column + s_.columns.padding - j * s_.columns.stride;
          const auto tap = static_cast<int32_t>(y * s_.columns.size + x);
          sum += V::Load(taps + window) == tap ? g : typename V::Floats{};
        } else {
          sum += g * Share(i, j);
        }
      }
    V::Store(sum, dx);
  }

  float Share(int64_t i, int64_t j) const {
    return 1 / float(row_extents_[i].counted * column_extents_[j].counted);
  }

  PoolingShape s_;
  int64_t rows_ = 0, columns_ = 0;                    // of the output
  std::vector<Extent> row_extents_, column_extents_;  // by output position
  std::vector<Cover> row_covers_, column_covers_;     // by input position
  int64_t images_ = 0, channels_ = 0;                 // as vectors see them
};

}  // namespace

std::unique_ptr<PoolingKernel> Pool(const PoolingShape& shape) {
  if (shape.rows.size * shape.columns.size > 256) return nullptr;  // a tap is a byte
  if (shape.type == DType::kBf16) return std::make_unique<VectorPool<Bf16>>(shape);
  return std::make_unique<VectorPool<float>>(shape);
}

}  // namespace yoke::cpu
