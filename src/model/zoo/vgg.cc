// VGG networks as in the paper (no normalization): stages of 3x3 convolutions, each followed by a
// 2x2 pool, and three linear layers. Simonyan and Zisserman, "Very Deep Convolutional Networks for
// Large-Scale Image Recognition" (2014), table 1. Parameters for 224x224 colour images of 1,000
// classes: vgg11 132,863,336, vgg16 138,357,544, vgg19 143,667,240.
#include <array>

#include "model/zoo/tables.h"

namespace yoke::zoo {
namespace {

constexpr std::array<int, 5> kChannels = {64, 128, 256, 512, 512};

void AddVggHidden(Writer& layers, const std::string& name) {
  layers.Add(name, "linear", {{"outputs", 4096}, {"initializer", "normal_0.01"}});
  layers.Relu("relu_" + name);
  layers.Add("dropout_" + name, "dropout");
}

/// The network with this many convolutions in each of its five stages.
List BuildVgg(const char* name, const std::array<int, 5>& convolutions, const ModelTask& task) {
  RequireImage(name, task, 32);
  Writer layers;
  for (size_t stage = 0; stage < kChannels.size(); ++stage) {
    for (int i = 1; i <= convolutions[stage]; ++i) {
      const std::string place = fmt::format("{}_{}", stage + 1, i);
      const Square window{.kernel = 3, .padding = 1};
      layers.Add("conv" + place, "convolution",
                 window.Options({{"outputs", kChannels[stage]},
                                 {"initializer", "he_normal"},
                                 {"bias_initializer", "zeros"}}));
      layers.Relu("relu" + place);
    }
    layers.Add(fmt::format("pool{}", stage + 1), "max_pool", Square{2, 2, 0}.Options());
  }
  layers.Add("flatten", "flatten");
  AddVggHidden(layers, "fc6");
  AddVggHidden(layers, "fc7");
  layers.Add("fc8", "linear", {{"outputs", task.outputs}, {"initializer", "normal_0.01"}});
  return layers.Finish();
}

ModelEntry Vgg(const char* name, const char* summary, const std::array<int, 5>& convolutions) {
  return {.name = name,
          .summary = summary,
          .options = {},
          .build = [=](const Options&, const ModelTask& task) {
            return BuildVgg(name, convolutions, task);
          }};
}

}  // namespace

ModelEntry vgg11() {
  return Vgg("vgg11", "VGG-11: 3x3 convolutions (64 to 512 channels), three linear layers",
             {1, 1, 2, 2, 2});
}
ModelEntry vgg16() {
  return Vgg("vgg16", "VGG-16: 3x3 convolutions (64 to 512 channels), three linear layers",
             {2, 2, 3, 3, 3});
}
ModelEntry vgg19() {
  return Vgg("vgg19", "VGG-19: 3x3 convolutions (64 to 512 channels), three linear layers",
             {2, 2, 4, 4, 4});
}

}  // namespace yoke::zoo
