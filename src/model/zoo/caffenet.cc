// CaffeNet, Caffe's form of AlexNet (pooling before normalization): 60,965,224 parameters for
// colour images of 227x227 or 224x224 and 1,000 classes. Krizhevsky, Sutskever and Hinton,
// "ImageNet Classification with Deep Convolutional Neural Networks" (2012).
#include "model/zoo/tables.h"

namespace yoke::zoo {
namespace {

/// A convolution with a ReLU; `bias`: the initializer of its bias.
void Convolve(Writer& layers, int number, const Square& window, int64_t outputs, int64_t groups,
              const char* bias) {
  layers.Add(fmt::format("conv{}", number), "convolution",
             window.Options({{"outputs", outputs},
                             {"groups", groups},
                             {"initializer", "normal_0.01"},
                             {"bias_initializer", bias}}));
  layers.Relu(fmt::format("relu{}", number));
}

void Pool(Writer& layers, int number) {
  layers.Add(fmt::format("pool{}", number), "max_pool",
             Square{3, 2, 0}.Options({{"ceil_mode", true}}));
}

void AddHidden(Writer& layers, const std::string& name) {
  layers.Add(name, "linear",
             {{"outputs", 4096}, {"initializer", "normal_0.01"}, {"bias_initializer", "ones"}});
  layers.Relu("relu_" + name);
  layers.Add("dropout_" + name, "dropout");
}

List BuildCaffenet(const Options& /*options*/, const ModelTask& task) {
  RequireImage("caffenet", task, 67);
  Writer layers;
  Convolve(layers, 1, {11, 4, 0}, 96, 1, "zeros");
  Pool(layers, 1);
  layers.Add("norm1", "local_response_norm");
  Convolve(layers, 2, {5, 1, 2}, 256, 2, "ones");
  Pool(layers, 2);
  layers.Add("norm2", "local_response_norm");
  Convolve(layers, 3, {3, 1, 1}, 384, 1, "zeros");
  Convolve(layers, 4, {3, 1, 1}, 384, 2, "ones");
  Convolve(layers, 5, {3, 1, 1}, 256, 2, "ones");
  Pool(layers, 5);
  layers.Add("flatten", "flatten");
  AddHidden(layers, "fc6");
  AddHidden(layers, "fc7");
  layers.Add(
      "fc8", "linear",
      {{"outputs", task.outputs}, {"initializer", "normal_0.01"}, {"bias_initializer", "zeros"}});
  return layers.Finish();
}

}  // namespace

ModelEntry caffenet() {
  return {.name = "caffenet",
          .summary = "CaffeNet: AlexNet with grouped convolutions and local response normalization",
          .options = {},
          .build = BuildCaffenet};
}

}  // namespace yoke::zoo
