// The program `yoke`.
#include "cli/program.h"

int main(int count, char** words) { return yoke::RunProgram({words + 1, words + count}); }
