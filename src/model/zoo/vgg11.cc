// VGG-11: 132,863,336 parameters for 224x224 colour images of 1,000 classes.
#include "model/zoo/vgg.h"

namespace yoke::zoo {

ModelEntry vgg11() {
  return {.name = "vgg11",
          .summary = "VGG-11: 3x3 convolutions (64 to 512 channels), three linear layers",
          .options = {},
          .build = [](const Options&, const ModelTask& task) {
            return BuildVgg("vgg11", {1, 1, 2, 2, 2}, task);
          }};
}

}  // namespace yoke::zoo
