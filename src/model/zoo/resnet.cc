// Residual networks: blocks of convolutions whose output is added to their input. He, Zhang, Ren
// and Sun, "Deep Residual Learning for Image Recognition" (2015). Parameters for 224x224 colour
// images of 1,000 classes: resnet18 11,689,512, resnet34 21,797,672, resnet50 25,557,032; for 32x32
// ones of 10 classes: resnet20 269,722, resnet56 853,018.
#include <array>

#include "model/zoo/tables.h"

namespace yoke::zoo {
namespace {

/// The sizes of a block.
struct Block {
  std::string name;
  int64_t width = 0;    ///< Channels of its 3x3 convolutions.
  int64_t outputs = 0;  ///< Output channels.
  int64_t stride = 1;
};

/// Writes convolutions, each with its normalization.
class ResnetWriter : public Writer {
 public:
  /// A convolution without bias, normalized; returns the name of the normalization.
  std::string Normalized(const std::string& name, int64_t outputs, Square window,
                         const std::vector<std::string>& inputs = {}) {
    Add(name, "convolution",
        window.Options({{"outputs", outputs}, {"bias", false}, {"initializer", "he_normal"}}),
        inputs);
    return Add(name + "_norm", "batch_norm");
  }

  /// The two 3x3 convolutions of a plain block on `below`.
  std::string Plain(const Block& b, const std::string& below) {
    Normalized(b.name + "_conv1", b.width, {3, b.stride, 1}, {below});
    Relu(b.name + "_relu1");
    return Normalized(b.name + "_conv2", b.outputs, {3, 1, 1});
  }

  std::string Bottleneck(const Block& b, const std::string& below) {
    Normalized(b.name + "_conv1", b.width, {}, {below});
    Relu(b.name + "_relu1");
    Normalized(b.name + "_conv2", b.width, {3, b.stride, 1});
    Relu(b.name + "_relu2");
    return Normalized(b.name + "_conv3", b.outputs, {});
  }

  /// Adds a block's result to its shortcut.
  std::string Join(const Block& b, const std::string& computed, const std::string& shortcut) {
    Add(b.name + "_add", "add", {}, {computed, shortcut});
    return Relu(b.name + "_relu");
  }

  List Finish(const ModelTask& task) {
    Add("pool", "global_average_pool");
    Add("fc", "linear", {{"outputs", task.outputs}});
    return Writer::Finish();
  }
};

/// The network for large images, with this many blocks in each of its four stages. `bottleneck`:
/// blocks of 1x1, 3x3 (with the stride, as in torchvision) and 1x1 convolutions instead of two 3x3
/// (table 1 of the paper).
List BuildResnet(const char* name, const std::array<int, 4>& blocks, bool bottleneck,
                 const ModelTask& task) {
  RequireImage(name, task, 32);
  ResnetWriter layers;
  layers.Normalized("conv1", 64, {7, 2, 3});
  layers.Relu("relu1");
  std::string below = layers.Add("pool1", "max_pool", Square{3, 2, 1}.Options());
  int64_t channels = 64;
  for (int stage = 0; stage < 4; ++stage)
    for (int i = 0; i < blocks[stage]; ++i) {
      const int64_t width = int64_t{64} << stage;
      const Block block{.name = fmt::format("stage{}_block{}", stage + 1, i + 1),
                        .width = width,
                        .outputs = bottleneck ? 4 * width : width,
                        .stride = stage > 0 && i == 0 ? 2 : 1};
      const std::string computed =
          bottleneck ? layers.Bottleneck(block, below) : layers.Plain(block, below);
      if (channels != block.outputs)
        below = layers.Normalized(block.name + "_shortcut", block.outputs, {1, block.stride, 0},
                                  {below});
      below = layers.Join(block, computed, below);
      channels = block.outputs;
    }
  return layers.Finish(task);
}

/// The network for 32x32 images with `blocks` blocks in each of three stages of 16, 32 and 64
/// channels (section 4.2; parameter-free shortcuts, its option A).
List BuildSmallResnet(const char* name, int blocks, const ModelTask& task) {
  RequireImage(name, task, 16);
  ResnetWriter layers;
  layers.Normalized("conv1", 16, {3, 1, 1});
  std::string below = layers.Relu("relu1");
  for (int stage = 0; stage < 3; ++stage)
    for (int i = 0; i < blocks; ++i) {
      const int64_t width = int64_t{16} << stage;
      const bool smaller = stage > 0 && i == 0;
      const Block block{.name = fmt::format("stage{}_block{}", stage + 1, i + 1),
                        .width = width,
                        .outputs = width,
                        .stride = smaller ? 2 : 1};
      const std::string computed = layers.Plain(block, below);
      if (smaller)
        below = layers.Add(block.name + "_shortcut", "shortcut",
                           {{"outputs", width}, {"stride", 2}}, {below});
      below = layers.Join(block, computed, below);
    }
  return layers.Finish(task);
}

ModelEntry Resnet(const char* name, const char* summary, const std::array<int, 4>& blocks,
                  bool bottleneck = false) {
  return {.name = name,
          .summary = summary,
          .options = {},
          .build = [=](const Options&, const ModelTask& task) {
            return BuildResnet(name, blocks, bottleneck, task);
          }};
}

ModelEntry SmallResnet(const char* name, const char* summary, int blocks) {
  return {.name = name,
          .summary = summary,
          .options = {},
          .build = [=](const Options&, const ModelTask& task) {
            return BuildSmallResnet(name, blocks, task);
          }};
}

}  // namespace

ModelEntry resnet18() {
  return Resnet("resnet18", "ResNet-18 for large images: blocks of two 3x3 convolutions",
                {2, 2, 2, 2});
}
ModelEntry resnet34() {
  return Resnet("resnet34", "ResNet-34 for large images: blocks of two 3x3 convolutions",
                {3, 4, 6, 3});
}
ModelEntry resnet50() {
  return Resnet("resnet50", "ResNet-50 for large images: blocks of 1x1, 3x3 and 1x1 convolutions",
                {3, 4, 6, 3}, /*bottleneck=*/true);
}
ModelEntry resnet20() {
  return SmallResnet(
      "resnet20", "ResNet-20 for small images: three stages of 3 blocks (16, 32, 64 channels)", 3);
}
ModelEntry resnet56() {
  return SmallResnet(
      "resnet56", "ResNet-56 for small images: three stages of 9 blocks (16, 32, 64 channels)", 9);
}

}  // namespace yoke::zoo
