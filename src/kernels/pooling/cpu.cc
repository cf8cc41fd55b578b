// Pooling a row at a time. Channels last, neighbouring channels are the lanes of a vector; a plain
// image has one channel, and lanes of one. Backward, a thread writes whole rows of the input's
// gradient: where windows overlap, a pixel adds up what the windows that cover it gave to it; else
// each window writes to its own pixels.
#include "kernels/pooling/pooling.h"

#include <algorithm>
#include <vector>

#include "kernels/pooling/cpu_rows.h"

namespace yoke::cpu {
namespace {

/// One axis with its tables.
class Axis {
 public:
  Axis(const Window& window, int64_t length, bool leaves_out_padding)
      : window_(window), length_(length), leaves_out_padding_(leaves_out_padding) {
    windows_ = window.Count(length);
    for (int64_t i = 0; i < windows_; ++i) extents_.push_back(ExtentOf(i));
    for (int64_t i = 0; i < length; ++i) covers_.push_back(CoverOf(i));
  }

  PoolAxis View() const {
    return {.extents = extents_.data(),
            .covers = covers_.data(),
            .inputs = length_,
            .outputs = windows_,
            .size = window_.size,
            .stride = window_.stride,
            .padding = window_.padding};
  }

 private:
  PoolExtent ExtentOf(int64_t position) const {
    const int64_t start = position * window_.stride - window_.padding;
    const int64_t begin = std::max<int64_t>(start, 0), end = start + window_.size;
    PoolExtent extent{.begin = begin, .end = std::min(end, length_), .first = begin - start};
    extent.counted = leaves_out_padding_ ? extent.end - begin
                                         : std::min(end, length_ + window_.EndPadding()) - start;
    return extent;
  }

  PoolCover CoverOf(int64_t position) const {
    const int64_t p = position + window_.padding;
    return {.begin = p < window_.size ? 0 : (p - window_.size) / window_.stride + 1,
            .end = std::min(p / window_.stride + 1, windows_)};
  }

  Window window_;
  int64_t length_, windows_ = 0;
  bool leaves_out_padding_;
  std::vector<PoolExtent> extents_;
  std::vector<PoolCover> covers_;
};

class VectorPool : public PoolingKernel {
 public:
  explicit VectorPool(const PoolingShape& shape)
      : s_(shape),
        loops_(PoolLoopsFor(shape.type == DType::kBf16)),
        rows_(shape.rows, shape.height, shape.leaves_out_padding),
        columns_(shape.columns, shape.width, shape.leaves_out_padding) {
    const bool plain = shape.layout == Layout::kPlain;
    images_ = plain ? s_.batch * s_.channels : s_.batch;
    row_.channels = plain ? 1 : s_.channels;
    row_.rows = rows_.View();
    row_.columns = columns_.View();
    row_.maximum = s_.function == Pooling::kMaximum;
  }

  void Forward(const PoolingCall& call) override {
    Run(loops_.forward,
        {row_.rows.outputs, call.input, call.output, static_cast<uint8_t*>(call.saved)});
  }

  void Backward(const PoolingCall& call) override {
    Run(loops_.backward, {row_.rows.inputs, call.output_gradient, call.input_gradient,
                          static_cast<uint8_t*>(call.saved)});
  }

  int64_t saved_bytes() const override {
    return s_.training && row_.maximum ? s_.Output().Count() : 0;
  }
  std::string name() const override { return "vector loops"; }

 private:
  struct Pass {
    int64_t rows;  // of an image that is written
    const void* from;
    void* to;
    uint8_t* taps;
  };

  void Run(PoolLoop loop, const Pass& pass) const {
    const int64_t in = s_.height * s_.width * row_.channels;
    const int64_t out = row_.rows.outputs * row_.columns.outputs * row_.channels;
    const int64_t bytes = SizeOf(s_.type);
    const bool forward = loop == loops_.forward;
#pragma omp parallel for schedule(static) collapse(2)
    for (int64_t n = 0; n < images_; ++n)
      for (int64_t r = 0; r < pass.rows; ++r) {
        PoolRow row = row_;
        row.row = r;
        row.from = static_cast<const char*>(pass.from) + n * (forward ? in : out) * bytes;
        row.to = static_cast<char*>(pass.to) + n * (forward ? out : in) * bytes;
        row.taps = pass.taps && row.maximum ? pass.taps + n * out : nullptr;
        loop(row);
      }
  }

  PoolingShape s_;
  PoolLoops loops_;
  Axis rows_, columns_;
  PoolRow row_;         // what all rows have in common
  int64_t images_ = 0;  // as vectors see them
};

}  // namespace

std::unique_ptr<PoolingKernel> Pool(const PoolingShape& shape) {
  const bool maximum = shape.function == Pooling::kMaximum;
  if (maximum && shape.rows.size * shape.columns.size > 256) return nullptr;  // a tap is a byte
  return std::make_unique<VectorPool>(shape);
}

}  // namespace yoke::cpu
