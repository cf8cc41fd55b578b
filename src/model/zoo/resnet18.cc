// ResNet-18: 11,689,512 parameters for 224x224 colour images of 1,000 classes.
#include "model/zoo/resnet.h"

namespace yoke::zoo {

ModelEntry resnet18() {
  return {.name = "resnet18",
          .summary = "ResNet-18 for large images: blocks of two 3x3 convolutions",
          .options = {},
          .build = [](const Options&, const ModelTask& task) {
            return BuildResnet("resnet18", {2, 2, 2, 2}, false, task);
          }};
}

}  // namespace yoke::zoo
