// Normalize: makes a model's input of stored numbers, and of images the crops that augmentation
// draws.
#pragma once

#include <memory>

#include "kernels/kernel.h"
#include "tensor/batch.h"

namespace yoke {

struct NormalizeCall {
  ConstTensor stored;  ///< [batch, axes...], u8
  Tensor input;        ///< The same shape in f32.
  ChannelScales scales;
  const ImageCrop* crops = nullptr;  ///< Of each image; null: whole ones.

  int64_t Bytes() const { return stored.Count() * SizeOf(stored.type) + input.Bytes(); }
  template <typename Reach>
  void Addresses(const Reach& reach) {
    reach(stored.data, input.data, scales.values, crops);
  }
};

/// On the caller's kernel threads.
std::unique_ptr<Kernel<NormalizeCall>> MakeNormalize(const Target& target = {});

/// The same for one example of this shape, by the calling thread: of bytes or f32. A crop (null:
/// none) is of an image [channels, height, width]: mirrored, then cut out, what lies outside black,
/// then stretched by linear interpolation between the centres of pixels. One that lies partly
/// outside has the image's size and overlaps it.
template <typename T>
void NormalizeExample(const T* stored, const Shape& shape, const ChannelScales& scales,
                      const ImageCrop* crop, float* input);

}  // namespace yoke
