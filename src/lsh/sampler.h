// Sampler: which rows of a hashed layer a group of queries makes active.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "lsh/tables.h"

namespace yoke {

/// A group of queries.
struct SampleRequest {
  const HashTables* tables = nullptr;  ///< Null for `uniform`.
  const uint32_t* keys = nullptr;      ///< [examples, L]
  int64_t examples = 0;
  int64_t rows = 0;    ///< Ids are in [0, rows).
  int64_t wanted = 0;  ///< Most ids to append.
  int threshold = 2;   ///< For `threshold`: an id must be found so often.
};

/// Draws ids; keeps its scratch memory from call to call, so a thread has its own.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// Appends distinct ids to `ids`, none of which is there already; at most request.wanted. The
  /// result depends on the request, `ids` and the draws alone.
  virtual void Sample(const SampleRequest& request, Random random, std::vector<int32_t>& ids) = 0;
};

/// An entry of the list of samplers (src/lsh/samplers.def): vanilla, top_k, threshold, uniform.
struct SamplerEntry {
  std::string name;
  std::string summary;
  bool hashes = true;  ///< Needs tables.
  std::unique_ptr<Sampler> (*make)();
};
const std::vector<SamplerEntry>& samplers();

}  // namespace yoke
