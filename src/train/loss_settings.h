// LossSettings: what [train] label_smoothing and class_weights make of the loss in training.
#pragma once

#include <vector>

#include "data/reader.h"
#include "model/graph.h"
#include "train/job/job.h"

namespace yoke {

/// [train] class_weights by class: as given, or balanced: examples / (classes * examples of the
/// class), as in scikit-learn. Reads all labels for that. Empty without the key. Throws UserError
/// if they are not those of the data's classes.
std::vector<double> ClassWeightsOf(const Job& job, const Reader& train);

/// The layers with these settings in their losses, to the last of which the task's is added where
/// it is missing. Throws UserError if the losses take none.
List WithLossSettings(List layers, const Job& job, const std::vector<double>& class_weights,
                      const ModelTask& task);

}  // namespace yoke
