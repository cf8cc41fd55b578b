// The samplers: which ids of a group's buckets become active, and the baseline without hashing.
#include <algorithm>

#include "lsh/counter.h"
#include "lsh/marks.h"
#include "lsh/sampler.h"

namespace yoke {
namespace {

constexpr int64_t kCounterBytes = 10;  ///< A row: its count, and its id and place as they are met.

/// Whatever the buckets hold, tables in random order, until there are enough ids.
class Vanilla : public Sampler {
 public:
  void Append(Random random, std::vector<int32_t>& ids) override {
    marks_.Begin(request_.rows, ids);
    const size_t enough = ids.size() + std::max<int64_t>(request_.wanted, 0);
    for (int64_t table : Permutation(request_.tables->shape().tables, random))
      AppendTable(static_cast<int>(table), enough, ids);
    marks_.End(ids);
  }

 private:
  void AppendTable(int table, size_t enough, std::vector<int32_t>& ids) {
    const int64_t tables = request_.tables->shape().tables;
    for (int64_t n = 0; n < request_.examples; ++n)
      for (const int32_t& slot :
           request_.tables->Bucket(table, request_.keys[n * tables + table])) {
        if (ids.size() >= enough) return;
        const int32_t id = HashTables::Read(slot);
        if (id >= 0) marks_.Append(id, ids);
      }
  }

  Marks marks_;
};

/// Ids by how often the buckets hold them: at least once, or at least `threshold` times.
template <bool threshold>
class Frequent : public Sampler {
 public:
  void Begin(const SampleRequest& request, int64_t parts) override {
    least_ = threshold ? request.threshold : 1;
    counter_.Begin(request, parts);
  }
  void Count(int64_t part, const std::vector<int32_t>& ids) override {
    counter_.Count(part, least_, ids);
  }
  void Append(Random, std::vector<int32_t>& ids) override { counter_.Append(ids); }

 private:
  Counter counter_;
  int least_ = 1;
};

/// Distinct random ids; no hashing, the baseline that hashing has to beat.
class Uniform : public Sampler {
 public:
  void Append(Random random, std::vector<int32_t>& ids) override {
    const auto open = request_.rows - static_cast<int64_t>(ids.size());
    const int64_t wanted = std::clamp<int64_t>(request_.wanted, 0, std::max<int64_t>(open, 0));
    const size_t enough = ids.size() + wanted;
    marks_.Begin(request_.rows, ids);
    if (2 * wanted <= open)
      while (ids.size() < enough)
        marks_.Append(static_cast<int32_t>(random.Below(request_.rows)), ids);
    else
      Select(wanted, open, random, ids);
    marks_.End(ids);
  }

 private:
  /// Knuth's algorithm S over the open ids: each stays with probability wanted / open.
  void Select(int64_t wanted, int64_t open, Random random, std::vector<int32_t>& ids) {
    for (int32_t id = 0; wanted > 0; ++id) {
      if (marks_.Has(id)) continue;
      const bool take = static_cast<int64_t>(random.Below(open--)) < wanted;
      if (!take) continue;
      marks_.Append(id, ids);
      --wanted;
    }
  }

  Marks marks_;
};

template <typename Kind>
std::unique_ptr<Sampler> MakeSampler() {
  return std::make_unique<Kind>();
}

}  // namespace

const std::vector<SamplerEntry>& samplers() {
  static const std::vector<SamplerEntry> entries = {
      {.name = "vanilla",
       .summary = "the ids of the group's buckets, tables in random order, until enough are found",
       .make = MakeSampler<Vanilla>},
      {.name = "top_k",
       .summary = "the ids found most often in the group's buckets",
       .bytes_a_row = kCounterBytes,
       .make = MakeSampler<Frequent<false>>},
      {.name = "threshold",
       .summary = "the ids found at least `threshold` times in the group's buckets",
       .takes_threshold = true,
       .bytes_a_row = kCounterBytes,
       .make = MakeSampler<Frequent<true>>},
      {.name = "uniform",
       .summary = "random ids without hashing: the baseline",
       .hashes = false,
       .make = MakeSampler<Uniform>}};
  return entries;
}

}  // namespace yoke
