// ParamStore: the packed parameters of one replica, and views for reading and differentiating them.
#pragma once

#include <cstdint>
#include <vector>

#include "params/layout.h"
#include "tensor/array.h"
#include "tensor/tensor.h"

namespace yoke {

/// The gradient of a row-sparse slice: each touched row once, in increasing order of id. Its
/// storage is reused from step to step.
struct RowGradient {
  std::vector<int32_t> ids;   ///< On the host, on whatever device it is computed.
  std::vector<float> values;  ///< ids.size() x width; of a device's gradient `values_there`.
  /// Both on a device, in memory of the plan that computes there. Empty on the host.
  Array<const int32_t> ids_there = {};
  Array<const float> values_there = {};
  /// Where the device counts the rows: their number, at most `most_there`. Null: it is
  /// ids_there.count.
  const int64_t* counted_there = nullptr;
  int64_t most_there = 0;

  void ClearThere() { ids_there = {}, values_there = {}, counted_there = nullptr, most_there = 0; }
  void Clear() {
    ids.clear(), values.clear();
    ClearThere();
  }
};

/// Destination of gradients: one dense packed buffer, and a row collector for each row-sparse
/// slice.
class Gradients {
 public:
  Gradients(const ParamLayout& layout, Device& device);
  Array<float> dense() const { return AllOf<float>(dense_); }
  RowGradient& rows(int slice) { return rows_[slice]; }
  const RowGradient& rows(int slice) const { return rows_[slice]; }
  int64_t bytes() const;  ///< All memory held for gradients.

 private:
  Buffer dense_;
  std::vector<RowGradient> rows_;  ///< By slice index; unused for other kinds.
};

class LayerStates;

/// Plain descent during Backward: `factor` times the gradient is added to the weight.
struct InPlaceUpdate {
  float factor = 0;
  int writer = 0;  ///< Index of the concurrent writer: 0, 1, ...
};

/// The parameters of one graph call: values, and gradients if it differentiates. Owns nothing.
struct ParamView {
  const ParamLayout* layout = nullptr;
  Array<const float> values = {};  ///< The packed buffer.
  /// The same, for what a training pass changes: running statistics, and weights updated in place.
  /// Empty where there are no gradients.
  Array<float> writable = {};
  const Bf16* bf16 = nullptr;      ///< A bf16 copy of the values at the same offsets, or null.
  Gradients* gradients = nullptr;  ///< Null: forward only.
  /// State that layers keep from step to step (model/layer.h), or null.
  LayerStates* states = nullptr;
  InPlaceUpdate update = {};  ///< By an immediate plan (CompileRequest).
};

/// Owns the packed values in canonical layout. Everything derived from them (bf16 copies, blocked
/// weights) follows `version`.
class ParamStore {
 public:
  ParamStore(ParamLayout layout, Device& device);

  const ParamLayout& layout() const { return layout_; }
  Array<float> values() const { return AllOf<float>(values_); }
  int64_t bytes() const { return values_.bytes(); }
  /// The places of a slice.
  Array<float> values(int slice) const {
    const Slice& part = layout_.slices()[slice];
    return values().Part(part.offset, part.offset + part.Places());
  }
  /// For evaluation; with gradients for training, which also changes running statistics.
  ParamView View(Gradients* gradients = nullptr) const {
    return {.layout = &layout_,
            .values = values(),
            .writable = gradients ? values() : Array<float>(),
            .gradients = gradients};
  }
  uint64_t version() const { return version_; }
  void Publish() { ++version_; }  ///< Called by the only writer after it changes the values.

 private:
  ParamLayout layout_;
  Buffer values_;
  uint64_t version_ = 0;
};

/// Draws every slice with its initializer, from (seed, slice name). The result does not depend on
/// the number of threads. initializers() lists the names.
void Initialize(ParamStore& store, uint64_t seed, int threads = 1);

/// An initializer: its name, and a sentence that gives the source of its formula.
struct InitializerEntry {
  std::string name;
  std::string summary;
};
const std::vector<InitializerEntry>& initializers();

}  // namespace yoke
