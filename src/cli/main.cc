// The program `yoke`.
#include <malloc.h>

#include "cli/program.h"
#include "kernels/threads.h"

namespace {

/// Messages of some MB come and go with every exchange. Their memory stays with the process: given
/// back to the kernel it costs page faults each time, 7 to 14 % of a step of LeNet over MPI.
void KeepFreedMemory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // as far as malloc's own goes
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
}

}  // namespace

int main(int count, char** words) {
  KeepFreedMemory();
  yoke::WaitBriefly(words);
  const yoke::FlushScope flush;
  return yoke::RunProgram({words + 1, words + count});
}
