// GrowingArray: elements of a data set with random access: in memory, in a mapped temporary file if
// they are many, or directly in a data file. MapFile maps a data file.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace yoke {

/// Bytes that are valid as long as `owner` lives. They start on a page boundary.
struct SharedBytes {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};

/// Maps a plain file for reading without a copy. The system reads ahead and may drop pages that it
/// can read again. Throws UserError if it cannot be opened, Error if it cannot be mapped.
SharedBytes MapFile(const std::string& path);

/// Page-aligned memory that grows by remapping. Up to `limit` bytes it is anonymous memory; beyond,
/// an unlinked file in $TMPDIR (or /tmp), so that the system can write it out.
class GrowingMemory {
 public:
  explicit GrowingMemory(int64_t limit) : limit_(limit) {}
  GrowingMemory(GrowingMemory&& other) noexcept { *this = std::move(other); }
  GrowingMemory& operator=(GrowingMemory&& other) noexcept;
  ~GrowingMemory();

  /// Grows to at least `bytes` in total and keeps the content; new bytes are zero. Throws Error
  /// without memory or disk space.
  void Reserve(int64_t bytes);
  /// Replaces the content by the `bytes` bytes at `data`, which `owner` keeps alive. They must not
  /// be written; Reserve copies them into its own memory.
  void Adopt(const void* data, int64_t bytes, std::shared_ptr<const void> owner);
  void* data() const { return data_; }
  int64_t capacity() const { return capacity_; }
  bool in_file() const { return file_ >= 0; }

 private:
  void MoveToFile(int64_t bytes);
  void Grow(int64_t bytes);
  void CopyAdopted(int64_t bytes);

  int64_t limit_ = 0;
  void* data_ = nullptr;
  int64_t capacity_ = 0;
  int file_ = -1;
  std::shared_ptr<const void> owner_;  // owner of adopted bytes
};

/// Half of the memory that this process may use (machine, cgroup), in bytes: the default limit for
/// data.
int64_t DefaultMemoryLimit();

/// An array of plain elements that can grow. `limit` is the number of bytes that it may hold in
/// memory.
template <typename T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit GrowingArray(int64_t limit = INT64_MAX) : memory_(limit) {}

  int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return static_cast<T*>(memory_.data()); }
  const T* data() const { return static_cast<const T*>(memory_.data()); }
  T& operator[](int64_t i) { return data()[i]; }
  const T& operator[](int64_t i) const { return data()[i]; }
  std::span<T> span() { return {data(), static_cast<size_t>(size_)}; }
  std::span<const T> span() const { return {data(), static_cast<size_t>(size_)}; }
  bool in_file() const { return memory_.in_file(); }

  void push_back(T value) {
    if (size_ == capacity_) Reserve(size_ + 1);
    data()[size_++] = value;
  }
  /// Appends `count` zero elements and returns a pointer to them, which is valid until the array
  /// grows again.
  T* Extend(int64_t count) {
    if (size_ + count > capacity_) Reserve(size_ + count);
    size_ += count;
    return data() + size_ - count;
  }
  /// Removes the last `count` elements, which must be zero.
  void Remove(int64_t count) { size_ -= count; }
  void Append(std::span<const T> values) {
    if (values.empty()) return;
    std::memcpy(Extend(static_cast<int64_t>(values.size())), values.data(), values.size_bytes());
  }
  /// Replaces the content by `values`, which `owner` keeps alive. They are read-only until the
  /// array grows, which copies them.
  void Adopt(std::span<const T> values, const std::shared_ptr<const void>& owner) {
    size_ = capacity_ = static_cast<int64_t>(values.size());
    memory_.Adopt(values.data(), static_cast<int64_t>(values.size_bytes()), owner);
  }

 private:
  void Reserve(int64_t count) {
    memory_.Reserve(count * static_cast<int64_t>(sizeof(T)));
    capacity_ = memory_.capacity() / static_cast<int64_t>(sizeof(T));
  }

  GrowingMemory memory_;
  int64_t size_ = 0;
  int64_t capacity_ = 0;
};

}  // namespace yoke
