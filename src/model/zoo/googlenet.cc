// GoogLeNet: 6,998,552 parameters for 224x224 colour images of 1,000 classes, 13,378,280 with its
// auxiliary heads; in torchvision's form (batch_norm = true) 6,624,904 and 13,004,888. Szegedy et
// al., "Going Deeper with Convolutions" (2014).
#include "model/zoo/tables.h"

namespace yoke::zoo {
namespace {

/// Channels of an inception module's parts (the paper's table 1).
struct Inception {
  const char* name;
  int64_t ones, reduce3, threes, reduce5, fives, pooled;
};

class GooglenetWriter : public Writer {
 public:
  explicit GooglenetWriter(bool normalized) : normalized_(normalized) {}

  /// A convolution with its ReLU.
  std::string Convolve(const std::string& name, int64_t outputs, Square window,
                       const std::vector<std::string>& inputs = {}) {
    Add(name, "convolution",
        window.Options({{"outputs", outputs},
                        {"bias", !normalized_},
                        {"initializer", "xavier_uniform"},
                        {"bias_initializer", "zeros"}}),
        inputs);
    if (normalized_) Add(name + "_norm", "batch_norm", {{"epsilon", 0.001}});
    return Relu(name + "_relu");
  }

  std::string Pool(const std::string& name, Square window = {3, 2, 0},
                   const std::vector<std::string>& inputs = {}) {
    return Add(name, "max_pool", window.Options({{"ceil_mode", true}}), inputs);
  }

  /// Local response normalization, which the form with batch normalization omits.
  void Respond(const std::string& name) {
    if (!normalized_) Add(name, "local_response_norm");
  }

  std::string Module(const Inception& m, const std::string& below) {
    const std::string name = std::string("inception_") + m.name;
    const std::string one = Convolve(name + "_1x1", m.ones, {}, {below});
    Convolve(name + "_3x3_reduce", m.reduce3, {}, {below});
    const std::string three = Convolve(name + "_3x3", m.threes, {3, 1, 1});
    Convolve(name + "_5x5_reduce", m.reduce5, {}, {below});
    // torchvision's form has 3x3 where the paper has 5x5.
    const std::string five =
        Convolve(name + "_5x5", m.fives, normalized_ ? Square{3, 1, 1} : Square{5, 1, 2});
    Pool(name + "_pool", {3, 1, 1}, {below});
    const std::string pooled = Convolve(name + "_pool_proj", m.pooled, {});
    return Add(name, "concat", {}, {one, three, five, pooled});
  }

  /// An auxiliary head on `below`: its loss counts 0.3.
  void Head(const std::string& name, const std::string& below, const ModelTask& task) {
    Add(name + "_pool", "average_pool", Square{5, 3, 0}.Options(), {below});
    Convolve(name + "_conv", 128, {});
    Add(name + "_flatten", "flatten");
    Add(name + "_fc1", "linear", {{"outputs", 1024}});
    Relu(name + "_relu");
    Add(name + "_dropout", "dropout", {{"probability", 0.7}});
    Add(name + "_fc2", "linear", {{"outputs", task.outputs}});
    Add(name + "_loss", task.UsualLoss(), {{"weight", 0.3}});
  }

 private:
  bool normalized_;
};

std::string Modules(GooglenetWriter& layers, const std::vector<Inception>& modules,
                    std::string below) {
  for (const Inception& module : modules) below = layers.Module(module, below);
  return below;
}

List BuildGooglenet(const Options& options, const ModelTask& task) {
  const bool normalized = options.Bool("batch_norm"), heads = options.Bool("auxiliary");
  RequireImage("googlenet", task, heads ? 193 : 47);
  GooglenetWriter layers(normalized);
  layers.Convolve("conv1", 64, {7, 2, 3});
  layers.Pool("pool1");
  layers.Respond("norm1");
  layers.Convolve("conv2_reduce", 64, {});
  layers.Convolve("conv2", 192, {3, 1, 1});
  layers.Respond("norm2");
  std::string below = layers.Pool("pool2");
  below =
      Modules(layers, {{"3a", 64, 96, 128, 16, 32, 32}, {"3b", 128, 128, 192, 32, 96, 64}}, below);
  const std::string head1 =
      Modules(layers, {{"4a", 192, 96, 208, 16, 48, 64}}, layers.Pool("pool3", {3, 2, 0}, {below}));
  if (heads) layers.Head("head1", head1, task);
  const std::string head2 = Modules(layers,
                                    {{"4b", 160, 112, 224, 24, 64, 64},
                                     {"4c", 128, 128, 256, 24, 64, 64},
                                     {"4d", 112, 144, 288, 32, 64, 64}},
                                    head1);
  if (heads) layers.Head("head2", head2, task);
  below = Modules(layers, {{"4e", 256, 160, 320, 32, 128, 128}}, head2);
  // torchvision's form has a 2x2 window here.
  below = layers.Pool("pool4", normalized ? Square{2, 2, 0} : Square{3, 2, 0}, {below});
  Modules(layers, {{"5a", 256, 160, 320, 32, 128, 128}, {"5b", 384, 192, 384, 48, 128, 128}},
          below);
  layers.Add("pool5", "global_average_pool");
  layers.Add("dropout", "dropout", {{"probability", normalized ? 0.2 : 0.4}});
  layers.Add("fc", "linear", {{"outputs", task.outputs}});
  return layers.Finish();
}

}  // namespace

ModelEntry googlenet() {
  return {.name = "googlenet",
          .summary = "GoogLeNet: nine inception modules of 1x1, 3x3 and 5x5 convolutions",
          .options = {{.name = "auxiliary",
                       .type = OptionType::kBool,
                       .fallback = false,
                       .help = "Whether to train with the two auxiliary heads."},
                      {.name = "batch_norm",
                       .type = OptionType::kBool,
                       .fallback = false,
                       .help = "Batch normalization after each convolution, as in torchvision, "
                               "instead of two local response normalizations."}},
          .build = BuildGooglenet};
}

}  // namespace yoke::zoo
