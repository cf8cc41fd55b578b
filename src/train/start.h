// Start: the weights of another model, from which training begins (model.start).
#pragma once

#include <string>
#include <vector>

#include "data/reader.h"
#include "model/graph.h"
#include "params/layout.h"

namespace yoke {

/// A [model] that names a checkpoint as its `start` and no layers, with the checkpoint's model; one
/// that names an ONNX file so, with it as its `file`. Throws UserError.
Value WithModelOfStart(Value model_section);

/// How the weights that `model_section` names were given their input becomes [data]'s: mean and
/// deviation, unless it says how to normalize, and of a table the columns, categories and
/// statistics (data.start). Of ONNX files: of those that yoke wrote.
Value WithNormalizationOfStart(const Value& model_section, Value data_section);

/// The model that takes the weights.
struct StartRequest {
  const Value& model;  ///< [model], with `start`.
  const DataInfo& data;
  const List& layers;
  const ParamLayout& layout;
  float* values;  ///< Packed by the layout.
};
/// Copies the weights of `start` by name, and returns a sentence on what was copied. A parameter
/// that `start` does not have keeps its value, as do the output layers with `replace_head`. Throws
/// UserError for another shape, other columns or, unless the head is replaced, other classes, and
/// if nothing fits.
std::string CopyStart(const StartRequest& request);

}  // namespace yoke
