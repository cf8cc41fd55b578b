// A training step allocates nothing of 4 KiB or more once it is warm, and nothing of ours at all:
// every allocation of this program, the kernel library's included, is counted. (Sanitizers have an
// allocator of their own: not there.)
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "kernels/linear/linear.h"
#include "kernels/threads.h"
#include "node/support/job.h"

// The C library's own functions, behind the ones that are replaced below.
extern "C" {
void* __libc_malloc(size_t bytes);                      // NOLINT
void* __libc_calloc(size_t count, size_t bytes);        // NOLINT
void* __libc_realloc(void* memory, size_t bytes);       // NOLINT
void* __libc_memalign(size_t alignment, size_t bytes);  // NOLINT
}

namespace {

constexpr size_t kLarge = 4096;
std::atomic<bool> counting = false;
std::atomic<int64_t> large = 0;
std::atomic<int64_t> of_library = 0;  // oneDNN's large ones: it alone calls posix_memalign
std::atomic<int64_t> all = 0;

void Count(size_t bytes) {
  if (!counting) return;
  ++all;
  if (bytes >= kLarge) ++large;
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
  if (counting && bytes >= kLarge) ++of_library;
  *memory = memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}

}  // extern "C"

namespace yoke::allocation_test {

struct Counts {
  int64_t of_library = 0, of_others = 0;  ///< Large ones.
  int64_t all = 0;
};

/// Allocations in steps 3 to 10.
Counts Allocations(const testing_support::JobSettings& settings) {
  testing_support::Job job(settings);
  const Batch batch = testing_support::DrawnBatch(settings.batch, 0);
  large = of_library = all = 0;
  for (int step = 1; step <= 10; ++step) {
    counting = step >= 3;
    job.Step(batch);
  }
  counting = false;
  return {.of_library = of_library, .of_others = large - of_library, .all = all};
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

void ExpectNone(DType type, int64_t Counts::*large) {
  for (const char* model : {"mlp", "lenet"})
    for (int64_t batch : {1, 16})
      for (int threads : {1, 2}) {
        const Counts counts =
            Allocations({.model = model, .batch = batch, .arithmetic = type, .threads = threads});
        EXPECT_EQ(counts.*large, 0) << model << " batch " << batch << " threads " << threads;
      }
}

TEST(Allocations, NoLargeOneInAWarmStep) { ExpectNone(DType::kF32, &Counts::of_others); }

TEST(Allocations, NoLargeOneInAWarmStepInBf16) {
  if (!DescribeKernelLibrary().fast_bf16) GTEST_SKIP() << "this processor has no AVX512-BF16";
  ExpectNone(DType::kBf16, &Counts::of_others);
  ExpectNone(DType::kBf16, &Counts::of_library);
}

/// The products for AVX2 have no scratch memory that a caller could give: each thread allocates 16
/// KiB, or 232 KiB if it packs. With blocks kept from call to call the steps take as long.
TEST(Allocations, NoLargeOneOfTheLibrary) {
  const auto product = MakeLinear({.batch = 16, .inputs = 784, .outputs = 512});
  if (product->name().find("gemm:jit") != std::string::npos)
    GTEST_SKIP() << "oneDNN's products for AVX2 allocate what they pack";
  ExpectNone(DType::kF32, &Counts::of_library);
}

TEST(Allocations, NoneOfOurs) {  // reference kernels: without the library's own small ones
  for (int threads : {1, 2})
    EXPECT_EQ(Allocations({.batch = 2, .reference = true, .threads = threads}).all, 0) << threads;
}

}  // namespace yoke::allocation_test

#endif
