// Writes layers as ONNX: sliding windows, and layers that crop images.
#include <array>
#include <limits>

#include "base/check.h"

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

std::vector<int64_t> StrideOf(const Options& options) {
  return PairOf(options, options.Has("stride") ? "stride" : "kernel");
}

void SetWindow(onnx::NodeProto& node, const ListedLayer& layer,
               const std::vector<int64_t>& border) {
  Set(node, "kernel_shape", PairOf(layer.options, "kernel"));
  Set(node, "strides", StrideOf(layer.options));
  Set(node, "pads", border);
}

void Convolution(Exporter& to, const ListedLayer& layer) {
  onnx::NodeProto& node = to.AddNode(layer, "Conv", to.InputsOf(layer));
  SetWindow(node, layer, BorderOf(layer.options));
  Set(node, "dilations", PairOf(layer.options, "dilation"));
  Set(node, "group", layer.options.Int("groups"));
}

/// The border of a pool with which ONNX counts the windows that the layer has; and whether it must
/// round up for that. A last window that would start past the image, which the layer leaves out,
/// has no place in the border then.
struct PoolBorder {
  std::vector<int64_t> border;
  bool round_up = false;
};

PoolBorder PoolBorderOf(const Exporter& to, const ListedLayer& layer) {
  PoolBorder pool = {.border = BorderOf(layer.options)};
  const std::vector<int64_t> kernel = PairOf(layer.options, "kernel"),
                             stride = StrideOf(layer.options);
  const Shape image = to.InputShape(layer);
  std::array<int64_t, 2> room{};  // how far the first window can move
  for (size_t i = 0; i < 2; ++i) {
    const int axis = static_cast<int>(i) + 1;
    room[i] = image[axis] + pool.border[i] + pool.border[i + 2] - kernel[i];
    pool.round_up = pool.round_up || layer.output[axis] > room[i] / stride[i] + 1;
  }
  for (size_t i = 0; pool.round_up && i < 2; ++i)
    if (layer.output[static_cast<int>(i) + 1] == room[i] / stride[i] + 1)
      pool.border[i + 2] -= room[i] % stride[i];
  Require(pool.border[2] >= 0 && pool.border[3] >= 0,
          "layer '{}' leaves out its last window along one axis and rounds up along the other, for "
          "which ONNX has no form",
          layer.name);
  return pool;
}

onnx::NodeProto& Pool(Exporter& to, const ListedLayer& layer, const char* type) {
  onnx::NodeProto& node = to.AddNode(layer, type, to.InputsOf(layer));
  const PoolBorder pool = PoolBorderOf(to, layer);
  SetWindow(node, layer, pool.border);
  Set(node, "ceil_mode", int64_t{pool.round_up});
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
