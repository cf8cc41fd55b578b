// CapturedPasses: a warm-up of each plan, a capture for each place, and launches.
#include "node/captured_pass.h"

#include <algorithm>
#include <utility>

namespace yoke {

PassAddresses AddressesOf(const SentBatch& batch, const ParamView& view) {
  const BatchArrays& there = batch.there;
  const Labels& labels = there.labels();
  return {.plan = {},
          .seed = batch.batch.seed,
          .type = there.dense().type,
          .addresses = {view.values.data, view.writable.data, view.bf16,
                        view.gradients ? view.gradients->dense().data : nullptr, there.dense().data,
                        there.scales().values, there.crops(), there.sparse().offsets,
                        there.sparse().ids, there.sparse().values, labels.classes,
                        labels.sets.offsets, labels.sets.ids, labels.targets, labels.weights,
                        there.examples(), there.epoch()}};
}

bool CapturedPasses::Run(const PassAddresses& now, const std::function<void()>& enqueue) {
  launched_ = true;
  const auto known = std::ranges::find(captured_, now, &Captured::of);
  if (known != captured_.end()) {
    std::rotate(known, known + 1, captured_.end());
    captured_.back().work->Launch();
    return false;
  }
  if (!IsWarm(now.plan)) {
    launched_ = false;
    enqueue();
    return true;
  }
  if (captured_.size() == kMost) captured_.erase(captured_.begin());
  captured_.push_back({now, Capture(enqueue)});
  captured_.back().work->Launch();
  return true;
}

/// From now on it is.
bool CapturedPasses::IsWarm(const std::shared_ptr<const void>& plan) {
  const auto known = std::ranges::find(warm_, plan);
  const bool warm = known != warm_.end();
  if (warm) warm_.erase(known);
  if (warm_.size() == kMost) warm_.erase(warm_.begin());
  warm_.push_back(plan);
  return warm;
}

std::unique_ptr<CapturedWork> CapturedPasses::Capture(const std::function<void()>& enqueue) {
  capturing_->BeginCapture();
  try {
    enqueue();
  } catch (...) {
    capturing_->AbandonCapture();
    throw;
  }
  return capturing_->EndCapture();
}

}  // namespace yoke
