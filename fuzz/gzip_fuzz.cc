// Any bytes as a gzip file: what comes out does not depend on the pieces in which they come.
// guards: src/data
#include <cstdint>
#include <cstdlib>

#include "base/check.h"
#include "data/archive.h"

namespace yoke {
namespace {

// The content, or the sentence of the refusal.
std::string Outcome(std::string_view bytes, size_t piece) {
  constexpr size_t kMost = 1 << 24;
  const auto source = Gunzip(MemorySource(bytes, "x.gz", piece));
  std::string content;
  try {
    for (std::string_view next; content.size() < kMost && !(next = source->Next()).empty();)
      content += next;
  } catch (const UserError& error) {
    return error.what();
  }
  return content;
}

}  // namespace
}  // namespace yoke

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (yoke::Outcome(text, size + 1) != yoke::Outcome(text, 3)) std::abort();
  return 0;
}
