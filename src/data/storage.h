// GrowingArray: numbers of a data set in memory or, when they are many, in a temporary file that is
// mapped, or where they lie in a data file; random access every way. MapFile maps a data file.
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

/// Bytes that lie in memory as long as `owner` lives; page-aligned where they begin.
struct SharedBytes {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};

/// Maps a plain file for reading: nothing is copied, and the system reads ahead and may drop what
/// it can read again. Throws UserError when it cannot be opened, Error when it cannot be mapped.
SharedBytes MapFile(const std::string& path);

/// Page-aligned memory that grows by remapping. Up to `limit` bytes it is anonymous memory; beyond,
/// an unlinked file below $TMPDIR (or /tmp), so that the system may write it out.
class GrowingMemory {
 public:
  explicit GrowingMemory(int64_t limit) : limit_(limit) {}
  GrowingMemory(GrowingMemory&& other) noexcept { *this = std::move(other); }
  GrowingMemory& operator=(GrowingMemory&& other) noexcept;
  ~GrowingMemory();

  /// Makes room for `bytes` in all, keeping the content; new bytes are zero. Throws Error: no
  /// memory, no disk space.
  void Reserve(int64_t bytes);
  /// Shows the `bytes` bytes at `data`, which `owner` keeps alive, in place of the content. They
  /// are not to be written; Reserve copies them into memory of its own.
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
  std::shared_ptr<const void> owner_;  // of adopted bytes
};

/// Half of the memory that this process may use (machine, cgroup), in bytes: what data may hold
/// unless told.
int64_t DefaultMemoryLimit();

/// An array of plain numbers that is appended to. `limit`: the bytes it may hold in memory.
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
  /// Adds `count` elements (zeros) and returns where they begin; the pointer is valid until the
  /// array grows again.
  T* Extend(int64_t count) {
    if (size_ + count > capacity_) Reserve(size_ + count);
    size_ += count;
    return data() + size_ - count;
  }
  void Append(std::span<const T> values) {
    if (values.empty()) return;
    std::memcpy(Extend(static_cast<int64_t>(values.size())), values.data(), values.size_bytes());
  }
  /// Shows `values`, which `owner` keeps alive, in place of the content: to be read only, until the
  /// array grows and so copies them.
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
