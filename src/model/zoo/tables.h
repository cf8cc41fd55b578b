// Helpers with which the models of the zoo write their lists of layers.
#pragma once

#include <string>
#include <utility>

#include "base/check.h"
#include "model/graph.h"

namespace yoke::zoo {

/// The table of one layer, as [[model.layer]] would hold it.
inline Value Layer(const char* type, Table options = {}) {
  Table table = {{"type", type}};
  for (auto& option : options) table.push_back(std::move(option));
  return Value(std::move(table));
}

/// A layer of `outputs` weighted sums, for the task's own input if it is the first.
inline Value Weighted(const ModelTask& task, const List& below, int64_t outputs) {
  return Layer(below.empty() && task.input.sparse ? "sparse_linear" : "linear",
               {{"outputs", outputs}});
}

/// Throws UserError unless the input is an image of at least `least` x `least`.
inline void RequireImage(const char* model, const ModelTask& task, int64_t least) {
  const Shape& shape = task.input.shape;
  Require(!task.input.sparse && shape.rank() == 3 && shape[1] >= least && shape[2] >= least,
          "model '{}' needs images of at least {}x{} (channels x height x width), but an example "
          "of the data is {}{}: try model 'mlp'",
          model, least, least, shape.Text(), task.input.sparse ? " sparse numbers" : "");
}

}  // namespace yoke::zoo
