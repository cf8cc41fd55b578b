// Denormals: two bits of the register that controls vector arithmetic (x86-64's MXCSR).
#include "base/denormals.h"

#include <pmmintrin.h>

namespace yoke {
namespace {

constexpr uint32_t kFlush = _MM_FLUSH_ZERO_ON | _MM_DENORMALS_ZERO_ON;

}  // namespace

uint32_t FlushDenormals() {
  const uint32_t before = _mm_getcsr();
  _mm_setcsr(before | kFlush);
  return before;
}

void ComputeAs(uint32_t before) { _mm_setcsr((_mm_getcsr() & ~kFlush) | (before & kFlush)); }

bool FlushesDenormals() { return (_mm_getcsr() & kFlush) == kFlush; }

}  // namespace yoke
