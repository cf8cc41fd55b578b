// Operators with a sliding window: convolution and pooling.
#include <algorithm>

#include "model/onnx/importer.h"

namespace yoke::onnx_file {
namespace {

List AsList(const std::vector<int64_t>& values) { return {values.begin(), values.end()}; }

/// The attributes of a node with a sliding window: height and width of each.
struct WindowAttributes {
  std::vector<int64_t> kernel;
  std::vector<int64_t> stride;
  std::vector<int64_t> padding;  ///< For both sides, or top, left, bottom, right.
  std::vector<int64_t> dilation = {1, 1};
  bool ceil_mode = false;

  /// As the options `kernel`, `stride` and `padding` of a layer.
  Table Options() const {
    return {{"kernel", AsList(kernel)}, {"stride", AsList(stride)}, {"padding", AsList(padding)}};
  }
};

/// An attribute with one number per axis.
std::vector<int64_t> AxisValues(const Node& node, const char* name, size_t count,
                                int64_t fallback) {
  std::vector<int64_t> values = node.Ints(name);
  if (values.empty()) values.assign(count, fallback);
  node.Need(values.size() == count, "its {} are {} numbers; expected {} (images only)", name,
            values.size(), count);
  for (const int64_t number : values)
    node.Need(number >= 0 && number <= kLongestAxis, "its {} hold {}", name, number);
  return values;
}

/// Padding before and after an axis so that windows of stride 1 keep its length (SAME_UPPER: an odd
/// element goes to the end).
std::vector<int64_t> SamePadding(const WindowAttributes& window, const Shape& image, bool upper) {
  std::vector<int64_t> pads(4);
  for (size_t i = 0; i < 2; ++i) {
    const int64_t length = image[static_cast<int>(i) + 1], stride = window.stride[i];
    const int64_t windows = (length + stride - 1) / stride;
    const int64_t span = (window.kernel[i] - 1) * window.dilation[i] + 1;
    const int64_t total = std::max<int64_t>(0, (windows - 1) * stride + span - length);
    pads[i] = upper ? total / 2 : total - total / 2;
    pads[i + 2] = total - pads[i];
  }
  return pads;
}

std::vector<int64_t> ReadPadding(const Node& node, const WindowAttributes& window,
                                 const Shape& image) {
  const std::string automatic = node.Text("auto_pad", "NOTSET");
  std::vector<int64_t> pads = AxisValues(node, "pads", 4, 0);
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER")
    pads = SamePadding(window, image, automatic == "SAME_UPPER");
  else
    node.Need(automatic == "NOTSET" || automatic == "VALID", "its auto_pad is '{}'", automatic);
  if (automatic == "VALID") pads.assign(4, 0);
  if (pads[0] == pads[2] && pads[1] == pads[3]) pads.resize(2);
  return pads;
}

/// Throws UserError if no layer supports the window. `kernel` is the kernel size from the node's
/// weights, or empty.
WindowAttributes ReadWindow(const Node& node, const Shape& image, std::vector<int64_t> kernel) {
  WindowAttributes window;
  const std::vector<int64_t> stated = node.Ints("kernel_shape");
  node.Need(!kernel.empty() || !stated.empty(), "it has no kernel_shape");
  if (kernel.empty() || !stated.empty()) window.kernel = AxisValues(node, "kernel_shape", 2, 1);
  node.Need(kernel.empty() || stated.empty() || kernel == stated,
            "its kernel_shape is not the one of its weights");
  if (!kernel.empty()) window.kernel = std::move(kernel);
  window.stride = AxisValues(node, "strides", 2, 1);
  for (size_t i = 0; i < 2; ++i)
    node.Need(window.kernel[i] >= 1 && window.stride[i] >= 1 && window.kernel[i] <= kLongestAxis,
              "its kernel_shape and strides must be at least 1");
  window.dilation = AxisValues(node, "dilations", 2, 1);
  for (const int64_t dilation : window.dilation)
    node.Need(dilation >= 1, "its dilations must be at least 1");
  node.Need(node.Int("storage_order", 0) == 0, "its storage_order is not 0");
  window.padding = ReadPadding(node, window, image);
  window.ceil_mode = node.Int("ceil_mode", 0) != 0;
  return window;
}

/// The input of a sum with a node that is not the node's output.
int BiasInput(const Node& sum, const Node& node) { return sum.input(0) == node.output() ? 1 : 0; }

/// The Add of a number for each channel that alone reads a convolution without a bias.
std::optional<Node> BiasSum(const Importer& importer, const Node& node, int64_t channels) {
  const std::optional<Node> sum = importer.OnlyReader(node.output());
  if (!sum || sum->type() != "Add" || !node.input(2).empty()) return {};
  const int other = BiasInput(*sum, node);
  if (!importer.IsConstant(sum->input(other))) return {};
  std::vector<int64_t> dims = importer.Values(*sum, other).dims;
  if (dims.size() == 4 && dims[0] == 1) dims.erase(dims.begin());
  return dims == std::vector<int64_t>{channels, 1, 1} ? sum : std::nullopt;
}

void Conv(Importer& importer, const Node& node) {
  const Datum& image = importer.Image(node, 0);
  Constant weight = importer.Values(node, 1);
  node.Need(weight.dims.size() == 4 && !weight.integer,
            "its weights have {} axes; expected 4, those of images", weight.dims.size());
  const int64_t groups = node.Int("group", 1);
  const Shape shape = importer.ShapeOf(image);
  node.Need(groups >= 1 && groups <= shape[0] && weight.dims[1] * groups == shape[0],
            "its weights are for {} channels a group; its input has {} in {} groups",
            weight.dims[1], shape[0], groups);
  NewLayer layer{.type = "convolution", .inputs = {image}, .named_after = node.input(1)};
  layer.options = {{"outputs", weight.dims[0]}};
  const WindowAttributes window = ReadWindow(node, shape, {weight.dims[2], weight.dims[3]});
  layer.options.insert(layer.options.end(), {{"kernel", AsList(window.kernel)},
                                             {"stride", AsList(window.stride)},
                                             {"padding", AsList(window.padding)},
                                             {"dilation", AsList(window.dilation)},
                                             {"groups", groups}});
  layer.weights.emplace_back("weight", std::move(weight.floats));
  const std::optional<Node> sum = BiasSum(importer, node, weight.dims[0]);
  if (sum)
    layer.weights.emplace_back("bias", importer.Values(*sum, BiasInput(*sum, node)).floats);
  else if (!node.input(2).empty())
    layer.weights.emplace_back("bias", importer.Values(node, 2).floats);
  else
    layer.options.emplace_back("bias", false);
  importer.AddLayer(sum.value_or(node), std::move(layer));
  if (sum) importer.Give(node.output(), importer.Of(*sum, sum->output()));
}

void AddPool(Importer& importer, const Node& node, const char* type, const WindowAttributes& window,
             Table more = {}) {
  for (const int64_t dilation : window.dilation)
    node.Need(dilation == 1, "its window has gaps (dilations); expected none");
  Table options = window.Options();
  options.emplace_back("ceil_mode", window.ceil_mode);
  options.insert(options.end(), more.begin(), more.end());
  importer.AddLayer(node, {.type = type, .options = options, .inputs = {importer.Image(node, 0)}});
}

void MaxPool(Importer& importer, const Node& node) {
  node.Need(node.proto().output_size() == 1 || node.proto().output(1).empty(),
            "the places of the maxima cannot be an output");
  AddPool(importer, node, "max_pool",
          ReadWindow(node, importer.ShapeOf(importer.Image(node, 0)), {}));
}

void AveragePool(Importer& importer, const Node& node) {
  const WindowAttributes window = ReadWindow(node, importer.ShapeOf(importer.Image(node, 0)), {});
  const bool padded = std::ranges::any_of(window.padding, [](int64_t side) { return side > 0; });
  Table more;
  if (padded && node.Int("count_include_pad", 0) == 0) more.emplace_back("count_padding", false);
  AddPool(importer, node, "average_pool", window, std::move(more));
}

/// A window of the whole image.
WindowAttributes Whole(const Shape& image) {
  return {.kernel = {image[1], image[2]}, .stride = {image[1], image[2]}, .padding = {0, 0}};
}

void GlobalMaxPool(Importer& importer, const Node& node) {
  AddPool(importer, node, "max_pool", Whole(importer.ShapeOf(importer.Image(node, 0))));
}

/// Whether all readers of the node's output flatten it.
bool RowWanted(Importer& importer, const Node& node) {
  return std::ranges::all_of(importer.Readers(node.output()), [&](int reader) {
    const std::string& type = node.file().graph().node(reader).op_type();
    return type == "Flatten" || type == "Reshape" || type == "Squeeze";
  });
}

void AddGlobalAverage(Importer& importer, const Node& node, bool keep_axes) {
  const Datum& image = importer.Image(node, 0);
  const Shape shape = importer.ShapeOf(image);
  if (keep_axes && !RowWanted(importer, node))
    return importer.AddLayer(
        node, {.type = "global_average_pool", .options = {{"keep_axes", true}}, .inputs = {image}});
  importer.AddLayer(node, {.type = "global_average_pool", .inputs = {image}});
  Datum row = importer.Of(node, node.output());
  row.dims = {kBatch, shape[0]};
  if (keep_axes) row.dims.insert(row.dims.end(), {1, 1});
  importer.Give(node.output(), std::move(row));
}

void GlobalAveragePool(Importer& importer, const Node& node) {
  AddGlobalAverage(importer, node, /*keep_axes=*/true);
}

void ReduceMean(Importer& importer, const Node& node) {
  std::vector<int64_t> axes = importer.Integers(node, 1, "axes");
  for (int64_t& axis : axes)
    if (axis < 0) axis += 4;
  std::ranges::sort(axes);
  node.Need(axes == std::vector<int64_t>{2, 3},
            "only the mean over height and width of an image is supported");
  AddGlobalAverage(importer, node, node.Int("keepdims", 1) != 0);
}

}  // namespace

Operators WindowOperators() {
  return {{"AveragePool", AveragePool},
          {"Conv", Conv},
          {"GlobalAveragePool", GlobalAveragePool},
          {"GlobalMaxPool", GlobalMaxPool},
          {"MaxPool", MaxPool},
          {"ReduceMean", ReduceMean}};
}

}  // namespace yoke::onnx_file
