// top_k: the ids that the group's buckets hold most often.
#include "lsh/counter.h"

namespace yoke {
namespace {

class TopK : public Sampler {
 public:
  void Sample(const SampleRequest& request, Random, std::vector<int32_t>& ids) override {
    counter_.Take(request, 1, ids);
  }

 private:
  Counter counter_;
};

}  // namespace

namespace sampler {
SamplerEntry top_k() {
  return {.name = "top_k",
          .summary = "the ids found most often in the group's buckets",
          .make = []() -> std::unique_ptr<Sampler> { return std::make_unique<TopK>(); }};
}
}  // namespace sampler

}  // namespace yoke
