// Program: finds the command, parses its arguments, runs it, and turns every failure into one line
// and an exit status.
#pragma once

#include <string>
#include <vector>

namespace yoke {

/// Runs `yoke WORDS...` on standard output and standard error; returns the exit status
/// (docs/command-line.md).
int RunProgram(const std::vector<std::string>& words);

}  // namespace yoke
