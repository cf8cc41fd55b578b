// Images: one element of the result a thread: padding, shuffled and joined channels, shortcuts,
// gates, means over pixels, and input out of stored bytes.
#pragma once

#include <algorithm>
#include <cmath>

#include "kernels/cuda/numbers.h"
#include "kernels/join/join.h"
#include "kernels/makers.h"
#include "kernels/normalize.h"
#include "kernels/pooling/pooling.h"
#include "kernels/rearrange.h"
#include "kernels/shortcut.h"

namespace yoke::cuda {

/// to[n, c, y, x] = from[n, c, (y - top) / step, (x - left) / step], where that exists, else
/// `value`; with `stride`, of y * stride and x * stride.
template <typename T>
struct PlaceBody {
  const T* from;
  T* to;
  Image source, target;
  int32_t top, left, step, stride;
  float value;
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    const Image::Place p = target.At(i);
    const int32_t y = p.y * stride - top, x = p.x * stride - left;
    const bool inside = y >= 0 && x >= 0 && y % step == 0 && x % step == 0 &&
                        y / step < source.height && x / step < source.width &&
                        p.c < source.channels;
    to[i] = inside ? from[source.Of(p.n, p.c, y / step, x / step)] : Narrow<T>(value);
  }
};

template <typename Grid>
class PadOn : public GridKernel<Grid, PadCall> {
 public:
  PadOn(const PadShape& shape, const Grid& grid) : GridKernel<Grid, PadCall>(grid), s_(shape) {}
  void Forward(const PadCall& call) override { Place(call.image, call.padded, 1); }
  void Backward(const PadCall& call) override { Place(call.padded, call.image, -1); }

 private:
  void Place(const Tensor& from, const Tensor& to, int32_t sign) {
    WithType(to.type, [&]<typename T>(T) {
      this->grid_.Each(to.Count(),
                       PlaceBody<T>{from.As<T>(), to.As<T>(), Image(from.shape, from.layout),
                                    Image(to.shape, to.layout), sign * static_cast<int32_t>(s_.top),
                                    sign * static_cast<int32_t>(s_.left), 1, 1, s_.value});
    });
  }

  PadShape s_;
};

template <typename Grid>
class ShortcutOn : public GridKernel<Grid, ShortcutCall> {
 public:
  ShortcutOn(const ShortcutShape& shape, const Grid& grid)
      : GridKernel<Grid, ShortcutCall>(grid), s_(shape) {}
  void Forward(const ShortcutCall& call) override {
    Place(call.input, s_.Input(), call.output, s_.Output(), 1, static_cast<int32_t>(s_.stride));
  }
  void Backward(const ShortcutCall& call) override {
    Place(call.output_gradient, s_.Output(), call.input_gradient, s_.Input(),
          static_cast<int32_t>(s_.stride), 1);
  }

 private:
  void Place(const void* from, const Shape& source, void* to, const Shape& target, int32_t step,
             int32_t stride) {
    WithType(s_.type, [&]<typename T>(T) {
      this->grid_.Each(
          target.Count(),
          PlaceBody<T>{static_cast<const T*>(from), static_cast<T*>(to), Image(source, s_.layout),
                       Image(target, s_.layout), 0, 0, step, stride, 0});
    });
  }

  ShortcutShape s_;
};

/// Output channel j * groups + i is input channel i * (channels / groups) + j.
template <typename T>
struct ShuffleBody {
  const T* from;
  T* to;
  Image size;
  int32_t groups;
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    const Image::Place p = size.At(i);
    const int32_t c = p.c % groups * (size.channels / groups) + p.c / groups;
    to[i] = from[size.Of(p.n, c, p.y, p.x)];
  }
};

template <typename Grid>
class ShuffleOn : public GridKernel<Grid, ShuffleCall> {
 public:
  ShuffleOn(const ShuffleShape& shape, const Grid& grid)
      : GridKernel<Grid, ShuffleCall>(grid), groups_(shape.groups) {}
  void Forward(const ShuffleCall& call) override { Shuffle(call, groups_); }
  void Backward(const ShuffleCall& call) override { Shuffle(call, call.input.shape[1] / groups_); }

 private:
  void Shuffle(const ShuffleCall& call, int64_t groups) {
    WithType(call.input.type, [&]<typename T>(T) {
      this->grid_.Each(
          call.input.Count(),
          ShuffleBody<T>{call.input.As<T>(), call.output.As<T>(),
                         Image(call.input.shape, call.input.layout), static_cast<int32_t>(groups)});
    });
  }

  int64_t groups_;
};

/// Copies between a part and its place in runs of the whole: element i of the part.
template <typename T>
struct RunBody {
  T* part;
  T* whole;
  int64_t run, step, offset;
  bool joins;
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    T& there = whole[i / run * step + offset + i % run];
    if (joins)
      there = part[i];
    else
      part[i] = there;
  }
};

template <typename Grid>
class ConcatenateOn : public GridKernel<Grid, ConcatenateCall> {
 public:
  ConcatenateOn(const NoShape& /*none*/, const Grid& grid)
      : GridKernel<Grid, ConcatenateCall>(grid) {}
  void Forward(const ConcatenateCall& call) override { Copy(call, true); }
  void Backward(const ConcatenateCall& call) override { Copy(call, false); }

 private:
  void Copy(const ConcatenateCall& call, bool joins) {
    const Tensor& whole = call.whole;
    const int64_t pixels = whole.Count() / Most(whole.shape[0] * whole.shape[1], 1);
    const int64_t run = whole.layout == Layout::kChannelsLast ? 1 : pixels;
    int64_t offset = 0;
    for (const Tensor& part : call.parts) {
      const int64_t own = part.shape[1] * run;
      if (part.data)
        WithType(whole.type, [&]<typename T>(T) {
          this->grid_.Each(part.Count(), RunBody<T>{part.As<T>(), whole.As<T>(), own,
                                                    whole.shape[1] * run, offset, joins});
        });
      offset += own;
    }
  }
};

/// The product of two tensors, or of an image and one value a channel.
template <typename T>
struct ProductBody {
  const T* x;
  const T* gate;
  T* to;
  Image size;
  bool gated;
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    int64_t at = i;
    if (gated) {
      const Image::Place p = size.At(i);
      at = int64_t{p.n} * size.channels + p.c;
    }
    to[i] = Narrow<T>(Wide(x[i]) * Wide(gate[at]));
  }
};

/// The sum over a channel's pixels of a * b (null: a alone), times `factor`: a team a channel of an
/// example.
template <typename T>
struct ChannelSumBody {
  const T* a;
  const T* b;
  T* to;
  Image size;
  float factor;
  template <typename Team>
  YOKE_HOST_DEVICE void operator()(Team& team, int64_t i) const {
    const int64_t n = i / size.channels, c = i % size.channels;
    const float sum = SumOf<float>(team, size.Pixels(), [&](int64_t p) {
      const int64_t at = size.Of(n, c, 0, 0) + p * (size.last ? size.channels : 1);
      return Wide(a[at]) * (b ? Wide(b[at]) : 1.0F);
    });
    team.Once([&] { to[i] = Narrow<T>(sum * factor); });
  }
};

template <typename Grid>
class MultiplyOn : public GridKernel<Grid, MultiplyCall> {
 public:
  MultiplyOn(const NoShape& /*none*/, const Grid& grid) : GridKernel<Grid, MultiplyCall>(grid) {}
  void Forward(const MultiplyCall& call) override {
    Check(call.x.type == call.gate.type && call.x.type == call.output.type,
          "products are of one type");
    Multiply(call.x, call.gate, call.output);
  }
  void Backward(const MultiplyCall& call) override {
    const Tensor& dy = call.output_gradient;
    if (call.gate_gradient.data && call.gate.Count() == call.x.Count())
      Multiply(dy, call.x, call.gate_gradient);
    else if (call.gate_gradient.data)
      WithType(call.x.type, [&]<typename T>(T) {
        const Image size(call.x.shape, call.x.layout);
        this->grid_.Teams(
            call.gate.Count(), ThreadsFor(size.Pixels()),
            ChannelSumBody<T>{call.x.As<T>(), dy.As<T>(), call.gate_gradient.As<T>(), size, 1});
      });
    if (call.x_gradient.data) Multiply(dy, call.gate, call.x_gradient);
  }

 private:
  void Multiply(const Tensor& x, const Tensor& gate, const Tensor& to) {
    WithType(x.type, [&]<typename T>(T) {
      const bool gated = gate.Count() != x.Count();
      this->grid_.Each(x.Count(),
                       ProductBody<T>{x.As<T>(), gate.As<T>(), to.As<T>(),
                                      gated ? Image(x.shape, x.layout) : Image(), gated});
    });
  }
};

template <typename T>
struct SpreadBody {
  const T* from;
  T* to;
  Image size;
  float factor;
  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    const Image::Place p = size.At(i);
    to[i] = Narrow<T>(factor * Wide(from[int64_t{p.n} * size.channels + p.c]));
  }
};

template <typename Grid>
class GlobalAverageOn : public GridKernel<Grid, GlobalAverageCall> {
 public:
  GlobalAverageOn(const NoShape& /*none*/, const Grid& grid)
      : GridKernel<Grid, GlobalAverageCall>(grid) {}
  void Forward(const GlobalAverageCall& call) override {
    WithType(call.image.type, [&]<typename T>(T) {
      const Image size(call.image.shape, call.image.layout);
      this->grid_.Teams(call.average.Count(), ThreadsFor(size.Pixels()),
                        ChannelSumBody<T>{call.image.As<T>(), nullptr, call.average.As<T>(), size,
                                          1 / static_cast<float>(size.Pixels())});
    });
  }
  void Backward(const GlobalAverageCall& call) override {
    WithType(call.image.type, [&]<typename T>(T) {
      const Image size(call.image.shape, call.image.layout);
      this->grid_.Each(call.image.Count(),
                       SpreadBody<T>{call.average.As<T>(), call.image.As<T>(), size,
                                     1 / static_cast<float>(size.Pixels())});
    });
  }
};

/// Stored bytes to input, of a crop that is mirrored, cut out and stretched (normalize.h).
struct NormalizeBody {
  const uint8_t* stored;
  float* input;
  Image size;
  ChannelScales scales;
  const ImageCrop* crops;

  YOKE_HOST_DEVICE void operator()(int64_t i) const {
    const Image::Place p = size.At(i);
    const float* const scale = scales.values + (scales.channels == 1 ? 0 : p.c);
    const float factor = scale[0], offset = scale[scales.channels];
    if (!crops) {
      input[i] = static_cast<float>(stored[i]) * factor + offset;
      return;
    }
    const ImageCrop crop = crops[p.n];
    const uint8_t* const plane = stored + size.Of(p.n, p.c, 0, 0);
    const auto pixel = [&](int64_t y, int64_t x) {
      if (y < 0 || y >= size.height || x < 0 || x >= size.width) return scale[2 * scales.channels];
      const int64_t column = crop.mirrored ? size.width - 1 - x : x;
      return static_cast<float>(plane[y * size.width + column]) * factor + offset;
    };
    if (crop.height == size.height && crop.width == size.width) {
      input[i] = pixel(crop.top + p.y, crop.left + p.x);
      return;
    }
    const Tap row = TapOf(crop.height, size.height, p.y);
    const Tap column = TapOf(crop.width, size.width, p.x);
    const auto along = [&](int64_t y) {
      return Between(pixel(y, crop.left + column.first), pixel(y, crop.left + column.second),
                     column.next);
    };
    input[i] = Between(along(crop.top + row.first), along(crop.top + row.second), row.next);
  }

 private:
  struct Tap {
    int64_t first, second;
    float next;
  };
  YOKE_HOST_DEVICE static Tap TapOf(int64_t from, int64_t to, int64_t i) {
    const double scale = static_cast<double>(from) / static_cast<double>(to);
    double place = (static_cast<double>(i) + 0.5) * scale - 0.5;
    place = place < 0 ? 0 : place;
    const auto first = static_cast<int64_t>(place);
    return {first, Least(first + 1, from - 1),
            static_cast<float>(place - static_cast<double>(first))};
  }
  YOKE_HOST_DEVICE static float Between(float first, float second, float next) {
    return first + next * (second - first);
  }
};

template <typename Grid>
class NormalizeOn : public GridKernel<Grid, NormalizeCall> {
 public:
  NormalizeOn(const NoShape& /*none*/, const Grid& grid) : GridKernel<Grid, NormalizeCall>(grid) {}
  void Forward(const NormalizeCall& call) override {
    Check(call.stored.type == DType::kU8, "what is normalized is stored in bytes");
    const Shape& shape = call.stored.shape;
    const Shape example = shape.rank() == 1 ? Shape({shape[0], 1}) : shape;
    this->grid_.Each(call.stored.Count(),
                     NormalizeBody{call.stored.As<uint8_t>(), call.input.As<float>(),
                                   Image(example, Layout::kPlain), call.scales, call.crops});
  }
};

}  // namespace yoke::cuda
