// Sampler: selects the rows of a hashed layer that are active for a group of queries.
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
  int64_t wanted = 0;  ///< Maximum number of ids to append.
  int threshold = 2;   ///< For `threshold`: how often an id must be found.
};

/// Draws ids. It keeps scratch memory between calls, so each thread needs its own.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// Appends at most request.wanted distinct ids that are not yet in `ids`. The result depends only
  /// on the request, `ids` and the random draws.
  void Sample(const SampleRequest& request, Random random, std::vector<int32_t>& ids) {
    Begin(request, 1);
    Count(0, ids);
    Append(random, ids);
  }

  // The same in three moves, with the same result for any number of parts.

  /// The request's keys are read until Append has returned. `parts` is a power of two.
  virtual void Begin(const SampleRequest& request, int64_t /*parts*/) { request_ = request; }
  /// Threads may count parts at the same time.
  virtual void Count(int64_t /*part*/, const std::vector<int32_t>& /*ids*/) {}
  virtual void Append(Random random, std::vector<int32_t>& ids) = 0;

 protected:
  SampleRequest request_;
};

/// An entry of the list of samplers: vanilla, top_k, threshold, uniform.
struct SamplerEntry {
  std::string name;
  std::string summary;
  bool hashes = true;            ///< Needs tables.
  bool takes_threshold = false;  ///< Reads SampleRequest::threshold.
  int64_t bytes_a_row = 1;       ///< Scratch memory that it keeps, about.
  std::unique_ptr<Sampler> (*make)();
};
const std::vector<SamplerEntry>& samplers();

}  // namespace yoke
