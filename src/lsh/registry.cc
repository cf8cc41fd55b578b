// The lists of hash families and samplers: each .def file once as declarations, once as the table.
#include "lsh/family.h"
#include "lsh/sampler.h"

namespace yoke {

namespace family {
#define YOKE_FAMILY(name) HashFamilyEntry name();
#include "lsh/families.def"
#undef YOKE_FAMILY
}  // namespace family

namespace sampler {
#define YOKE_SAMPLER(name) SamplerEntry name();
#include "lsh/samplers.def"
#undef YOKE_SAMPLER
}  // namespace sampler

const std::vector<HashFamilyEntry>& hash_families() {
  static const std::vector<HashFamilyEntry> entries = {
#define YOKE_FAMILY(name) family::name(),
#include "lsh/families.def"
#undef YOKE_FAMILY
  };
  return entries;
}

const std::vector<SamplerEntry>& samplers() {
  static const std::vector<SamplerEntry> entries = {
#define YOKE_SAMPLER(name) sampler::name(),
#include "lsh/samplers.def"
#undef YOKE_SAMPLER
  };
  return entries;
}

}  // namespace yoke
