// ResNet-20: 269,722 parameters for 32x32 colour images of 10 classes.
#include "model/zoo/resnet.h"

namespace yoke::zoo {

ModelEntry resnet20() {
  return {.name = "resnet20",
          .summary = "ResNet-20 for small images: three stages of 3 blocks (16, 32, 64 channels)",
          .options = {},
          .build = [](const Options&, const ModelTask& task) {
            return BuildSmallResnet("resnet20", 3, task);
          }};
}

}  // namespace yoke::zoo
