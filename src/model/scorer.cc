// Scorer: a device's scores are copied to staging memory that is kept.
#include "model/scorer.h"

namespace yoke {

Scorer::Scorer(const Graph& graph, CompileRequest request)
    : device_(*request.target.device), stream_(device_.NewStream()) {
  request.target.stream = stream_.get();
  plan_ = graph.Compile(request);
}

std::span<float> Scorer::Forward(const Batch& batch, const ParamView& params) {
  plan_->PrepareAndForward(batch, params);
  const Tensor scores = plan_->Scores();
  if (device_.IsHost()) return {scores.As<float>(), static_cast<size_t>(scores.Count())};
  if (copy_.bytes() == 0) copy_ = Buffer(device_.staging(), scores.Bytes());
  stream_->Copy(copy_.data(), scores.data, scores.Bytes());
  stream_->Wait();
  return AllOf<float>(copy_).Host();
}

}  // namespace yoke
