// WrappedPlan: a plan that adds something to what another computes, with its memory and output.
#pragma once

#include <memory>
#include <utility>

#include "model/layer.h"

namespace yoke::layer {

class WrappedPlan : public LayerPlan {
 public:
  explicit WrappedPlan(std::unique_ptr<LayerPlan> plan) : plan_(std::move(plan)) {
    output = plan_->output;
    saved_bytes = plan_->saved_bytes;
    scratch_bytes = plan_->scratch_bytes;
    reads_input = plan_->reads_input;
    reads_output = plan_->reads_output;
    kernel = plan_->kernel;
  }

 protected:
  LayerPlan& plan() const { return *plan_; }

 private:
  std::unique_ptr<LayerPlan> plan_;
};

}  // namespace yoke::layer
