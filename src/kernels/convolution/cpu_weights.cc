// Each thread keeps a block of sums (some input by some output channels, all taps) in its second
// cache and goes over chunks of output pixels. A chunk's gradients and the input beneath it are
// packed once, without gaps, and stay near while every tap and channel meets them (each pixel
// meanwhile fetches a line of the next chunk); a tap is an offset into the packed input, and what
// it finds outside the image is left out. Where channels are few, a row of the window is one run of
// elements and taken as one tap. In bf16 the same pixels of two images share a cell.
#include "kernels/convolution/cpu_weights.h"

#include <omp.h>

#include <algorithm>
#include <utility>

#include "kernels/convolution/cpu_pack.h"
#include "kernels/convolution/cpu_tiles.h"
#include "kernels/convolution/cpu_weight_sums.h"
#include "kernels/threads.h"

namespace yoke::cpu {
namespace {

// Measured: sums of a block (what the second cache holds beside chunks; less for a window of 1x1)
// and output pixels of a chunk.
constexpr int64_t kSums = 96 << 10, kSumsOfOne = 64 << 10;
constexpr int64_t kChunk = 512;
constexpr int64_t kFewChannels = 48;  // a row of the window up to here is one tap

/// The outputs of `range` whose input under tap `tap` is not padding.
Range Inside(const Window& window, int64_t length, int64_t tap, const Range& range) {
  const int64_t low = window.padding - tap, high = length + window.padding - tap;
  const auto up = [&](int64_t x) { return x <= 0 ? 0 : Pieces(x, window.stride); };
  Range r = {std::max(range.begin, up(low)), std::min(range.end, up(high))};
  r.end = std::max(r.begin, r.end);
  return r;
}

/// Positions of the input that `count` outputs read; under a window of 1 only those that it meets.
int64_t Spanned(const Window& window, int64_t count) {
  return window.size == 1 ? count : (count - 1) * window.stride + window.size;
}
int64_t StepOfInput(const Window& window) { return window.size == 1 ? window.stride : 1; }
int64_t StepOfPacked(const Window& window) { return window.size == 1 ? 1 : window.stride; }

template <typename T>
class TiledWeightGradient : public WeightGradient {
  using Cell = typename CellsOf<T>::Cell;
  static constexpr int64_t kImages = CellsOf<T>::kImages;

 public:
  explicit TiledWeightGradient(const ConvolutionShape& shape)
      : s_(shape),
        out_(shape.Output()),
        merged_(shape.groups == 1 && shape.channels * shape.columns.size <= kFewChannels),
        images_(Pieces(shape.batch, kImages)),
        threads_(KernelThreads()),
        sums_(shape, {.merged = merged_,
                      .images = images_,
                      .sums = shape.rows.size * (merged_ ? 1 : shape.columns.size) == 1 ? kSumsOfOne
                                                                                        : kSums,
                      .threads = threads_}) {
    DividePixels();
  }

  void Run(const WeightGradientCall& call) override {
    auto* sums = static_cast<float*>(call.scratch);
    auto* cells = reinterpret_cast<Cell*>(sums + sums_.floats());
#pragma omp parallel for schedule(dynamic, 1) num_threads(std::min(KernelThreads(), threads_))
    for (int64_t i = 0; i < sums_.tasks(); ++i)
      RunTask(call, sums_.Task(i, sums), cells + omp_get_thread_num() * CellsOfThread());
    sums_.AddUp(sums, call.weight_gradient);
  }

  int64_t scratch_bytes() const override {
    return 4 * (sums_.floats() + threads_ * CellsOfThread());
  }

 private:
  void DividePixels() {
    const int64_t pixels = kChunk * (merged_ ? 2 : 1);
    chunks_.columns = EvenPiece(out_[3], 2 * pixels);
    const int64_t rows = std::clamp<int64_t>(pixels / chunks_.columns, 1, out_[2]);
    chunks_.rows = EvenPiece(out_[2], rows);
    chunks_.images =
        rows < out_[2] ? 1 : std::clamp<int64_t>(pixels / (out_[2] * out_[3]), 1, images_);
  }

  /// A chunk at work, and the one after it.
  struct Work {
    const WeightGradientCall& call;
    const WeightTask& task;
    WeightChunk chunk, next;
    bool last = false;
    Cell* gradient = nullptr;     // packed
    Cell* input = nullptr;        // packed
    int64_t tile = 0, tiles = 0;  // which one is at work; how many the chunk has at most
  };

  void RunTask(const WeightGradientCall& call, const WeightTask& task, Cell* cells) const {
    const int64_t chunks = chunks_.CountOf(task);
    for (int64_t i = 0; i < chunks; ++i) {
      Work work = {.call = call,
                   .task = task,
                   .chunk = chunks_.Of(task, i),
                   .next = chunks_.Of(task, std::min(i + 1, chunks - 1)),
                   .last = i + 1 == chunks,
                   .gradient = cells,
                   .input = cells + GradientCells()};
      RunChunk(work);
    }
  }

  void RunChunk(Work& work) const {
    PackInput(work);
    const Range all = work.task.outputs;
    const int width = static_cast<int>(std::min(all.count(), strip_));
    work.tiles = Pieces(all.count(), strip_) *
                 Pieces(work.task.channels.count(), MostTileChannels(width)) * sums_.taps();
    for (int64_t o = all.begin; o < all.end; o += strip_) {
      const Range outputs = {o, std::min(o + strip_, all.end)};
      PackGradient(work, outputs);
      RunTiles(work, outputs);
    }
  }

  /// A pixel of the next chunk needs some lines: its gradients, and the input that pixels before it
  /// did not read. Each tile fetches one of them for all its pixels; of more lines than tiles some
  /// are left out. A line may lie outside the tensors: fetching never faults.
  Fetched FetchedBy(const Work& work) const {
    const Range &channels = work.task.channels, &outputs = work.task.outputs;
    constexpr int64_t kLine = 64 / sizeof(T);
    const int64_t of_gradient = Pieces(outputs.count(), kLine),
                  of_input = Pieces(PackedChannels(channels), kLine),
                  down = std::min(s_.rows.stride, s_.rows.size),
                  across = std::min(s_.columns.stride, s_.columns.size),
                  lines = of_gradient + of_input * down * across;
    const int64_t from = work.tile * lines * kImages / work.tiles,
                  to = (work.tile + 1) * lines * kImages / work.tiles;
    const char* gradient = static_cast<const char*>(work.call.output_gradient);
    if (from == to || work.last)  // nothing: what is near
      return {.line = reinterpret_cast<const char*>(work.gradient)};
    const int64_t line = from % lines, n = work.next.images.begin * kImages + from / lines;
    const int64_t y = work.next.rows.begin, x = work.next.columns.begin, size = sizeof(T);
    if (line < of_gradient) {
      const int64_t row = out_[3] * s_.outputs,
                    first = FirstOutput(work.task) + outputs.begin + line * kLine;
      return {.line = gradient + ((n * out_[2] + y) * row + x * s_.outputs + first) * size,
              .image = kImages * out_[2] * row * size,
              .row = row * size,
              .column = s_.outputs * size};
    }
    const int64_t pixel = (line - of_gradient) / of_input,
                  first = FirstChannel(work.task) + (line - of_gradient) % of_input * kLine,
                  row = s_.width * s_.channels,
                  at = y * s_.rows.stride - s_.rows.padding + s_.rows.size - down + pixel / across;
    return {.line = static_cast<const char*>(work.call.input) +
                    ((n * s_.height + at) * row +
                     (x * s_.columns.stride + pixel % across) * s_.channels + first) *
                        size,
            .image = kImages * s_.height * row * size,
            .row = s_.rows.stride * row * size,
            .column = s_.columns.stride * s_.channels * size};
  }

  /// Cells [image][row][column][channel] of all that the chunk reads.
  void PackInput(const Work& work) const {
    const WeightTask& task = work.task;
    const WeightChunk& chunk = work.chunk;
    const T* input = static_cast<const T*>(work.call.input);
    Cell* to = work.input;
    const int64_t row = s_.width * s_.channels, rows = Spanned(s_.rows, chunk.rows.count());
    const PixelRange range = {.first = chunk.columns.begin * s_.columns.stride - s_.columns.padding,
                              .step = StepOfInput(s_.columns),
                              .count = Spanned(s_.columns, chunk.columns.count()),
                              .begin = FirstChannel(task),
                              .size = PackedChannels(task.channels)};
    for (int64_t n = chunk.images.begin; n < chunk.images.end; ++n)
      for (int64_t u = 0; u < rows; ++u, to += range.count * range.size) {
        const int64_t y =
            chunk.rows.begin * s_.rows.stride - s_.rows.padding + u * StepOfInput(s_.rows);
        const bool inside = y >= 0 && y < s_.height;
        const T* first = input + (n * kImages * s_.height + y) * row;
        PackRow<T>({.first = inside ? first : nullptr,
                    .second = HasSecond(n) ? first + s_.height * row : nullptr,
                    .width = s_.width,
                    .channels = s_.channels},
                   range, to);
      }
  }

  /// Cells [image][row][column][lane]; lanes beyond the outputs are zeros.
  void PackGradient(const Work& work, const Range& outputs) const {
    const WeightChunk& chunk = work.chunk;
    const T* gradient = static_cast<const T*>(work.call.output_gradient);
    Cell* to = work.gradient;
    const int64_t image = out_[2] * out_[3] * s_.outputs, across = chunk.columns.count();
    for (int64_t n = chunk.images.begin; n < chunk.images.end; ++n)
      for (int64_t y = chunk.rows.begin; y < chunk.rows.end; ++y, to += across * outputs.count()) {
        const T* first = gradient + n * kImages * image +
                         (y * out_[3] + chunk.columns.begin) * s_.outputs + FirstOutput(work.task) +
                         outputs.begin;
        PackLanes(s_.type, {.first = first,
                            .second = HasSecond(n) ? first + image : nullptr,
                            .step = s_.outputs,
                            .pixels = across,
                            .real = std::min(outputs.end, s_.outputs / s_.groups) - outputs.begin,
                            .lanes = outputs.count(),
                            .to = to});
      }
  }

  void RunTiles(Work& work, const Range& outputs) const {
    const int width = static_cast<int>(outputs.count());
    const Range& all = work.task.channels;
    const int64_t tiles = Pieces(all.count(), MostTileChannels(width));
    for (int64_t t = 0; t < tiles; ++t) {
      const Range channels = Part(all, t, tiles);
      const TileFunction run = FindTile(s_.type, static_cast<int>(channels.count()), width);
      for (int64_t i = 0; i < s_.rows.size; ++i)
        for (int64_t j = 0; j < sums_.tap_columns(); ++j) {
          Tile tile = TileOf(work, width, i, j);
          tile.x = static_cast<const Cell*>(tile.x) + channels.begin - (merged_ ? 0 : all.begin);
          tile.sums =
              work.task.sums +
              ((i * sums_.tap_columns() + j) * sums_.rows() + channels.begin) * sums_.lanes() +
              outputs.begin;
          tile.fetched = FetchedBy(work);
          JoinRows(tile, width);
          run(tile);
          ++work.tile;
        }
    }
  }

  /// The rectangle of a chunk that tap (i, j) finds inside the image.
  Tile TileOf(const Work& work, int64_t width, int64_t i, int64_t j) const {
    const WeightChunk& chunk = work.chunk;
    const Range rows = Inside(s_.rows, s_.height, i, chunk.rows);
    const Range columns = merged_ ? chunk.columns : Inside(s_.columns, s_.width, j, chunk.columns);
    const int64_t size = PackedChannels(work.task.channels);
    const int64_t input_row = Spanned(s_.columns, chunk.columns.count()) * size;
    const int64_t y_row = chunk.columns.count() * width;
    const int64_t x_row = StepOfPacked(s_.rows) * input_row,
                  x_column = StepOfPacked(s_.columns) * size;
    const int64_t row = rows.begin - chunk.rows.begin, column = columns.begin - chunk.columns.begin;
    return {.x = work.input + row * x_row + column * x_column + i * input_row + j * size,
            .y = work.gradient + row * y_row + column * width,
            .images = chunk.images.count(),
            .rows = rows.count(),
            .columns = columns.count(),
            .x_image = Spanned(s_.rows, chunk.rows.count()) * input_row,
            .x_row = x_row,
            .x_column = x_column,
            .y_image = chunk.rows.count() * y_row,
            .y_row = y_row,
            .sums_step = sums_.lanes(),
            .first = chunk.first};
  }

  /// Rows, and images, that follow each other without a gap become one.
  static void JoinRows(Tile& t, int64_t width) {
    if (t.x_row == t.columns * t.x_column && t.y_row == t.columns * width &&
        t.fetched.row == t.columns * t.fetched.column)
      t.columns *= std::exchange(t.rows, 1);
    if (t.rows == 1 && t.x_image == t.columns * t.x_column && t.y_image == t.columns * width &&
        t.fetched.image == t.columns * t.fetched.column)
      t.columns *= std::exchange(t.images, 1);
  }

  /// Of the task's group: the first of the channels it packs, and its first output.
  int64_t FirstChannel(const WeightTask& task) const {
    return task.group * (s_.channels / s_.groups) + (merged_ ? 0 : task.channels.begin);
  }
  int64_t FirstOutput(const WeightTask& task) const {
    return task.group * (s_.outputs / s_.groups);
  }

  bool HasSecond(int64_t n) const { return kImages > 1 && n * kImages + 1 < s_.batch; }
  int64_t PackedChannels(const Range& channels) const {
    return merged_ ? s_.channels : channels.count();
  }
  int64_t GradientCells() const { return chunks_.images * chunks_.rows * chunks_.columns * strip_; }
  int64_t CellsOfThread() const {
    const int64_t input = chunks_.images * Spanned(s_.rows, chunks_.rows) *
                          Spanned(s_.columns, chunks_.columns) *
                          PackedChannels({0, sums_.MostChannels()});
    return Pieces(GradientCells() + input, kLanes) * kLanes;
  }

  ConvolutionShape s_;
  Shape out_;
  bool merged_;     // a row of the window counts as one tap of kernel width * channels
  int64_t images_;  // of cells
  int threads_;
  int64_t strip_ = MostTileLanes();  // outputs packed at a time
  WeightSums sums_;
  WeightChunks chunks_ = {.all_columns = out_[3]};
};

}  // namespace

std::unique_ptr<WeightGradient> MakeWeightGradient(const ConvolutionShape& shape) {
  if (!RunsTiles(shape.type) || shape.layout != Layout::kChannelsLast) return nullptr;
  constexpr int64_t kFewOfGroup = 8;  // with fewer channels or outputs most of a tile is padding
  if (shape.groups > 1 && std::min(shape.channels, shape.outputs) < kFewOfGroup * shape.groups)
    return nullptr;
  if (auto product = MakeProductWeightGradient(shape)) return product;
  if (auto amx = MakeAmxWeightGradient(shape)) return amx;
  if (shape.type == DType::kBf16) return std::make_unique<TiledWeightGradient<Bf16>>(shape);
  return std::make_unique<TiledWeightGradient<float>>(shape);
}

}  // namespace yoke::cpu
