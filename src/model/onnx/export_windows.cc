// Writes layers as ONNX: sliding windows, and layers that crop images.
#include <limits>

#include "model/onnx/exporter.h"

namespace yoke::onnx_file {
namespace {

/// An option with one number or [height, width], as [height, width].
std::vector<int64_t> PairOf(const Options& options, const char* name) {
  std::vector<int64_t> pair = options.Ints(name);
  if (pair.size() == 1) pair.push_back(pair[0]);
  return pair;
}

/// `padding` as [top, left, bottom, right].
std::vector<int64_t> BorderOf(const Options& options) {
  std::vector<int64_t> border = PairOf(options, "padding");
  if (border.size() == 2) border.insert(border.end(), {border[0], border[1]});
  return border;
}

void SetWindow(onnx::NodeProto& node, const ListedLayer& layer) {
  const Options& options = layer.options;
  Set(node, "kernel_shape", PairOf(options, "kernel"));
  Set(node, "strides", PairOf(options, options.Has("stride") ? "stride" : "kernel"));
  Set(node, "pads", BorderOf(options));
}

void Convolution(Exporter& to, const ListedLayer& layer) {
  onnx::NodeProto& node = to.AddNode(layer, "Conv", to.InputsOf(layer));
  SetWindow(node, layer);
  Set(node, "dilations", PairOf(layer.options, "dilation"));
  Set(node, "group", layer.options.Int("groups"));
}

onnx::NodeProto& Pool(Exporter& to, const ListedLayer& layer, const char* type) {
  onnx::NodeProto& node = to.AddNode(layer, type, to.InputsOf(layer));
  SetWindow(node, layer);
  Set(node, "ceil_mode", int64_t{layer.options.Bool("ceil_mode")});
  return node;
}

void MaxPool(Exporter& to, const ListedLayer& layer) { Pool(to, layer, "MaxPool"); }

void AveragePool(Exporter& to, const ListedLayer& layer) {
  Set(Pool(to, layer, "AveragePool"), "count_include_pad",
      int64_t{layer.options.Bool("count_padding")});
}

/// The mean has the layer's name, because the importer makes the layer from it.
void GlobalAveragePool(Exporter& to, const ListedLayer& layer) {
  onnx::NodeProto& pool = to.AddNode(layer, "GlobalAveragePool", to.InputsOf(layer));
  if (layer.options.Bool("keep_axes")) return;
  const std::string mean = layer.name + ".mean";
  pool.set_output(0, mean);
  onnx::NodeProto& flatten = to.AddNode(layer, "Flatten", {mean}, "flatten");
  flatten.set_output(0, to.TensorOf(layer.name));
  Set(flatten, "axis", int64_t{1});
}

/// Every stride-th pixel, with zeros for additional channels.
void Shortcut(Exporter& to, const ListedLayer& layer) {
  std::string input = to.InputsOf(layer)[0];
  const int64_t stride = layer.options.Int("stride");
  const int64_t more = layer.output[0] - to.InputShape(layer)[0];
  if (stride > 1 || more == 0) {
    const std::string part = more > 0 ? "pixels" : "";
    constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
    to.AddNode(layer, "Slice",
               {input, to.AddInts(layer, "starts", {0, 0}), to.AddInts(layer, "ends", {kEnd, kEnd}),
                to.AddInts(layer, "axes", {2, 3}), to.AddInts(layer, "steps", {stride, stride})},
               part);
    input = to.PartOf(layer, "pixels");
  }
  if (more > 0)
    to.AddNode(layer, "Pad", {input, to.AddInts(layer, "pads", {0, 0, 0, 0, 0, more, 0, 0})});
}

void Pad(Exporter& to, const ListedLayer& layer) {
  const std::vector<int64_t> border = BorderOf(layer.options);
  const std::string input = to.InputsOf(layer)[0];
  to.AddNode(
      layer, "Pad",
      {input, to.AddInts(layer, "pads", {0, 0, border[0], border[1], 0, 0, border[2], border[3]}),
       to.AddNumber(layer, "value", layer.options.Float("value"))});
}

void Slice(Exporter& to, const ListedLayer& layer) {
  const int64_t begin = layer.options.Int("begin");
  const std::string input = to.InputsOf(layer)[0];
  to.AddNode(layer, "Slice",
             {input, to.AddInts(layer, "starts", {begin}),
              to.AddInts(layer, "ends", {begin + layer.options.Int("channels")}),
              to.AddInts(layer, "axes", {1})});
}

/// The Transpose has the layer's name, because the importer makes the layer from it.
void ChannelShuffle(Exporter& to, const ListedLayer& layer) {
  const int64_t groups = layer.options.Int("groups");
  const std::string input = to.InputsOf(layer)[0];
  std::vector<int64_t> whole = {0}, apart = {0, groups, layer.output[0] / groups},
                       order = {0, 2, 1};
  for (int axis = 0; axis < layer.output.rank(); ++axis) whole.push_back(layer.output[axis]);
  for (int axis = 1; axis < layer.output.rank(); ++axis) {
    apart.push_back(layer.output[axis]);
    order.push_back(axis + 2);
  }
  to.AddNode(layer, "Reshape", {input, to.AddInts(layer, "apart", apart)}, "groups");
  onnx::NodeProto& turned = to.AddNode(layer, "Transpose", {to.PartOf(layer, "groups")});
  turned.set_output(0, to.PartOf(layer, "turned"));
  Set(turned, "perm", order);
  to.AddNode(layer, "Reshape", {turned.output(0), to.AddInts(layer, "whole", whole)}, "channels")
      .set_output(0, to.TensorOf(layer.name));
}

}  // namespace

Writers WindowWriters() {
  return {{"average_pool", AveragePool}, {"channel_shuffle", ChannelShuffle},
          {"convolution", Convolution},  {"global_average_pool", GlobalAveragePool},
          {"max_pool", MaxPool},         {"pad", Pad},
          {"shortcut", Shortcut},        {"slice", Slice}};
}

}  // namespace yoke::onnx_file
