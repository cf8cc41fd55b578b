// LabelKind: the word for what the examples of a data set have.
#pragma once

namespace yoke {

/// "classes": one each; "labels": a set each; "targets": numbers.
inline const char* LabelKind(bool regression, bool multi_label) {
  return regression ? "targets" : multi_label ? "labels" : "classes";
}

}  // namespace yoke
