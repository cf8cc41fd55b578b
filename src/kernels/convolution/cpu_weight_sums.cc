// Blocks of sums are dealt to tasks; squares of them that stay in the cache are put in order.
#include "kernels/convolution/cpu_weight_sums.h"

#include <algorithm>

#include "kernels/convolution/cpu_tiles.h"
#include "kernels/threads.h"

namespace yoke::cpu {
namespace {

/// Rows of a part of an image: parts read the rows between them twice.
constexpr int64_t kLeastRows = 4;

}  // namespace

int64_t WeightChunks::CountOf(const WeightTask& task) const {
  return Pieces(task.images.count(), images) * Pieces(task.rows.count(), rows) *
         Pieces(all_columns, columns);
}

WeightChunk WeightChunks::Of(const WeightTask& task, int64_t index) const {
  const int64_t across = Pieces(all_columns, columns), down = Pieces(task.rows.count(), rows);
  const int64_t n = task.images.begin + index / (across * down) * images,
                y = task.rows.begin + index / across % down * rows, x = index % across * columns;
  return {.images = {n, std::min(n + images, task.images.end)},
          .rows = {y, std::min(y + rows, task.rows.end)},
          .columns = {x, std::min(x + columns, all_columns)},
          .first = index == 0};
}

WeightSums::WeightSums(const ConvolutionShape& shape, const Settings& settings)
    : s_(shape),
      strip_(MostTileLanes()),
      unit_(settings.channel_unit),
      images_(settings.images),
      all_rows_(shape.Output()[2]) {
  const int64_t of_group = s_.channels / s_.groups;
  tap_columns_ = settings.merged ? 1 : s_.columns.size;
  channels_ = settings.merged ? of_group * s_.columns.size : of_group;
  rows_ = Pieces(channels_, unit_) * unit_;
  outputs_ = s_.outputs / s_.groups;
  lanes_ = Pieces(outputs_, kLanes) * kLanes;
  const int64_t outputs = std::min<int64_t>(lanes_, taps() > 4 ? 128 : 256);
  output_blocks_ = Pieces(lanes_, outputs);
  const int64_t channels = std::max<int64_t>(settings.sums / (taps() * outputs), 16);
  channel_blocks_ = Pieces(rows_ / unit_, std::max<int64_t>(channels / unit_, 1));
  const int64_t blocks = s_.groups * channel_blocks_ * output_blocks_;
  const bool even = Pieces(lanes_, strip_) % output_blocks_ == 0;
  const int64_t parts =
      even && blocks % settings.threads == 0 ? 1 : Pieces(2 * settings.threads, blocks);
  if (parts > images_)
    row_parts_ = std::clamp<int64_t>(all_rows_ / kLeastRows, 1, Pieces(parts, images_));
  parts_ = std::min(parts, images_) * row_parts_;
}

WeightTask WeightSums::Task(int64_t index, float* sums) const {
  const int64_t part = index % parts_;
  index /= parts_;
  const int64_t output_block = index % output_blocks_;
  index /= output_blocks_;
  const int64_t channel_block = index % channel_blocks_, group = index / channel_blocks_;
  const Range widths =  // blocks end where tiles of the most lanes do
      Part({0, Pieces(lanes_, strip_)}, output_block, output_blocks_);
  const Range units = Part({0, rows_ / unit_}, channel_block, channel_blocks_);
  return {.group = group,
          .channels = {units.begin * unit_, units.end * unit_},
          .outputs = {widths.begin * strip_, std::min(widths.end * strip_, lanes_)},
          .images = Part({0, images_}, part / row_parts_, parts_ / row_parts_),
          .rows = Part({0, all_rows_}, part % row_parts_, row_parts_),
          .sums = sums + (part * s_.groups + group) * OfGroup()};
}

int64_t WeightSums::MostChannels() const { return Pieces(rows_ / unit_, channel_blocks_) * unit_; }

void WeightSums::AddUp(const float* sums, float* weight) const {
  const int64_t channels = s_.channels / s_.groups, blocks = Pieces(outputs_, kLanes);
  // Of so many channels that threads have a few squares each. Their weights lie side by side.
  const int64_t height =
      std::clamp<int64_t>(s_.groups * blocks * channels / (4 * KernelThreads()), 1, kLanes);
#pragma omp parallel for collapse(3) schedule(static)
  for (int64_t group = 0; group < s_.groups; ++group)
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t c = 0; c < channels; c += height)
        AddUpSquare(sums, weight, group, block * kLanes, {c, std::min(c + height, channels)});
}

/// Tap (i, j) of channel c is row j * channels + c of the sums of tap i where rows are merged.
void WeightSums::AddUpSquare(const float* sums, float* weight, int64_t group, int64_t o,
                             const Range& of) const {
  const int64_t channels = s_.channels / s_.groups, columns = s_.columns.size;
  const int64_t taps = s_.rows.size * columns, row = channels * taps;
  const int64_t width = std::min<int64_t>(kLanes, outputs_ - o);
  const int64_t step = s_.groups * OfGroup();
  sums += group * OfGroup();
  weight += group * outputs_ * row;
  for (int64_t t = 0; t < taps; ++t) {
    const int64_t first =
        tap_columns_ > 1 || columns == 1 ? t * rows_ : t / columns * rows_ + t % columns * channels;
    float square[kLanes][kLanes];
    for (int64_t i = 0; i < of.count(); ++i) std::fill_n(square[i], kLanes, 0.0F);
    for (int64_t p = 0; p < parts_; ++p) {
      const float* from = sums + p * step + (first + of.begin) * lanes_ + o;
      for (int64_t i = 0; i < of.count(); ++i, from += lanes_)
        for (int64_t k = 0; k < kLanes; ++k) square[i][k] += from[k];
    }
    float* to = weight + o * row + of.begin * taps + t;
    for (int64_t k = 0; k < width; ++k, to += row)
      for (int64_t i = 0; i < of.count(); ++i) to[i * taps] = square[i][k];
  }
}

}  // namespace yoke::cpu
