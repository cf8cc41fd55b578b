// DeviceBody: passes in the order of the device's stream, copies on three others.
#include "node/device_body.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "kernels/vectors.h"

namespace yoke {
namespace {

constexpr int64_t kBytes = sizeof(float);

Target StagingOf(Device& device) { return {.device = &device.staging()}; }

void CopyOnHost(const float* from, int64_t count, float* to) {
  constexpr int64_t kBlock = 1 << 14;
#pragma omp parallel for schedule(static) if (count > 4 * kBlock)
  for (int64_t at = 0; at < count; at += kBlock)
    std::copy_n(from + at, std::min(kBlock, count - at), to + at);
}

}  // namespace

struct DeviceBody::Part {
  /// A slice's touched rows.
  struct Rows {
    explicit Rows(Device& device) : memory(StagingOf(device)) {}
    GrowingBuffer memory;
    std::vector<int32_t> ids;
    float* values = nullptr;
  };

  Part(const ExecutorContext& context, int64_t usual, Device& device, Stream& sending,
       const ParamLayout& layout)
      : sent(device, sending),
        plans(context, usual,
              {.part = GraphPart::kBody,
               .cut = CutAt::kHashed,
               .layout = &layout,
               .target = {.device = &device, .stream = &device.stream()}}),
        activations(StagingOf(device)),
        gradient(StagingOf(device)) {
    plans.For(usual);  // says at once what the device does not take
    for (size_t s = 0; s < layout.slices().size(); ++s) rows.emplace_back(device);
  }

  SentBatch sent;
  Batch above;
  Plans plans;
  GraphPlan* plan = nullptr;
  GrowingBuffer activations, gradient;
  float* from_above = nullptr;  ///< The gradient of the activations.
  std::vector<Rows> rows;       ///< By slice.
  std::shared_ptr<Event> forwarded, gradient_there, ended;
};

DeviceBody::DeviceBody(const ExecutorContext& context, Device& device, const GraphCut& cut,
                       std::span<const int64_t> begins)
    : context_(context),
      device_(device),
      layout_(context.graph.layout().First(cut.first_slice)),
      sending_(device.NewStream()),
      fetching_(device.NewStream()),
      returning_(device.NewStream()),
      values_(device, layout_.size() * kBytes),
      gradient_here_(device.staging(), layout_.dense_size() * kBytes),
      statistics_here_(device.staging(), (layout_.size() - layout_.statistics_begin()) * kBytes),
      sum_(layout_, device),
      more_(layout_, device),
      dense_(StagingOf(device)),
      statistics_(StagingOf(device)),
      bf16_(target()) {
  for (size_t s = 0; s < layout_.slices().size(); ++s) row_values_.emplace_back(StagingOf(device));
  for (size_t p = 0; p + 1 < begins.size(); ++p)
    parts_.push_back(
        std::make_unique<Part>(context, begins[p + 1] - begins[p], device, *sending_, layout_));
}

DeviceBody::~DeviceBody() {
  try {
    Settle();
  } catch (const std::exception& error) {
    LogWarning(error.what());
  }
}

/// After a step that failed in the middle: its copies use memory of the host.
void DeviceBody::Settle() {
  if (!std::exchange(under_way_, false)) return;
  for (Stream* const each : {sending_.get(), &stream(), fetching_.get(), returning_.get()})
    each->Wait();
}

void DeviceBody::Begin(const Batch& batch, const ParamView& params,
                       std::span<const int64_t> begins) {
  Settle();
  rows_.Find(batch, context_.graph.task().input.shape.Count());
  under_way_ = true;
  SendValues(params);
  working_ = begins.size() - 1;
  for (size_t p = 0; p < working_; ++p) SendPart(batch, begins[p], begins[p + 1], *parts_[p]);
  stream().Await(values_there_);
  view_ = {.layout = &layout_, .values = AllOf<float>(values_), .writable = AllOf<float>(values_)};
  if (context_.arithmetic == DType::kBf16) view_ = bf16_.Refresh(view_);
  for (size_t p = 0; p < working_; ++p) {
    Part& part = *parts_[p];
    part.plan = &part.plans.For(part.sent.batch);
    part.plan->Forward(part.sent.batch, view_);
    stream().Record(part.forwarded);
  }
  Fetch(0);
}

void DeviceBody::Send(const float* values, int64_t count, int64_t place, GrowingBuffer& staged) {
  if (count == 0) return;
  float* const here = staged.Reserve<float>(count);
  CopyOnHost(values, count, here);
  sending_->Copy(values_.As<float>() + place, here, count * kBytes);
}

/// The slices' rows of the batch take the places of their first ones.
void DeviceBody::SendValues(const ParamView& params) {
  const float* const values = params.values.Host().data();
  Send(values, layout_.dense_size(), 0, dense_);
  Send(values + params.layout->statistics_begin(), layout_.size() - layout_.statistics_begin(),
       layout_.statistics_begin(), statistics_);
  for (size_t s = 0; s < layout_.slices().size(); ++s) {
    const Slice& slice = layout_.slices()[s];
    if (slice.kind != SliceKind::kRowSparse || rows() == 0) continue;
    const int64_t width = slice.RowWidth();
    float* const here = row_values_[s].Reserve<float>(rows() * width);
    GatherRows({.table = values + params.layout->slices()[s].offset,
                .width = width,
                .rows = rows_.ids(),
                .padded_rows = rows(),
                .padded_columns = width,
                .block = here});
    sending_->Copy(values_.As<float>() + slice.offset, here, rows() * width * kBytes);
  }
  sending_->Record(values_there_);
}

void DeviceBody::SendPart(const Batch& batch, int64_t begin, int64_t end, Part& part) {
  TakeSubBatch(batch, begin, end, part_);
  if (batch.is_sparse) rows_.Renumber(part_.sparse);
  part.sent.Send(part_);
}

/// Starts the copy of a part's activations.
void DeviceBody::Fetch(size_t p) {
  Part& part = *parts_[p];
  const Tensor scores = part.plan->Scores();
  Tensor here = scores;
  here.data = part.activations.Reserve<float>(scores.Count());
  part.from_above = part.gradient.Reserve<float>(scores.Count());
  fetching_->Await(part.forwarded);
  fetching_->Copy(here.data, scores.data, scores.Bytes());
  TakeLabels(part.sent.batch, here, part.above);
}

Batch& DeviceBody::Activations(size_t part) {
  fetching_->Wait();
  if (part + 1 < working_) Fetch(part + 1);
  return parts_[part]->above;
}

float* DeviceBody::Gradient(size_t part) { return parts_[part]->from_above; }

void DeviceBody::Backward(size_t p) {
  Part& part = *parts_[p];
  const Tensor there = part.plan->CutGradient();
  sending_->Copy(there.data, part.from_above, there.Bytes());
  sending_->Record(part.gradient_there);
  stream().Await(part.gradient_there);
  Gradients& gradients = p == 0 ? sum_ : more_;
  view_.gradients = &gradients;
  part.plan->Backward(part.sent.batch, view_, {});
  if (p > 0) Add(sum_.dense(), more_.dense());
  FetchRows(part, gradients);
}

void DeviceBody::FetchRows(Part& part, Gradients& from) {
  stream().Record(part.ended);
  returning_->Await(part.ended);
  for (size_t s = 0; s < part.rows.size(); ++s) {
    RowGradient& there = from.rows(static_cast<int>(s));
    Part::Rows& here = part.rows[s];
    std::swap(here.ids, there.ids);
    here.values = here.memory.Reserve<float>(there.values_there.count);
    if (!here.values) continue;
    returning_->Copy(here.values, there.values_there.data, there.values_there.Bytes());
    rows_.Restore(here.ids);
  }
}

void DeviceBody::Finish(const ParamView& params) {
  stream().Record(ended_);
  returning_->Await(ended_);
  if (gradient_here_.bytes() > 0)
    returning_->Copy(gradient_here_.data(), sum_.dense().data, gradient_here_.bytes());
  if (statistics_here_.bytes() > 0)
    returning_->Copy(statistics_here_.data(), values_.As<float>() + layout_.statistics_begin(),
                     statistics_here_.bytes());
  returning_->Wait();
  // Their work is done: they count its time.
  for (Stream* const each : {sending_.get(), &stream()}) each->Wait();
  under_way_ = false;
  CopyOnHost(gradient_here_.As<float>(), layout_.dense_size(), params.gradients->dense().data);
  CopyOnHost(statistics_here_.As<float>(), layout_.size() - layout_.statistics_begin(),
             params.writable.Host().data() + params.layout->statistics_begin());
}

RowBlock DeviceBody::Rows(size_t part, int slice) const {
  const Part::Rows& rows = parts_[part]->rows[slice];
  return {.rows = rows.ids, .values = rows.values, .stride = layout_.slices()[slice].RowWidth()};
}

std::string DeviceBody::FirstNonFinite() const {
  for (size_t p = 0; p < working_; ++p)
    if (std::string layer = parts_[p]->plans.FirstNonFinite(); !layer.empty()) return layer;
  return "";
}

}  // namespace yoke
