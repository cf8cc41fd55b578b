// A training step allocates nothing of 4 KiB or more once it is warm, and nothing of ours at all:
// every allocation of this program, the kernel library's included, is counted. (Sanitizers have an
// allocator of their own: not there.)
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "node/support/job.h"

// The C library's own functions, behind the ones that are replaced below.
extern "C" {
void* __libc_malloc(size_t bytes);                      // NOLINT
void* __libc_calloc(size_t count, size_t bytes);        // NOLINT
void* __libc_realloc(void* memory, size_t bytes);       // NOLINT
void* __libc_memalign(size_t alignment, size_t bytes);  // NOLINT
}

namespace {

std::atomic<bool> counting = false;
std::atomic<int64_t> large = 0;
std::atomic<int64_t> all = 0;

void Count(size_t bytes) {
  if (!counting) return;
  ++all;
  if (bytes >= 4096) ++large;
}

}  // namespace

extern "C" {

void* malloc(size_t bytes) {  // NOLINT
  Count(bytes);
  return __libc_malloc(bytes);
}

void* calloc(size_t count, size_t bytes) {  // NOLINT
  Count(count * bytes);
  return __libc_calloc(count, bytes);
}

void* realloc(void* memory, size_t bytes) {  // NOLINT
  Count(bytes);
  return __libc_realloc(memory, bytes);
}

void* memalign(size_t alignment, size_t bytes) {  // NOLINT
  Count(bytes);
  return __libc_memalign(alignment, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}  // NOLINT

int posix_memalign(void** memory, size_t alignment, size_t bytes) {  // NOLINT
  *memory = memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}

}  // extern "C"

namespace yoke::allocation_test {

struct Counts {
  int64_t large = 0;
  int64_t all = 0;
};

/// Allocations in steps 3 to 10.
Counts Allocations(const testing_support::JobSettings& settings) {
  testing_support::Job job(settings);
  const Batch batch = testing_support::DrawnBatch(settings.batch, 0);
  large = all = 0;
  for (int step = 1; step <= 10; ++step) {
    counting = step >= 3;
    job.Step(batch);
  }
  counting = false;
  return {large, all};
}

TEST(Allocations, TheCounterCounts) {
  const Buffer first(Cpu(), 64);  // the device has read how much memory there is
  large = all = 0;
  counting = true;
  const Buffer buffer(Cpu(), 8192);
  std::vector<char> bytes(10);
  counting = false;
  EXPECT_EQ(large, 1);
  EXPECT_GE(all, 2);
}

TEST(Allocations, NoLargeOneInAWarmStep) {
  for (const char* model : {"mlp", "lenet"})
    for (DType type : {DType::kF32, DType::kBf16})
      for (int64_t batch : {1, 16}) {
        const Counts counts = Allocations({.model = model, .batch = batch, .arithmetic = type});
        EXPECT_EQ(counts.large, 0) << model << " " << NameOf(type) << " batch " << batch;
        RecordProperty(std::string(model) + std::to_string(batch), std::to_string(counts.all));
      }
}

TEST(Allocations, NoneOfOurs) {  // reference kernels: without the library's own small ones
  EXPECT_EQ(Allocations({.model = "mlp", .batch = 2, .reference = true}).all, 0);
}

}  // namespace yoke::allocation_test

#endif
