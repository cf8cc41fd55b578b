// uniform: distinct random ids; no hashing, the baseline that hashing has to beat.
#include <algorithm>

#include "lsh/marks.h"
#include "lsh/sampler.h"

namespace yoke {
namespace {

class Uniform : public Sampler {
 public:
  void Sample(const SampleRequest& request, Random random, std::vector<int32_t>& ids) override {
    const auto open = request.rows - static_cast<int64_t>(ids.size());
    const int64_t wanted = std::clamp<int64_t>(request.wanted, 0, std::max<int64_t>(open, 0));
    const size_t enough = ids.size() + wanted;
    marks_.Begin(request.rows, ids);
    if (2 * wanted <= open)
      while (ids.size() < enough)
        marks_.Append(static_cast<int32_t>(random.Below(request.rows)), ids);
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

}  // namespace

namespace sampler {
SamplerEntry uniform() {
  return {.name = "uniform",
          .summary = "random ids without hashing: the baseline",
          .hashes = false,
          .make = []() -> std::unique_ptr<Sampler> { return std::make_unique<Uniform>(); }};
}
}  // namespace sampler

}  // namespace yoke
