// Residual networks, built block by block.
#include "model/zoo/resnet.h"

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

}  // namespace

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

}  // namespace yoke::zoo
