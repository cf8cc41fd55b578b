// Large: memory that tests of large sizes need, and numbers that take none.
#pragma once

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <span>
#include <string>

#include "base/check.h"
#include "base/resources.h"

namespace yoke {

/// Why a test that needs so much memory is skipped: the machine has less to give, or this process's
/// control groups allow less. Nothing where there is enough.
inline std::optional<std::string> LacksGibibytes(double needed) {
  std::ifstream file("/proc/meminfo");
  std::string name;
  double kibibytes = 0;
  for (std::string line; file >> name >> kibibytes && name != "MemAvailable:";)
    std::getline(file, line);
  const double there = std::min(kibibytes / (1 << 20), double(UsableMemory()) / (1 << 30));
  if (name == "MemAvailable:" && there >= needed) return {};
  return fmt::format("this test needs {:.1f} GiB of memory, and the machine has {:.1f} GiB to give",
                     needed, there);
}

/// Zeros, of which only those that are written take memory.
template <typename T>
class SparseZeros {
 public:
  explicit SparseZeros(int64_t count) : bytes_(count * sizeof(T)) {
    void* mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw Error("the system maps no memory for a test");
    values_ = {static_cast<T*>(mapped), static_cast<size_t>(count)};
  }
  ~SparseZeros() { munmap(values_.data(), bytes_); }
  SparseZeros(const SparseZeros&) = delete;
  SparseZeros& operator=(const SparseZeros&) = delete;

  std::span<T> values() const { return values_; }
  T& operator[](int64_t i) const { return values_[i]; }

 private:
  size_t bytes_;
  std::span<T> values_;
};

}  // namespace yoke
