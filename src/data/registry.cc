// The table of formats, in the order of formats.def.
#include "data/reader.h"

namespace yoke {

#define YOKE_FORMAT(name) FormatEntry name##_format();
#include "data/formats.def"
#undef YOKE_FORMAT

const std::vector<FormatEntry>& formats() {
  static const std::vector<FormatEntry> entries = {
#define YOKE_FORMAT(name) name##_format(),
#include "data/formats.def"
#undef YOKE_FORMAT
  };
  return entries;
}

}  // namespace yoke
