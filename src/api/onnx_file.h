// A model as an ONNX file.
#pragma once

#include <string>

#include "api/model_file.h"

namespace yoke {

/// The formula that turns a value of the data into the model's input: "value/255".
std::string InputFormula(const DataInfo& data);

/// The bytes of an ONNX file. Its metadata says how input is made from data, and has the names of
/// the classes. `complete`: the file takes values as the data have them, and gives probabilities or
/// the predictions of a regression.
std::string OnnxOf(const ModelFile& model, bool complete = false);

}  // namespace yoke
