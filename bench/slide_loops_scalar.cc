// The flat loops, an element an instruction: compiled without vectorization.
#include "bench/slide_loops_body.h"

namespace yoke::bench {
FlatLoops ScalarLoops() { return kLoops; }
}  // namespace yoke::bench
