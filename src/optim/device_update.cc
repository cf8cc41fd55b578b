// DeviceUpdate: squares if gradients are clipped, the start with the step's numbers, then all
// elements.
#include "optim/device_update.h"

#include <algorithm>
#include <cmath>

#include "kernels/makers.h"
#include "kernels/vectors.h"
#include "optim/captured_update.h"

namespace yoke {
namespace {

/// Sets the scalars of an update.
struct StartLoop {
  using Call = UpdateStart;
  static void Forward(const Call& call) {
    UpdateStep& step = call.scalars->step;
    if (call.starts) step = call.step;
    if (call.clip_norm > 0)
      step.gradient_scale = ClippedScale(step.gradient_scale,
                                         std::sqrt(call.scalars->squares.gradient), call.clip_norm);
  }
};

const KernelList<UpdateStart, NoShape> kUpdateStart("update start",
                                                    {.backward = false, .bf16 = false},
                                                    {{"cuda", "cuda", cuda::Make},
                                                     {"loops", LoopsOf<StartLoop>}});

void UpdateRowsOnDevice(const Slice& slice, int index, const UpdateSpan& first,
                        const ApplyRequest& request) {
  const RowGradient& rows = request.gradients.rows(index);
  const int64_t most = rows.counted_there ? rows.most_there : rows.ids_there.count;
  if (most == 0) return;
  UpdateCall call = {.span = first,
                     .scalars = request.state.on_device(),
                     .settings = request.state.Of(static_cast<size_t>(index)),
                     .rows = most,
                     .counted = rows.counted_there,
                     .ids = rows.ids_there.data,
                     .steps = request.state.row_steps(index).data};
  call.span.count = slice.RowWidth();
  call.span.gradient = rows.values_there.data;
  request.state.update()->Forward(call);
}

}  // namespace

UpdateAddresses::UpdateAddresses(const ParamStore& params, const ApplyRequest& request)
    : all{.values = params.values().data}, gradient(request.gradients.dense().data) {
  for (size_t i = 0; i < request.state.names().size(); ++i)
    all.state[i] = request.state.array(static_cast<int>(i)).data;
}

UpdateSpan UpdateAddresses::At(int64_t offset, int64_t count) const {
  UpdateSpan span = all;
  span.values += offset;
  for (float*& state : span.state)
    if (state) state += offset;
  span.count = count;
  return span;
}

UpdateSpan UpdateAddresses::DenseAt(int64_t offset, int64_t count) const {
  UpdateSpan span = At(offset, count);
  span.gradient = gradient + offset;
  return span;
}

std::pair<int64_t, int64_t> DenseElements(const ParamLayout& layout, const SliceRange& slices) {
  int64_t begin = layout.dense_size(), end = 0;
  for (size_t i = 0; i < layout.slices().size(); ++i) {
    const Slice& slice = layout.slices()[i];
    if (slice.kind != SliceKind::kDense || !slices.Has(i)) continue;
    begin = std::min(begin, slice.offset);
    end = std::max(end, slice.offset + layout.Extent(slice));
  }
  return {std::min(begin, end), end};
}

double ClippedScale(double gradient_scale, double gradient_norm, double clip_norm) {
  const double norm = gradient_scale * gradient_norm;
  return gradient_scale * (norm > clip_norm ? clip_norm / norm : 1);
}

bool ClipsOnDevice(const ApplyRequest& request) {
  return request.clip_norm > 0 && request.rule.Scalars() == 0 && request.state.on_device();
}

const OperationEntry& UpdateStartOperation() { return kUpdateStart; }

std::unique_ptr<Kernel<UpdateStart>> MakeUpdateStart(const Target& target) {
  return kUpdateStart.Make({}, target);
}

void SumSquares(const ParamStore& params, const ApplyRequest& request) {
  const ParamLayout& layout = params.layout();
  double* const sum = &request.state.on_device()->squares.gradient;
  const auto [begin, end] = DenseElements(layout, request.slices);
  const Array<const float> none = params.values().First(0);
  SquareSum(begin < end ? request.gradients.dense().Part(begin, end) : none, sum);
  for (size_t i = 0; i < layout.slices().size(); ++i)
    if (const Array<const float> rows = request.gradients.rows(static_cast<int>(i)).values_there;
        rows.count > 0 && request.slices.Has(i))
      AddSquareSum(rows, sum);
}

void UpdateOnDevice(const ParamStore& params, const ApplyRequest& request) {
  const ParamLayout& layout = params.layout();
  const UpdateAddresses addresses(params, request);
  const auto [begin, end] = DenseElements(layout, request.slices);
  const Array<const UpdatePart> parts = request.state.parts();
  if (begin < end && (parts.count > 0 || request.state.UpdatesAlike()))
    request.state.update()->Forward({.span = addresses.DenseAt(begin, end - begin),
                                     .scalars = request.state.on_device(),
                                     .parts = parts.data,
                                     .part_count = parts.count,
                                     .first = begin});
  for (size_t i = 0; i < layout.slices().size(); ++i) {
    const Slice& slice = layout.slices()[i];
    if (slice.kind == SliceKind::kRowSparse && request.slices.Has(i) &&
        !request.state.Of(i).frozen())
      UpdateRowsOnDevice(slice, static_cast<int>(i), addresses.At(slice.offset, 0), request);
  }
}

void ApplyOnDevice(const ParamStore& params, const ApplyRequest& request, const UpdateStep& step) {
  CapturedUpdate* const captured = request.state.captured();
  if (captured && captured->IsMade(params, request, step)) return;
  const bool clips = ClipsOnDevice(request);
  if (clips) SumSquares(params, request);
  request.state.start()->Forward({.scalars = request.state.on_device(),
                                  .step = step,
                                  .clip_norm = clips ? request.clip_norm : 0});
  UpdateOnDevice(params, request);
}

}  // namespace yoke
