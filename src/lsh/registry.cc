// The list of hash families: its .def file once as declarations, once as the table.
#include "lsh/family.h"

namespace yoke {

namespace family {
#define YOKE_FAMILY(name) HashFamilyEntry name();
#include "lsh/families.def"
#undef YOKE_FAMILY
}  // namespace family

const std::vector<HashFamilyEntry>& hash_families() {
  static const std::vector<HashFamilyEntry> entries = {
#define YOKE_FAMILY(name) family::name(),
#include "lsh/families.def"
#undef YOKE_FAMILY
  };
  return entries;
}

}  // namespace yoke
