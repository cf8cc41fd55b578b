// ResNet-50: 25,557,032 parameters for 224x224 colour images of 1,000 classes.
#include "model/zoo/resnet.h"

namespace yoke::zoo {

ModelEntry resnet50() {
  return {.name = "resnet50",
          .summary = "ResNet-50 for large images: blocks of 1x1, 3x3 and 1x1 convolutions",
          .options = {},
          .build = [](const Options&, const ModelTask& task) {
            return BuildResnet("resnet50", {3, 4, 6, 3}, true, task);
          }};
}

}  // namespace yoke::zoo
