// Array: elements and the device whose memory holds them.
#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include "tensor/device.h"

namespace yoke {

/// Throws Error unless the device's memory is the host's: a device's is reached by copies and
/// kernels alone.
void RequireHost(const Device& device);

/// A view of elements in the memory of one device. Owns nothing.
template <typename T>
struct Array {
  Device* device = &Cpu();
  T* data = nullptr;  ///< An address of the device, for kernels; the host reads by Host().
  int64_t count = 0;

  /// The elements, for code that runs on the host. Throws Error elsewhere.
  std::span<T> Host() const {
    RequireHost(*device);
    return {data, static_cast<size_t>(count)};
  }
  bool OnHost() const { return device->IsHost(); }
  int64_t Bytes() const { return count * static_cast<int64_t>(sizeof(T)); }
  /// Elements [begin, end).
  Array Part(int64_t begin, int64_t end) const { return {device, data + begin, end - begin}; }
  Array First(int64_t n) const { return Part(0, n); }
  operator Array<const T>() const  // NOLINT(google-explicit-constructor)
      requires(!std::is_const_v<T>) {
    return {device, data, count};
  }
};

/// Elements in the host's memory as an array.
template <typename T>
Array<T> OnHost(std::span<T> values) {
  return {&Cpu(), values.data(), static_cast<int64_t>(values.size())};
}

/// Copies bytes between two memories, at least one of which is the host's or both the same device's
/// (there in the order of CurrentStream). With the host's, they are there when it returns.
void CopyBytes(Array<char> to, Array<const char> from);

/// Copies all elements likewise; both arrays are equally long.
template <typename T>
void Copy(Array<T> to, std::type_identity_t<Array<const T>> from) {
  CopyBytes({to.device, reinterpret_cast<char*>(to.data), to.Bytes()},
            {from.device, reinterpret_cast<const char*>(from.data), from.Bytes()});
}

/// All of a buffer's elements.
template <typename T>
Array<T> AllOf(const Buffer& buffer) {
  if (buffer.bytes() == 0) return {};
  return {&buffer.device(), buffer.As<T>(), buffer.bytes() / static_cast<int64_t>(sizeof(T))};
}

/// A zeroed buffer for as many elements, on the same device.
template <typename T>
Buffer BufferLike(Array<T> array) {
  return Buffer(*array.device, array.Bytes());
}

/// An array's elements for the host: the array itself where it lies there, otherwise a copy.
template <typename T>
class HostCopy {
 public:
  explicit HostCopy(Array<T> array)
      : array_(array), copy_(array.device->staging(), array.OnHost() ? 0 : array.Bytes()) {}

  /// Copies the elements from their device.
  void Read() {
    if (!array_.OnHost()) Copy(CopyOf(), array_);
  }
  /// Copies them back.
  void Write() {
    if (!array_.OnHost()) Copy(array_, CopyOf());
  }
  std::span<T> Host() const { return array_.OnHost() ? array_.Host() : CopyOf().Host(); }

 private:
  Array<std::remove_const_t<T>> CopyOf() const { return AllOf<std::remove_const_t<T>>(copy_); }

  Array<T> array_;
  Buffer copy_;
};

/// Several arrays, copied together.
class HostCopies {
 public:
  /// The array's elements; valid as long as the copies.
  std::span<float> Of(Array<float> array) {
    HostCopy<float>& copy = copies_.emplace_back(array);
    copy.Read();
    return copy.Host();
  }
  /// Copies all back.
  void Write() {
    for (HostCopy<float>& copy : copies_) copy.Write();
  }

 private:
  std::vector<HostCopy<float>> copies_;
};

}  // namespace yoke
