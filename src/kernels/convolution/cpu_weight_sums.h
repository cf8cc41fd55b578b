// The sums of a convolution's weight gradient: which task adds which of them over which images, and
// how they become the gradient.
#pragma once

#include <cstdint>

#include "kernels/convolution/convolution.h"

namespace yoke::cpu {

struct Range {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};

inline int64_t Pieces(int64_t count, int64_t most) { return (count + most - 1) / most; }

/// The size of nearly equal pieces of at most `most`.
inline int64_t EvenPiece(int64_t count, int64_t most) { return Pieces(count, Pieces(count, most)); }

/// Part i of `parts` nearly equal ones.
inline Range Part(const Range& r, int64_t i, int64_t parts) {
  return {r.begin + r.count() * i / parts, r.begin + r.count() * (i + 1) / parts};
}

/// What one thread does alone: a block of a group's sums over some of the images.
struct WeightTask {
  int64_t group = 0;
  Range channels, outputs, images;  // of the group; images in units of a cell's
  Range rows;                       // of the output
  float* sums = nullptr;            // [taps][channels][lanes] of all channels and outputs
};

/// Output pixels that are packed once and stay in the cache while all sums of a task use them.
struct WeightChunk {
  Range images, rows, columns;
  bool first = false;  ///< Of its task.
};

/// How output pixels are cut into chunks, images outermost.
struct WeightChunks {
  int64_t images = 0, rows = 0, columns = 0;  ///< Of a chunk, at most.
  int64_t all_columns = 0;                    ///< Of the output.

  int64_t CountOf(const WeightTask& task) const;
  WeightChunk Of(const WeightTask& task, int64_t index) const;
};

/// Blocks of sums that fit a cache; where they are too few for the threads, parts of the images, or
/// of their rows, have sums of their own, which are added in order.
class WeightSums {
 public:
  struct Settings {
    bool merged = false;  ///< A row of the window is one tap with kernel width * channels channels.
    int64_t images = 0;   ///< In units of a cell's.
    int64_t sums = 0;     ///< Of a block, about.
    int64_t channel_unit = 1;  ///< Blocks begin at multiples of it, and channels fill the last one.
    int threads = 1;
  };
  WeightSums(const ConvolutionShape& shape, const Settings& settings);

  int64_t tasks() const { return s_.groups * channel_blocks_ * output_blocks_ * parts_; }
  /// `sums` are floats() of memory.
  WeightTask Task(int64_t index, float* sums) const;
  /// The most channels that a task has.
  int64_t MostChannels() const;
  int64_t floats() const { return parts_ * s_.groups * OfGroup(); }
  /// Adds the parts and puts them into the weights' order.
  void AddUp(const float* sums, float* weight) const;

  int64_t taps() const { return s_.rows.size * tap_columns_; }
  int64_t tap_columns() const { return tap_columns_; }
  int64_t channels() const { return channels_; }  ///< Of a tap of a group.
  int64_t rows() const { return rows_; }          ///< Channels, filled up.
  int64_t lanes() const { return lanes_; }        ///< Outputs of a group, filled up to registers.

 private:
  int64_t OfGroup() const { return taps() * rows_ * lanes_; }
  void AddUpSquare(const float* sums, float* weight, int64_t group, int64_t o,
                   const Range& channels) const;

  ConvolutionShape s_;
  int64_t strip_ = 0;  // outputs of a tile, which no block divides
  int64_t unit_ = 1;
  int64_t tap_columns_ = 0, channels_ = 0, rows_ = 0;
  int64_t outputs_ = 0, lanes_ = 0;  // of a group
  int64_t channel_blocks_ = 0, output_blocks_ = 0, parts_ = 0;
  int64_t images_ = 0, all_rows_ = 0;
  int64_t row_parts_ = 1;  // of an image
};

}  // namespace yoke::cpu
