// UpdateRule: the list of rules, their state, and one update of the whole model by any of them:
// dense slices in one pass, row-sparse slices by touched rows.
#include "optim/rule.h"

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "base/algorithms.h"
#include "base/check.h"
#include "kernels/makers.h"
#include "kernels/vectors.h"
#include "optim/bf16_update.h"
#include "optim/captured_update.h"
#include "optim/device_update.h"
#include "optim/layerwise.h"
#include "tensor/device.h"

namespace yoke {

UpdateSpan PartOf(UpdateSpan span, int64_t begin, int64_t end) {
  span.values += begin;
  span.gradient += begin;
  for (float*& state : span.state)
    if (state) state += begin;
  span.count = end - begin;
  return span;
}

namespace {

/// The elements of a row; `span` begins at row 0.
UpdateSpan RowOf(UpdateSpan span, int64_t row) {
  span.values += row * span.count;
  for (float*& state : span.state)
    if (state) state += row * span.count;
  return span;
}

/// A rule's loop over a run, or over touched rows.
struct UpdateLoop {
  using Call = UpdateCall;
  const UpdateRule* rule;
  void Forward(const Call& call) const {
    if (call.scalars->stop != 0) return;
    if (call.parts) return UpdateParts(call);
    UpdateStep step = call.settings.Of(call.scalars->step);
    if (!call.ids) return rule->Update(call.span, step);
    for (int64_t r = 0; r < call.Rows(); ++r) {
      UpdateSpan row = RowOf(call.span, call.ids[r]);
      row.gradient += r * row.count;
      step.step = ++call.steps[call.ids[r]];
      rule->Update(row, step);
    }
  }

 private:
  void UpdateParts(const Call& call) const {
    for (const UpdatePart& part : std::span(call.parts, static_cast<size_t>(call.part_count))) {
      const int64_t begin = std::max(part.begin - call.first, int64_t{0});
      const int64_t end = std::min(part.end - call.first, call.span.count);
      if (begin < end)
        rule->Update(PartOf(call.span, begin, end), part.settings.Of(call.scalars->step));
    }
  }
};

constexpr int64_t kFindRow = 32;  // elements that could be updated while a row is found
/// Rows prefetched before their update.
constexpr int64_t kAhead = 4;

/// A thread's part of every slice: the first thread has the first rows and so on, as in the kernels
/// that use weights and gradients. So elements stay in the cache of one core.
void ApplyPart(const ParamLayout& layout, const UpdateAddresses& addresses,
               const ApplyRequest& request, const UpdateStep& step, int64_t thread,
               int64_t threads) {
  for (size_t i = 0; i < layout.slices().size(); ++i) {
    const Slice& slice = layout.slices()[i];
    if (slice.kind != SliceKind::kDense || !request.slices.Has(i)) continue;
    const SliceSettings settings = request.state.Of(i);
    if (settings.frozen()) continue;
    const auto [begin, end] = ThreadPart(layout.Extent(slice), thread, threads);
    if (end > begin)
      request.rule.Update(addresses.DenseAt(slice.offset + begin, end - begin), settings.Of(step));
  }
}

void ApplyLayers(const ParamLayout& layout, const UpdateAddresses& addresses,
                 const ApplyRequest& request, const UpdateStep& step, const LayerwiseRule& rule) {
  for (size_t i = 0; i < layout.slices().size(); ++i) {
    const Slice& slice = layout.slices()[i];
    const SliceSettings settings = request.state.Of(i);
    if (slice.kind == SliceKind::kDense && request.slices.Has(i) && !settings.frozen())
      rule.UpdateLayer({.layout = layout,
                        .slice = i,
                        .span = addresses.DenseAt(slice.offset, slice.Count()),
                        .step = settings.Of(step)});
  }
}

void ApplyDense(ParamStore& params, const ApplyRequest& request, const UpdateStep& step) {
  const ParamLayout& layout = params.layout();
  const UpdateAddresses addresses(params, request);
  if (const auto* rule = dynamic_cast<const LayerwiseRule*>(&request.rule))
    return ApplyLayers(layout, addresses, request, step, *rule);
  if (layout.dense_size() < kParallelCount || omp_get_max_threads() == 1)  // a team would allocate
    return ApplyPart(layout, addresses, request, step, 0, 1);
#pragma omp parallel
  ApplyPart(layout, addresses, request, step, omp_get_thread_num(), omp_get_num_threads());
}

/// The sum of the squares of these slices' gradients.
double SquareOf(const ParamLayout& layout, const Gradients& gradients, const SliceRange& slices) {
  const auto [begin, end] = DenseElements(layout, slices);
  double sum = SquareSum(gradients.dense().Part(begin, end));
  for (size_t i = 0; i < layout.slices().size(); ++i) {
    if (!slices.Has(i)) continue;
    const RowGradient& rows = gradients.rows(static_cast<int>(i));
    sum += SquareSum(ConstValues(rows.values)) + SquareSum(rows.values_there);
  }
  return sum;
}

/// Of gradients of this length.
UpdateFacts FactsOf(const ParamLayout& layout, double norm, const SliceRange& slices) {
  UpdateFacts facts = {.gradient_square = norm * norm};
  for (size_t i = 0; i < layout.slices().size(); ++i)
    if (slices.Has(i)) facts.elements += layout.slices()[i].Count();
  return facts;
}

/// Calls fetch(id) for each touched row some rows before update(id, its gradient, its step). Rows
/// are disjoint, so threads share nothing; each row has its own step count.
template <typename Fetch, typename Update>
void ForEachTouchedRow(const ApplyRequest& request, int index, int64_t width, UpdateStep step,
                       const Fetch& fetch, const Update& update) {
  const RowGradient& rows = request.gradients.rows(index);
  const int64_t touched = static_cast<int64_t>(rows.ids.size());
  int32_t* const clocks = request.state.row_steps(index).Host().data();
#pragma omp parallel for schedule(static) \
    firstprivate(step) if (touched * (width + kFindRow) > kParallelCount)
  for (int64_t r = 0; r < touched; ++r) {
    if (r + kAhead < touched) {  // rows are scattered in memory
      fetch(rows.ids[r + kAhead]);
      FetchAhead(&clocks[rows.ids[r + kAhead]]);
    }
    step.step = ++clocks[rows.ids[r]];
    update(rows.ids[r], rows.values.data() + r * width, step);
  }
}

const UpdateRule& RowRule(const ApplyRequest& request) {
  return request.row_rule ? *request.row_rule : request.rule;
}

void ApplyRows(ParamStore& params, const ApplyRequest& request, int index, const UpdateStep& step) {
  RequireHost(*params.values().device);
  const Slice& slice = params.layout().slices()[index];
  const int64_t width = slice.RowWidth();
  const UpdateRule& rule = RowRule(request);
  const UpdateAddresses addresses(params, request);
  const auto span_of = [&](int64_t id) { return addresses.At(slice.offset + id * width, width); };
  const auto fetch = [&](int32_t id) __attribute__((always_inline)) {  // see FetchAhead
    const UpdateSpan next = span_of(id);
    FetchAhead(next.values, width);
    for (const float* state : next.state)
      if (state) FetchAhead(state, width);
  };
  ForEachTouchedRow(request, index, width, step, fetch,
                    [&](int32_t id, const float* gradient, const UpdateStep& own) {
                      UpdateSpan span = span_of(id);
                      span.gradient = gradient;
                      rule.Update(span, own);
                    });
}

/// ApplyRows of a slice that is stored in bf16.
void ApplyBf16Rows(ParamStore& params, const ApplyRequest& request, int index,
                   const UpdateStep& step) {
  const Slice& slice = params.layout().slices()[index];
  const Bf16Slice stored(params.values().Host().data(), request.state, slice);
  ForEachTouchedRow(
      request, index, slice.RowWidth(),
      step, [&](int32_t id) __attribute__((always_inline)) { stored.FetchRow(id); },
      [&](int32_t id, const float* gradient, const UpdateStep& own) {
        UpdateBf16(RowRule(request), stored.Row(id), gradient, own,
                   {request.state.rounding(), index, id, own.step});
      });
}

/// The rows of all slices, on the host.
void ApplyAllRows(ParamStore& params, const ApplyRequest& request, const UpdateStep& step) {
  const std::vector<Slice>& slices = params.layout().slices();
  for (size_t i = 0; i < slices.size(); ++i) {
    const SliceSettings settings = request.state.Of(i);
    if (slices[i].kind == SliceKind::kRowSparse && request.slices.Has(i) && !settings.frozen())
      (slices[i].type == DType::kBf16 ? ApplyBf16Rows : ApplyRows)(
          params, request, static_cast<int>(i), settings.Of(step));
  }
}

/// Waits for the device. None: a loss has stopped its updates.
std::optional<UpdateSquares> ReadSquares(const ParamStore& params, const ApplyRequest& request,
                                         Array<const float> state) {
  UpdateScalars* const there = request.state.on_device();
  SumSquares(params, request);
  SquareSum(state, &there->squares.state);
  const UpdateScalars scalars = request.state.scalars_copy().Read(
      Array<const UpdateScalars>{params.values().device, there, 1})[0];
  if (scalars.stop != 0) return {};
  return scalars.squares;
}

std::optional<UpdateSquares> SquaresOf(const ParamStore& params, const ApplyRequest& request) {
  const ParamLayout& layout = params.layout();
  if (request.rule.Scalars() == 0)
    return UpdateSquares{.gradient = SquareOf(layout, request.gradients, request.slices)};
  const auto [begin, end] = DenseElements(layout, request.slices);
  const Array<const float> state = request.state.array(0).Part(begin, end);
  if (request.state.on_device()) return ReadSquares(params, request, state);
  return UpdateSquares{.gradient = SquareOf(layout, request.gradients, request.slices),
                       .state = SquareSum(state)};
}

UpdateStep StepOf(const ParamStore& params, const ApplyRequest& request) {
  UpdateStep step{.learning_rate = request.learning_rate,
                  .step = ++(request.steps ? *request.steps : request.state.steps),
                  .gradient_scale = request.gradient_scale};
  const bool tunes = request.rule.Scalars() > 0;
  if (!tunes && (request.clip_norm <= 0 || ClipsOnDevice(request))) return step;
  const std::optional<UpdateSquares> squares = SquaresOf(params, request);
  if (!squares) return step;  // nothing is updated
  const double norm = std::sqrt(squares->gradient);
  if (request.clip_norm > 0)
    step.gradient_scale = ClippedScale(step.gradient_scale, norm, request.clip_norm);
  if (!tunes) return step;
  UpdateFacts facts = FactsOf(params.layout(), step.gradient_scale * norm, request.slices);
  facts.state_square = squares->state;
  facts.total_momentum = request.total_momentum;
  return request.rule.Tune(step, facts,
                           request.scalars.empty() ? request.state.scalars() : request.scalars);
}

}  // namespace

namespace rule {
#define YOKE_RULE(name) RuleEntry name();
#include "optim/rules.def"
#undef YOKE_RULE
}  // namespace rule

const std::vector<RuleEntry>& rules() {
  static const std::vector<RuleEntry> entries = {
#define YOKE_RULE(name) rule::name(),
#include "optim/rules.def"
#undef YOKE_RULE
  };
  return entries;
}

namespace {
using Rule = const UpdateRule*;
std::unique_ptr<Kernel<UpdateCall>> OnCuda(const Rule& rule, const Target& target) {
  return cuda::Make<UpdateCall>(rule->Constants(), target);
}
}  // namespace

std::unique_ptr<Kernel<UpdateCall>> UpdateRule::MakeKernel(const Target& target) const {
  return KernelList<UpdateCall, Rule>(name(), {.backward = false, .bf16 = false},
                                      {{"cuda", "cuda", OnCuda}, {"loops", LoopsOf<UpdateLoop>}})
      .Make(this, target);
}

RuleState::RuleState(const ParamLayout& layout, const UpdateRule& rule, Device& device,
                     const Rounding& rounding, Stream* stream)
    : names_(rule.StateNames()),
      rounding_(rounding),
      scalars_(2 * static_cast<size_t>(rule.Scalars())),
      row_steps_(layout.slices().size()) {
  Check(names_.size() <= kMaxStateArrays, "a rule has at most kMaxStateArrays state arrays");
  for (size_t i = 0; i < names_.size(); ++i)
    arrays_.emplace_back(device, layout.size() * SizeOf(DType::kF32));
  for (size_t i = 0; i < row_steps_.size(); ++i) {
    const Slice& slice = layout.slices()[i];
    if (slice.kind == SliceKind::kRowSparse)
      row_steps_[i] = Buffer(device, slice.shape[0] * SizeOf(DType::kI32));
  }
  if (device.IsHost()) return;
  on_device_ = Buffer(device, sizeof(UpdateScalars));
  const Target target = {.device = &device, .stream = stream ? stream : &device.stream()};
  start_ = MakeUpdateStart(target);
  update_ = rule.MakeKernel(target);
  if (rule.Scalars() == 0 && dynamic_cast<CapturingStream*>(target.stream))
    captured_ = std::make_unique<CapturedUpdate>();
}

void RuleState::SetSlices(const ParamLayout& layout, std::vector<SliceSettings> settings) {
  settings_ = std::move(settings);
  if (!on_device()) return;
  std::vector<UpdatePart> parts;
  for (size_t i = 0; i < layout.slices().size(); ++i) {
    const Slice& slice = layout.slices()[i];
    if (slice.kind != SliceKind::kDense || Of(i).frozen()) continue;
    const int64_t end = slice.offset + layout.Extent(slice);
    if (!parts.empty() && parts.back().end == slice.offset && parts.back().settings == Of(i))
      parts.back().end = end;
    else
      parts.push_back({slice.offset, end, Of(i)});
  }
  parts_ = Buffer(on_device_.device(), static_cast<int64_t>(parts.size() * sizeof(UpdatePart)));
  if (!parts.empty()) Copy(AllOf<UpdatePart>(parts_), OnHost(std::span<const UpdatePart>(parts)));
}

RuleState::~RuleState() = default;
RuleState::RuleState(RuleState&&) noexcept = default;
RuleState& RuleState::operator=(RuleState&&) noexcept = default;

int64_t RuleState::bytes() const {
  auto bytes = static_cast<int64_t>(scalars_.size() * sizeof(float));
  for (const Buffer& array : arrays_) bytes += array.bytes();
  for (const Buffer& clocks : row_steps_) bytes += clocks.bytes();
  return bytes;
}

void ClearFrozen(const ParamLayout& layout, const RuleState& state, int slice,
                 Gradients& gradients) {
  if (!state.Of(static_cast<size_t>(slice)).frozen()) return;
  gradients.rows(slice).Clear();
  const Slice& part = layout.slices()[slice];
  if (part.kind == SliceKind::kDense)
    Fill(gradients.dense().Part(part.offset, part.offset + part.Places()), 0);
}

void ClearFrozen(const ParamLayout& layout, const RuleState& state, Gradients& gradients) {
  if (state.UpdatesAlike()) return;
  for (size_t i = 0; i < layout.slices().size(); ++i)
    ClearFrozen(layout, state, static_cast<int>(i), gradients);
}

double GradientNorm(const ParamLayout& layout, const Gradients& gradients,
                    const SliceRange& slices) {
  return std::sqrt(SquareOf(layout, gradients, slices));
}

UpdateFacts FactsOf(const ParamLayout& layout, const Gradients& gradients, double gradient_scale,
                    const SliceRange& slices) {
  return FactsOf(layout, gradient_scale * GradientNorm(layout, gradients, slices), slices);
}

UpdateStep Apply(ParamStore& params, const ApplyRequest& request) {
  const ParamLayout& layout = params.layout();
  Check(layout.dense_size() == 0 || request.gradients.dense().device == params.values().device,
        "values and gradient lie on one device");
  const UpdateStep step = StepOf(params, request);
  if (params.values().OnHost()) {
    ApplyDense(params, request, step);
    ApplyAllRows(params, request, step);
  } else {
    ApplyOnDevice(params, request, step);
  }
  params.Publish();
  return step;
}

Cost CostOfUpdate(const RuleState& state, int64_t count) {
  const auto n = static_cast<double>(count);
  const auto arrays = 1.0 + static_cast<double>(state.names().size());
  const double sums = state.all_scalars().empty() ? 0 : 2;  // arrays that Tune's are made of
  return {.operations = 2 * (arrays + sums) * n, .bytes = 4 * n * (2 * arrays + 1 + sums)};
}

void TouchFirst(const ParamStore& params) {
  constexpr int64_t kLarge = 1 << 22;  // smaller ones are cleared when they are allocated
  const Array<float> values = params.values();
  if (!values.OnHost() || values.Bytes() < kLarge) return;
  const int64_t page = sysconf(_SC_PAGESIZE) / static_cast<int64_t>(sizeof(float));
#pragma omp parallel
  for (size_t slice = 0; slice < params.layout().slices().size(); ++slice) {
    const Array<float> of_slice = params.values(static_cast<int>(slice));
    const auto [begin, end] =
        ThreadPart(of_slice.count, omp_get_thread_num(), omp_get_num_threads());
    for (int64_t i = begin; i < end; i += page) of_slice.data[i] = 0;
  }
}

}  // namespace yoke
