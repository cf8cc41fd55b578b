// The flat loops as the compiler vectorizes them, for x86-64-v3.
#include "bench/slide_loops_body.h"

namespace yoke::bench {
FlatLoops VectorLoops() { return kLoops; }
}  // namespace yoke::bench
