// threshold: the ids found at least `threshold` times in the group's buckets.
#include "lsh/counter.h"

namespace yoke {
namespace {

class Threshold : public Sampler {
 public:
  void Sample(const SampleRequest& request, Random, std::vector<int32_t>& ids) override {
    counter_.Take(request, request.threshold, ids);
  }

 private:
  Counter counter_;
};

}  // namespace

namespace sampler {
SamplerEntry threshold() {
  return {.name = "threshold",
          .summary = "the ids found at least `threshold` times in the group's buckets",
          .takes_threshold = true,
          .make = []() -> std::unique_ptr<Sampler> { return std::make_unique<Threshold>(); }};
}
}  // namespace sampler

}  // namespace yoke
