// Array: elements and the device whose memory holds them, and the stream that orders copies of
// them.
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

/// The bytes of its elements.
template <typename T>
auto BytesOf(Array<T> array) {
  using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
  return Array<Byte>{array.device, reinterpret_cast<Byte*>(array.data), array.Bytes()};
}

/// Copies bytes between two memories, at least one of which is the host's or both the same device's
/// (there in the order of CurrentStream). With the host's, they are there when it returns.
void CopyBytes(Array<char> to, Array<const char> from);

/// Starts a copy in the order of CurrentStream. The host's memory must stay as it is until the copy
/// has run; take it from Device::staging().
void StartCopyBytes(Array<char> to, Array<const char> from);

/// Copies all elements likewise; both arrays are equally long.
template <typename T>
void Copy(Array<T> to, std::type_identity_t<Array<const T>> from) {
  CopyBytes(BytesOf(to), BytesOf(from));
}
template <typename T>
void StartCopy(Array<T> to, std::type_identity_t<Array<const T>> from) {
  StartCopyBytes(BytesOf(to), BytesOf(from));
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

/// Arrays' elements for the host, one array at a time, in memory that is kept from call to call.
class HostCopy {
 public:
  /// The elements themselves where they lie on the host; otherwise memory for a copy, which is
  /// valid until the next call. All arrays are of one device.
  template <typename T>
  std::span<T> Of(Array<T> array) {
    return array.OnHost() ? array.Host() : MemoryFor(array).Host();
  }
  /// The same, with the elements as they are.
  template <typename T>
  std::span<T> Read(Array<T> array) {
    if (!array.OnHost()) Copy(MemoryFor(array), array);
    return Of(array);
  }
  /// Copies them back.
  template <typename T>
  void Write(Array<T> array) {
    if (!array.OnHost()) Copy(array, MemoryFor(array));
  }

 private:
  template <typename T>
  Array<std::remove_const_t<T>> MemoryFor(Array<T> array) {
    if (memory_.bytes() < array.Bytes()) memory_ = Buffer(array.device->staging(), array.Bytes());
    return AllOf<std::remove_const_t<T>>(memory_).First(array.count);
  }

  Buffer memory_;
};

/// Several arrays, copied together.
class HostCopies {
 public:
  /// The array's elements; valid as long as the copies.
  template <typename T>
  std::span<T> Of(Array<T> array) {
    Copied& copied = copies_.emplace_back();
    copied.bytes = {array.device, reinterpret_cast<char*>(array.data), array.Bytes()};
    return copied.copy.Read(array);
  }
  /// Copies all back.
  void Write() {
    for (Copied& copied : copies_) copied.copy.Write(copied.bytes);
  }

 private:
  struct Copied {
    Array<char> bytes;
    HostCopy copy;
  };
  std::vector<Copied> copies_;
};

/// Device::stream(), unless this thread is Beside it.
Stream& CurrentStream(Device& device);

/// While it lives, this thread's copies and vectors on the device go to another stream: they run
/// beside training. One at a time on a thread.
class Beside {
 public:
  Beside(Device& device, Stream& stream);
  ~Beside();
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
};

}  // namespace yoke
