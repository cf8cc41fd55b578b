// vanilla: whatever the buckets hold, tables in random order, until there are enough ids.
#include "lsh/marks.h"
#include "lsh/sampler.h"

namespace yoke {
namespace {

class Vanilla : public Sampler {
 public:
  void Sample(const SampleRequest& request, Random random, std::vector<int32_t>& ids) override {
    marks_.Begin(request.rows, ids);
    const size_t enough = ids.size() + std::max<int64_t>(request.wanted, 0);
    for (int64_t table : Permutation(request.tables->shape().tables, random))
      AppendTable(request, static_cast<int>(table), enough, ids);
    marks_.End(ids);
  }

 private:
  void AppendTable(const SampleRequest& request, int table, size_t enough,
                   std::vector<int32_t>& ids) {
    const int64_t tables = request.tables->shape().tables;
    for (int64_t n = 0; n < request.examples; ++n)
      for (const int32_t& slot : request.tables->Bucket(table, request.keys[n * tables + table])) {
        if (ids.size() >= enough) return;
        const int32_t id = HashTables::Read(slot);
        if (id >= 0) marks_.Append(id, ids);
      }
  }

  Marks marks_;
};

}  // namespace

namespace sampler {
SamplerEntry vanilla() {
  return {
      .name = "vanilla",
      .summary = "the ids of the group's buckets, tables in random order, until enough are found",
      .make = []() -> std::unique_ptr<Sampler> { return std::make_unique<Vanilla>(); }};
}
}  // namespace sampler

}  // namespace yoke
