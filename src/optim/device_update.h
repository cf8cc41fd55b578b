// DeviceUpdate: an update on the device that holds values, gradients and state: its kernels, and
// where their operands lie.
#pragma once

#include <memory>
#include <utility>

#include "optim/rule.h"

namespace yoke {

/// The addresses of a model's values, state arrays and dense gradient, on whatever device.
struct UpdateAddresses {
  UpdateAddresses(const ParamStore& params, const ApplyRequest& request);
  /// Elements [offset, offset + count).
  UpdateSpan At(int64_t offset, int64_t count) const;
  UpdateSpan DenseAt(int64_t offset, int64_t count) const;

  UpdateSpan all;
  const float* gradient;
};

/// The range of dense elements that these slices cover.
std::pair<int64_t, int64_t> DenseElements(const ParamLayout& layout, const SliceRange& slices);

/// The factor by which these gradients are at most `clip_norm` long.
double ClippedScale(double gradient_scale, double gradient_norm, double clip_norm);

/// Whether the device clips: a rule that tunes itself is told the clipped length on the host.
bool ClipsOnDevice(const ApplyRequest& request);

std::unique_ptr<Kernel<UpdateStart>> MakeUpdateStart(const Target& target);

/// Enqueues the sum of the squares of all gradients.
void SumSquares(const ParamStore& params, const ApplyRequest& request);

/// Enqueues the update after its start: one call for all dense slices, and one for each row-sparse
/// slice.
void UpdateOnDevice(const ParamStore& params, const ApplyRequest& request);

/// Enqueues the whole update, unless a captured step did (RuleState::captured).
void ApplyOnDevice(const ParamStore& params, const ApplyRequest& request, const UpdateStep& step);

}  // namespace yoke
