// VGG-16: 138,357,544 parameters for 224x224 colour images of 1,000 classes.
#include "model/zoo/vgg.h"

namespace yoke::zoo {

ModelEntry vgg16() {
  return {.name = "vgg16",
          .summary = "VGG-16: 3x3 convolutions (64 to 512 channels), three linear layers",
          .options = {},
          .build = [](const Options&, const ModelTask& task) {
            return BuildVgg("vgg16", {2, 2, 3, 3, 3}, task);
          }};
}

}  // namespace yoke::zoo
