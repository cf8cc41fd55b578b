// Linear model: softmax regression for classes, one logistic regression per label for label sets.
#include "model/zoo/tables.h"

namespace yoke::zoo {

ModelEntry linear() {
  return {.name = "linear",
          .summary = "Softmax regression (classes) or a logistic regression for each label",
          .options = {},
          .build = [](const Options&, const ModelTask& task) -> List {
            return {Weighted(task, {}, task.outputs)};
          }};
}

}  // namespace yoke::zoo
