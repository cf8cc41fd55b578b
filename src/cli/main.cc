// The program `yoke`.
#include "cli/program.h"
#include "kernels/threads.h"

int main(int count, char** words) {
  yoke::BeginProgram(words);
  return yoke::RunProgram({words + 1, words + count});
}
