// What output may not replace: files are compared by device and number, not by name.
#include "api/no_input.h"

#include <filesystem>

#include "base/check.h"
#include "train/record/run_directory.h"

namespace yoke {

void RequireNoInput(const std::string& path, const std::vector<std::string>& inputs) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return;  // OutputFile judges it
  for (const std::string& input : inputs)
    Require(!std::filesystem::equivalent(path, input, none),
            "{}: the output would replace the input {}; name another file", path, input);
  Require(!IsPartOfRun(path), "{}: the output would replace part of a run; name another file",
          path);
}

}  // namespace yoke
