// DeviceBody: the layers below a model's hashed layers, on a device with memory of its own.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/rows.h"
#include "model/bf16_copy.h"
#include "node/batch_rows.h"
#include "node/plans.h"
#include "node/sub_batch.h"
#include "tensor/growing_buffer.h"

namespace yoke {

/// The body at CutAt::kHashed. Its values lie on the host; in each step the device gets the dense
/// ones, and of a sparse first layer the rows that the batch reads. A batch is computed in parts;
/// their activations come to the host and the activations' gradients go back through staging
/// memory, on streams of their own, while other parts are computed.
/// Calls of a step: Begin; for each part in order Activations, Gradient, Backward; Finish.
class DeviceBody {
 public:
  /// `begins`: as in Begin, of a usual batch; others have no more parts. `context` outlives it.
  /// Throws UserError for a layer that the device does not take.
  DeviceBody(const ExecutorContext& context, Device& device, const GraphCut& cut,
             std::span<const int64_t> begins);
  ~DeviceBody();
  DeviceBody(const DeviceBody&) = delete;
  DeviceBody& operator=(const DeviceBody&) = delete;

  /// Starts the forward passes of parts [begins[p], begins[p + 1]).
  void Begin(const Batch& batch, const ParamView& params, std::span<const int64_t> begins);
  /// Waits for a part's forward pass. A batch with its labels and, as dense input, its activations.
  Batch& Activations(size_t part);
  /// Where the caller writes the gradient of the step's loss with respect to them.
  float* Gradient(size_t part);
  /// Starts the backward pass.
  void Backward(size_t part);
  /// Waits for the end, and writes the step's dense gradient and running statistics.
  void Finish(const ParamView& params);
  /// The gradient of a row-sparse slice by a part, after Finish.
  RowBlock Rows(size_t part, int slice) const;

  /// The first layer with a value that is not finite, of the last step; "": none.
  std::string FirstNonFinite() const;
  /// Of all steps: passes, and copies of batches and values. Both may run at once. On a GPU each
  /// counts from its first work in a step to its last, with pauses.
  double busy_seconds() const { return stream().busy_seconds() + sending_->busy_seconds(); }
  /// Of the last step.
  int64_t rows() const { return std::ssize(rows_.ids()); }

 private:
  struct Part;

  Stream& stream() const { return device_.stream(); }
  Target target() const { return {.device = &device_, .stream = &stream()}; }
  void Settle();
  void SendValues(const ParamView& params);
  void Send(const float* values, int64_t count, int64_t place, GrowingBuffer& staged);
  void SendPart(const Batch& batch, int64_t begin, int64_t end, Part& part);
  void Fetch(size_t part);
  void FetchRows(Part& part, Gradients& from);

  const ExecutorContext& context_;
  Device& device_;
  const ParamLayout layout_;
  std::unique_ptr<Stream> sending_, fetching_, returning_;
  Buffer values_, gradient_here_, statistics_here_;
  Gradients sum_, more_;  ///< Of the first part and then of all; of another one.
  GrowingBuffer dense_, statistics_;
  std::vector<GrowingBuffer> row_values_;  ///< By slice.
  BatchRows rows_;
  Bf16Copy bf16_;
  ParamView view_;
  Batch part_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::shared_ptr<Event> values_there_, ended_;
  size_t working_ = 0;      ///< Parts of this step.
  bool under_way_ = false;  ///< A step, or one that failed.
};

}  // namespace yoke
