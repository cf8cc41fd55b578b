// Arena: memory of a mock, whose addresses are never given out twice.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <map>

#include "base/check.h"

namespace yoke {

/// Address space that is given out once, from low to high, with faulting pages between.
class Arena {
 public:
  Arena() {
    begin_ = static_cast<char*>(
        mmap(nullptr, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    Check(begin_ != MAP_FAILED, "address space for a mock");
  }
  ~Arena() { munmap(begin_, kSize); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* Take(size_t bytes) {
    const size_t size = Pages(bytes);
    Check(next_ + size + kPage <= kSize, "address space for a mock");
    char* const memory = begin_ + next_;
    Check(mprotect(memory, size, PROT_READ | PROT_WRITE) == 0, "memory for a mock");
    std::memset(memory, 0xCD, bytes);
    next_ += size + kPage;
    pieces_[memory] = bytes;
    bytes_ += static_cast<int64_t>(bytes);
    return memory;
  }
  bool Return(void* memory) {
    const auto piece = pieces_.find(static_cast<char*>(memory));
    if (piece == pieces_.end()) return false;
    bytes_ -= static_cast<int64_t>(piece->second);
    madvise(memory, Pages(piece->second), MADV_DONTNEED);
    mprotect(memory, Pages(piece->second), PROT_NONE);
    pieces_.erase(piece);
    return true;
  }
  bool Covers(const void* address) const {
    const auto* const byte = static_cast<const char*>(address);
    return byte >= begin_ && byte < begin_ + kSize;
  }
  /// Whether all of it lies in one piece that is in use.
  bool Has(const void* address, size_t bytes) const {
    const auto* const byte = static_cast<const char*>(address);
    const auto after = pieces_.upper_bound(const_cast<char*>(byte));
    if (after == pieces_.begin()) return false;
    const auto& [begin, size] = *std::prev(after);
    return byte + bytes <= begin + size;
  }
  int64_t bytes() const { return bytes_; }

 private:
  static constexpr size_t kPage = 4096, kSize = size_t{1} << 37;
  static size_t Pages(size_t bytes) {
    return (std::max<size_t>(bytes, 1) + kPage - 1) / kPage * kPage;
  }

  char* begin_ = nullptr;
  size_t next_ = 0;
  std::map<char*, size_t> pieces_;
  int64_t bytes_ = 0;
};

}  // namespace yoke
