// The VGG networks as in the paper (no normalization).
#include "model/zoo/vgg.h"

#include "model/zoo/tables.h"

namespace yoke::zoo {
namespace {

constexpr std::array<int, 5> kChannels = {64, 128, 256, 512, 512};

void AddVggHidden(Writer& layers, const std::string& name) {
  layers.Add(name, "linear", {{"outputs", 4096}, {"initializer", "normal_0.01"}});
  layers.Relu("relu_" + name);
  layers.Add("dropout_" + name, "dropout");
}

}  // namespace

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

}  // namespace yoke::zoo
