// GrowingBuffer: memory of a target for arrays whose lengths change from call to call.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensor/device.h"

namespace yoke {

/// It only grows. What it outgrew stays, because work under way may use it.
class GrowingBuffer {
 public:
  explicit GrowingBuffer(const Target& target) : target_(target) {}

  /// Memory for so many elements; null for none.
  template <typename T>
  T* Reserve(int64_t count) {
    const auto bytes = count * static_cast<int64_t>(sizeof(T));
    if (buffer_.bytes() < bytes) {
      const int64_t more = std::max(bytes, buffer_.bytes() + buffer_.bytes() / 2);
      outgrown_.push_back(std::move(buffer_));
      buffer_ = Buffer(*target_.device, more);
    }
    return count > 0 ? buffer_.As<T>() : nullptr;
  }

  /// Elements that fit without growing.
  template <typename T>
  int64_t Capacity() const {
    return buffer_.bytes() / static_cast<int64_t>(sizeof(T));
  }

  /// The host's elements where the target computes: on the host themselves; on another device a
  /// copy, so they must stay as they are until the stream has waited.
  template <typename T>
  T* Of(T* from, int64_t count) {
    if (target_.device->IsHost()) return from;
    if (!from || count == 0) return nullptr;
    auto* const to = Reserve<std::remove_const_t<T>>(count);
    target_.stream->Copy(to, from, count * static_cast<int64_t>(sizeof(T)));
    return to;
  }
  template <typename T>
  const T* Of(const std::vector<T>& from) {
    return Of(from.data(), static_cast<int64_t>(from.size()));
  }

 private:
  Target target_;
  Buffer buffer_;
  std::vector<Buffer> outgrown_;
};

}  // namespace yoke
