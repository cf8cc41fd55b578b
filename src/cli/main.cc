// The program `yoke`.
#include "base/memory.h"
#include "cli/program.h"
#include "kernels/threads.h"

int main(int count, char** words) {
  yoke::KeepFreedMemory();
  yoke::WaitBriefly(words);
  const yoke::FlushScope flush;
  return yoke::RunProgram({words + 1, words + count});
}
