// ParamStore: the packed parameters of one replica, and the views through which they are read and
// differentiated.
#pragma once

#include <cstdint>
#include <vector>

#include "params/layout.h"
#include "tensor/device.h"
#include "tensor/tensor.h"

namespace yoke {

/// The gradient of a row-sparse slice: each touched row once, in increasing order of id. Storage is
/// kept from step to step.
struct RowGradient {
  std::vector<int32_t> ids;
  std::vector<float> values;  ///< ids.size() x width

  void Clear() { ids.clear(), values.clear(); }
};

/// Where gradients go: one dense packed buffer and a row collector for each row-sparse slice.
class Gradients {
 public:
  Gradients(const ParamLayout& layout, Device& device);
  float* dense() const { return dense_.As<float>(); }
  int64_t dense_size() const { return dense_.bytes() / 4; }
  RowGradient& rows(int slice) { return rows_[slice]; }
  const RowGradient& rows(int slice) const { return rows_[slice]; }
  int64_t bytes() const;  ///< Of all memory held for gradients.

 private:
  Buffer dense_;
  std::vector<RowGradient> rows_;  ///< By slice index; unused for other kinds.
};

class LayerStates;

/// What a call of the graph works on: values, and gradients when it is to differentiate. Owns
/// nothing.
struct ParamView {
  const ParamLayout* layout = nullptr;
  float* values =
      nullptr;  ///< The packed buffer (buffers of running statistics are written through it).
  const Bf16* low = nullptr;  ///< The same numbers in bf16 at the same offsets, or null: derived,
                              ///< for bf16 arithmetic.
  Gradients* gradients = nullptr;  ///< Null: forward only.
  LayerStates* states = nullptr;   ///< What layers keep from step to step (model/layer.h), or null.
  double immediate_rate = 0;       ///< Of the updates that an immediate plan makes in `values`.
  int writer = 0;  ///< Who makes them, among those that do so at the same time: 0, 1, ...
};

/// Owns the packed values in canonical layout. Whatever else is derived from them (bf16 copies,
/// blocked weights) follows `version`.
class ParamStore {
 public:
  ParamStore(ParamLayout layout, Device& device);

  const ParamLayout& layout() const { return layout_; }
  float* values() const { return values_.As<float>(); }
  int64_t bytes() const { return values_.bytes(); }
  float* values(int slice) const { return values() + layout_.slices()[slice].offset; }
  Tensor ValueOf(int slice) const;
  ParamView View(Gradients* gradients = nullptr) const {
    return {.layout = &layout_, .values = values(), .low = nullptr, .gradients = gradients};
  }
  uint64_t version() const { return version_; }
  void Publish() { ++version_; }  ///< Called by the one writer after it changed the values.

 private:
  ParamLayout layout_;
  Buffer values_;
  uint64_t version_ = 0;
};

/// Draws every slice by its initializer's name, from (seed, slice name); the same for any number of
/// threads. Names: see `initializers()`.
void Initialize(ParamStore& store, uint64_t seed, int threads = 1);

/// An initializer: name, one-sentence summary with its formula's source.
struct InitializerEntry {
  std::string name;
  std::string summary;
};
const std::vector<InitializerEntry>& initializers();

}  // namespace yoke
