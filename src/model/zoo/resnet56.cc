// ResNet-56: 853,018 parameters for 32x32 colour images of 10 classes.
#include "model/zoo/resnet.h"

namespace yoke::zoo {

ModelEntry resnet56() {
  return {.name = "resnet56",
          .summary = "ResNet-56 for small images: three stages of 9 blocks (16, 32, 64 channels)",
          .options = {},
          .build = [](const Options&, const ModelTask& task) {
            return BuildSmallResnet("resnet56", 9, task);
          }};
}

}  // namespace yoke::zoo
