// CapturedPass: a warm-up, a capture, and launches.
#include "node/captured_pass.h"

#include <utility>

namespace yoke {

bool HasFixedWork(const Batch& batch) {
  return batch.sparse.offsets.empty() && (!batch.classes.empty() || !batch.targets.empty());
}

PassAddresses AddressesOf(const SentBatch& batch, const ParamView& view) {
  const BatchArrays& there = batch.there;
  return {.examples = batch.batch.size,
          .epoch = batch.batch.epoch,
          .seed = batch.batch.seed,
          .type = there.dense().type,
          .addresses = {view.values.data, view.writable.data, view.bf16,
                        view.gradients ? view.gradients->dense().data : nullptr, there.dense().data,
                        there.labels().classes, there.labels().targets, there.labels().weights,
                        there.examples()}};
}

void CapturedPass::Run(const PassAddresses& now, const std::function<void()>& enqueue) {
  if (graph_ && now == captured_) return graph_->Launch();
  graph_.reset();
  if (std::exchange(last_, now) != now) return enqueue();
  capturing_->BeginCapture();
  try {
    enqueue();
  } catch (...) {
    capturing_->AbandonCapture();
    throw;
  }
  graph_ = capturing_->EndCapture();
  captured_ = now;
  graph_->Launch();
}

}  // namespace yoke
