// ResNet-34: 21,797,672 parameters for 224x224 colour images of 1,000 classes.
#include "model/zoo/resnet.h"

namespace yoke::zoo {

ModelEntry resnet34() {
  return {.name = "resnet34",
          .summary = "ResNet-34 for large images: blocks of two 3x3 convolutions",
          .options = {},
          .build = [](const Options&, const ModelTask& task) {
            return BuildResnet("resnet34", {3, 4, 6, 3}, false, task);
          }};
}

}  // namespace yoke::zoo
