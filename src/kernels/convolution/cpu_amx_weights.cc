// Weight gradients in bf16 by AMX. A task keeps a block of sums and goes over chunks of output
// rows. A chunk's input is packed channel by channel, each a plane of rows, and its gradients pixel
// by pixel, with zeros where a row of the input is longer: so all rows of a chunk follow each other
// in both, and a tap is an offset into the planes. With a stride, the rows and columns that a tap
// meets have planes of their own. Where channels are few, the columns of the window are channels
// too.
#include <omp.h>

#include <algorithm>

#include "base/algorithms.h"
#include "kernels/convolution/cpu_amx_tiles.h"
#include "kernels/convolution/cpu_tiles.h"
#include "kernels/convolution/cpu_weight_sums.h"
#include "kernels/convolution/cpu_weights.h"
#include "kernels/instructions.h"
#include "kernels/threads.h"

namespace yoke::cpu {
namespace {

// Measured: sums of a block and pixels of a chunk that the second cache holds.
constexpr int64_t kAmxSums = 112 << 10;
constexpr int64_t kAmxPixels = 512;
constexpr int64_t kStrip = 2 * kTile;  // outputs packed at a time
constexpr int64_t kAmxFewChannels = 48;

/// One axis of the window: taps of one residue meet every position of a plane in turn.
struct Phases {
  Phases(const Window& window, bool merged)
      : stride(window.stride),
        padding(window.padding),
        count(merged ? 1 : std::min(window.stride, window.size)),
        more(merged ? 0 : (window.size - 1) / window.stride) {}
  int64_t stride, padding;
  int64_t count;  ///< Planes.
  int64_t more;   ///< Positions that a plane has beyond the outputs.
};

class AmxWeightGradient : public WeightGradient {
  static constexpr int64_t kImages = 2;  // whose pixels share a cell

 public:
  explicit AmxWeightGradient(const ConvolutionShape& shape)
      : s_(shape),
        out_(shape.Output()),
        merged_(shape.groups == 1 && shape.channels * shape.columns.size <= kAmxFewChannels),
        images_(Pieces(shape.batch, kImages)),
        threads_(KernelThreads()),
        sums_(shape, {.merged = merged_,
                      .images = images_,
                      .sums = kAmxSums,
                      .channel_unit = kTile,
                      .threads = threads_}),
        rows_(shape.rows, false),
        columns_(shape.columns, merged_) {
    DividePixels();
  }

  void Run(const WeightGradientCall& call) override {
    auto* sums = static_cast<float*>(call.scratch);
    auto* cells = reinterpret_cast<uint32_t*>(sums + sums_.floats());
#pragma omp parallel num_threads(std::min(KernelThreads(), threads_))
    {
      BeginAmx();
#pragma omp for schedule(dynamic, 1)
      for (int64_t i = 0; i < sums_.tasks(); ++i)
        RunTask(call, sums_.Task(i, sums), cells + omp_get_thread_num() * CellsOfThread());
      EndAmx();
    }
    sums_.AddUp(sums, call.weight_gradient);
  }

  int64_t scratch_bytes() const override {
    return 4 * (sums_.floats() + threads_ * CellsOfThread());
  }

 private:
  struct Work {
    const WeightGradientCall& call;
    const WeightTask& task;
    WeightChunk chunk;
    uint32_t* input = nullptr;
    uint32_t* gradient = nullptr;
  };

  void DividePixels() {
    across_ = out_[3] + columns_.more;
    const int64_t rows = std::clamp<int64_t>(kAmxPixels / across_, 1, out_[2]);
    chunks_.rows = EvenPiece(out_[2], rows);
    chunks_.images =
        rows < out_[2] ? 1 : std::clamp<int64_t>(kAmxPixels / (out_[2] * across_), 1, images_);
    image_pixels_ = RoundUp(chunks_.rows * across_, kTile);
    x_image_ = RoundUp(image_pixels_ + rows_.more * across_ + columns_.more + kTile, kTile);
    x_channel_ = chunks_.images * x_image_;
    if (x_channel_ / kTile % 2 == 0) x_channel_ += kTile;  // rows of a tile in different sets
  }

  int64_t Plane() const { return sums_.MostChannels() * x_channel_; }
  int64_t CellsOfThread() const {
    return rows_.count * columns_.count * Plane() + chunks_.images * image_pixels_ * kStrip;
  }

  void RunTask(const WeightGradientCall& call, const WeightTask& task, uint32_t* cells) const {
    for (int64_t i = 0; i < chunks_.CountOf(task); ++i) {
      const Work work = {.call = call,
                         .task = task,
                         .chunk = chunks_.Of(task, i),
                         .input = cells,
                         .gradient = cells + rows_.count * columns_.count * Plane()};
      PackInput(work);
      for (int64_t o = task.outputs.begin; o < task.outputs.end; o += kStrip) {
        const Range outputs = {o, std::min(o + kStrip, task.outputs.end)};
        PackGradient(work, outputs);
        RunBlocks(work, outputs);
      }
    }
  }

  /// The plane of a row's and a column's phase.
  uint32_t* PlaneOf(const Work& work, int64_t row_phase, int64_t column_phase) const {
    return work.input + (row_phase * columns_.count + column_phase) * Plane();
  }

  void PackInput(const Work& work) const {
    const WeightChunk& chunk = work.chunk;
    const int64_t rows = chunk.rows.count() + rows_.more;
    for (int64_t i = 0; i < rows_.count; ++i)
      for (int64_t j = 0; j < columns_.count; ++j)
        for (int64_t n = 0; n < chunk.images.count(); ++n) {
          uint32_t* image = PlaneOf(work, i, j) + n * x_image_;
          for (int64_t q = 0; q < rows; ++q)
            PackRow(work, chunk.images.begin + n,
                    (chunk.rows.begin + q) * rows_.stride + i - rows_.padding, j,
                    image + q * across_);
          for (int64_t c = 0; c < work.task.channels.count(); ++c)
            std::fill_n(image + c * x_channel_ + rows * across_, x_image_ - rows * across_, 0);
        }
  }

  /// Row y of an image's cells, in the planes of a column's phase.
  void PackRow(const Work& work, int64_t n, int64_t y, int64_t phase, uint32_t* to) const {
    const int64_t row = s_.width * s_.channels;
    const bool inside = y >= 0 && y < s_.height;
    const auto* first =
        inside ? static_cast<const uint16_t*>(work.call.input) + (n * kImages * s_.height + y) * row
               : nullptr;
    const auto* second = inside && n * kImages + 1 < s_.batch ? first + s_.height * row : nullptr;
    if (merged_) return PackMerged(work.task.channels, first, second, to);
    // Pixel u is column u * stride + phase - padding.
    const int64_t from = phase - columns_.padding;
    const Range pixels = PixelsInside(from);
    const int64_t group = work.task.group * (s_.channels / s_.groups);
    const int64_t at = from * s_.channels + group + work.task.channels.begin;
    TurnRow(
        {.first = inside ? first + at : nullptr,
         .second = second ? second + at : nullptr,
         .step = columns_.stride * s_.channels,
         .pixels = across_,
         .begin = pixels.begin,
         .end = pixels.end,
         .channels = std::min(work.task.channels.end, sums_.channels()) - work.task.channels.begin,
         .to = to,
         .channel = x_channel_});
  }

  /// The pixels u of a row for which column u * stride + from is inside the image.
  Range PixelsInside(int64_t from) const {
    const int64_t begin = from >= 0 ? 0 : Pieces(-from, columns_.stride);
    const int64_t end = from >= s_.width ? 0 : Pieces(s_.width - from, columns_.stride);
    return {std::min(begin, across_), std::clamp(end, std::min(begin, across_), across_)};
  }

  /// Channel j * channels + c is channel c under column j of the window.
  void PackMerged(const Range& range, const uint16_t* first, const uint16_t* second,
                  uint32_t* to) const {
    const int64_t step = columns_.stride * s_.channels;
    for (int64_t m = range.begin; m < std::min(range.end, sums_.channels());
         ++m, to += x_channel_) {
      const int64_t from = m / s_.channels - columns_.padding;
      const Range inside = first ? PixelsInside(from) : Range{0, 0};
      std::fill_n(to, inside.begin, 0);
      int64_t at = (inside.begin * columns_.stride + from) * s_.channels + m % s_.channels;
      for (int64_t u = inside.begin; u < inside.end; ++u, at += step)
        to[u] = first[at] | (second ? uint32_t{second[at]} << 16 : 0);
      std::fill(to + inside.end, to + across_, 0);
    }
  }

  /// Cells [image][pixel][output of the strip].
  void PackGradient(const Work& work, const Range& outputs) const {
    const WeightChunk& chunk = work.chunk;
    const auto* gradient = static_cast<const uint16_t*>(work.call.output_gradient);
    const int64_t width = outputs.count(), row = out_[3] * s_.outputs, image = out_[2] * row;
    const int64_t rows = chunk.rows.count();
    const int64_t column = work.task.group * (s_.outputs / s_.groups) + outputs.begin;
    for (int64_t n = chunk.images.begin; n < chunk.images.end; ++n) {
      uint32_t* to = work.gradient + (n - chunk.images.begin) * image_pixels_ * width;
      for (int64_t y = 0; y < rows; ++y) {
        const uint16_t* first =
            gradient + n * kImages * image + (chunk.rows.begin + y) * row + column;
        PackLanes(DType::kBf16,
                  {.first = first,
                   .second = n * kImages + 1 < s_.batch ? first + image : nullptr,
                   .step = s_.outputs,
                   .pixels = out_[3],
                   .real = std::min(outputs.end, s_.outputs / s_.groups) - outputs.begin,
                   .lanes = width,
                   .to = to + y * across_ * width});
        std::fill_n(to + (y * across_ + out_[3]) * width, columns_.more * width, 0);
      }
      std::fill_n(to + rows * across_ * width, (Pixels(chunk) - rows * across_) * width, 0);
    }
  }

  /// Of an image of the chunk, filled up to tiles.
  int64_t Pixels(const WeightChunk& chunk) const {
    return RoundUp(chunk.rows.count() * across_, kTile);
  }

  void RunBlocks(const Work& work, const Range& outputs) const {
    const Range& channels = work.task.channels;
    for (int64_t c = channels.begin; c < channels.end; c += 2 * kTile)
      for (int64_t i = 0; i < s_.rows.size; ++i)
        for (int64_t j = 0; j < sums_.tap_columns(); ++j) {
          const uint32_t* plane = PlaneOf(work, i % rows_.stride, j % columns_.stride);
          const int64_t tap = i * sums_.tap_columns() + j;
          SumAmx({.x = plane + (c - channels.begin) * x_channel_ + i / rows_.stride * across_ +
                       j / columns_.stride,
                  .y = work.gradient,
                  .x_channel = x_channel_,
                  .y_pixel = outputs.count(),
                  .images = work.chunk.images.count(),
                  .x_image = x_image_,
                  .y_image = image_pixels_ * outputs.count(),
                  .pixels = Pixels(work.chunk),
                  .sums = work.task.sums + (tap * sums_.rows() + c) * sums_.lanes() + outputs.begin,
                  .sums_step = sums_.lanes(),
                  .first = work.chunk.first,
                  .channels = channels.end - c > kTile ? 2 : 1,
                  .outputs = outputs.count() > kTile ? 2 : 1});
        }
  }

  ConvolutionShape s_;
  Shape out_;
  bool merged_;
  int64_t images_;  // of cells
  int threads_;
  WeightSums sums_;
  WeightChunks chunks_ = {.columns = out_[3], .all_columns = out_[3]};
  Phases rows_, columns_;
  int64_t across_ = 0;                   // pixels of a row in the planes
  int64_t image_pixels_ = 0;             // of the gradients of an image of a chunk
  int64_t x_image_ = 0, x_channel_ = 0;  // strides of a plane
};

}  // namespace

std::unique_ptr<WeightGradient> MakeAmxWeightGradient(const ConvolutionShape& shape) {
  if (!HasAmx() || shape.type != DType::kBf16) return nullptr;
  return std::make_unique<AmxWeightGradient>(shape);
}

}  // namespace yoke::cpu
