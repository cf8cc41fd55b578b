// Errors: the place is added to the sentence.
#include "base/check.h"

namespace yoke {

void Check(bool condition, std::string_view sentence, const char* file, int line) {
  if (!condition) throw Error(fmt::format("{} ({}:{})", sentence, file, line));
}

}  // namespace yoke
