// VGG-19: 143,667,240 parameters for 224x224 colour images of 1,000 classes.
#include "model/zoo/vgg.h"

namespace yoke::zoo {

ModelEntry vgg19() {
  return {.name = "vgg19",
          .summary = "VGG-19: 3x3 convolutions (64 to 512 channels), three linear layers",
          .options = {},
          .build = [](const Options&, const ModelTask& task) {
            return BuildVgg("vgg19", {2, 2, 4, 4, 4}, task);
          }};
}

}  // namespace yoke::zoo
