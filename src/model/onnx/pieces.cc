// Operators that crop images, add borders and channels, or reorder channels.
#include <algorithm>

#include "model/onnx/importer.h"

namespace yoke::onnx_file {
namespace {

/// The padding of a Pad: before and after each of the axes batch, channels, height and width.
struct Padding {
  std::vector<int64_t> pads;
  double value = 0;

  /// Whether it only appends channels of zeros.
  bool IsChannels() const {
    const std::vector<int64_t> rest(pads.begin() + 6, pads.end());
    return value == 0 && std::ranges::all_of(pads.begin(), pads.begin() + 5, IsZero) &&
           std::ranges::all_of(rest, IsZero);
  }
  bool IsBorder() const { return IsZero(pads[0] | pads[1] | pads[4] | pads[5]); }
  static bool IsZero(int64_t number) { return number == 0; }
};

/// The pads for the axes that a Pad names, or for all.
std::vector<int64_t> AllPads(Importer& importer, const Node& node) {
  std::vector<int64_t> pads = importer.Integers(node, 1, "pads"), axes = {0, 1, 2, 3};
  if (!node.input(3).empty()) axes = importer.Integers(node, 3);
  node.Need(pads.size() == 2 * axes.size(), "it has {} pads for {} axes", pads.size(), axes.size());
  std::vector<int64_t> all(8);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + 4 : axes[i];
    node.Need(axis >= 0 && axis < 4, "there is no axis {} in a batch of images", axes[i]);
    all[static_cast<size_t>(axis)] = pads[i];
    all[static_cast<size_t>(axis) + 4] = pads[i + axes.size()];
  }
  return all;
}

Padding ReadPad(Importer& importer, const Node& node) {
  const std::string mode = node.Text("mode", "constant");
  node.Need(mode == "constant", "its mode is '{}'; expected constant", mode);
  Padding padding{.pads = AllPads(importer, node)};
  for (const int64_t pad : padding.pads)
    node.Need(pad >= 0 && pad <= kLongestAxis, "it adds {} along an axis", pad);
  padding.value = importer.Number(node, 2, "value", 0);
  node.Need(padding.IsBorder() || padding.IsChannels(),
            "only a border of one number around images, or channels of zeros behind the others can "
            "be added");
  return padding;
}

void AddShortcut(Importer& importer, const Node& node, const Datum& image, int64_t stride,
                 int64_t added) {
  const int64_t channels = importer.ShapeOf(image)[0];
  importer.AddLayer(node, {.type = "shortcut",
                           .options = {{"outputs", channels + added}, {"stride", stride}},
                           .inputs = {image}});
}

void Pad(Importer& importer, const Node& node) {
  const Datum image = importer.Image(node, 0);
  const Padding padding = ReadPad(importer, node);
  const std::vector<int64_t>& pads = padding.pads;
  if (!padding.IsBorder()) return AddShortcut(importer, node, image, 1, pads[5]);
  importer.AddLayer(node, {.type = "pad",
                           .options = {{"padding", List{pads[2], pads[3], pads[6], pads[7]}},
                                       {"value", padding.value}},
                           .inputs = {image}});
}

/// Begin, end and step of a Slice along each of its axes.
struct Cuts {
  std::vector<int64_t> starts, ends, axes, steps;
};

Cuts ReadCuts(Importer& importer, const Node& node, int64_t rank) {
  Cuts cuts{.starts = importer.Integers(node, 1, "starts"),
            .ends = importer.Integers(node, 2, "ends"),
            .axes = importer.Integers(node, 3, "axes")};
  const size_t count = cuts.starts.size();
  if (cuts.axes.empty())
    for (size_t i = 0; i < count; ++i) cuts.axes.push_back(static_cast<int64_t>(i));
  cuts.steps.assign(count, 1);
  if (!node.input(4).empty()) cuts.steps = importer.Integers(node, 4);
  node.Need(cuts.ends.size() == count && cuts.axes.size() == count && cuts.steps.size() == count,
            "its starts, ends, axes and steps are not equally many");
  for (int64_t& axis : cuts.axes)
    if (axis < 0) axis += rank;
  return cuts;
}

/// Every n-th pixel, with the channels that a following Pad adds.
void SlicePixels(Importer& importer, const Node& node, const Cuts& cuts) {
  const Datum image = importer.Image(node, 0);
  const Shape shape = importer.ShapeOf(image);
  const bool whole = cuts.starts == std::vector<int64_t>{0, 0} &&
                     cuts.axes == std::vector<int64_t>{2, 3} && cuts.ends[0] >= shape[1] &&
                     cuts.ends[1] >= shape[2];
  node.Need(whole && cuts.steps[0] == cuts.steps[1] && cuts.steps[0] >= 1 &&
                cuts.steps[0] <= kLongestAxis,
            "of an image, only every so manyth pixel of both axes, or some of the channels can be "
            "taken");
  const std::optional<Node> reader = importer.OnlyReader(node.output());
  if (!reader || reader->type() != "Pad" || ReadPad(importer, *reader).IsBorder())
    return AddShortcut(importer, node, image, cuts.steps[0], 0);
  AddShortcut(importer, *reader, image, cuts.steps[0], ReadPad(importer, *reader).pads[5]);
  importer.Give(node.output(), importer.Of(*reader, reader->output()));
}

/// Adds a range of channels as a layer.
void AddSlice(Importer& importer, const Node& node, int64_t begin, int64_t channels,
              int output = 0) {
  importer.AddLayer(node,
                    {.type = "slice",
                     .options = {{"begin", begin}, {"channels", channels}},
                     .inputs = {importer.Of(node, node.input(0))}},
                    output);
}

/// Requires data with channels: a row or an image.
const Datum& Channels(Importer& importer, const Node& node) {
  const Datum& datum = importer.Of(node, node.input(0));
  node.Need(!datum.layer.empty() && !importer.IsView(datum),
            "its input is neither a row nor an image");
  return datum;
}

/// Lengths of the parts: an input, or `num_outputs` equal ones of which the last may be shorter.
std::vector<int64_t> PartsOf(Importer& importer, const Node& node, int64_t channels) {
  const std::vector<int64_t> stated = importer.Integers(node, 1, "split");
  if (!stated.empty()) return stated;
  const auto outputs = static_cast<int64_t>(node.proto().output_size());
  const int64_t part = (channels + outputs - 1) / outputs;
  std::vector<int64_t> parts(static_cast<size_t>(outputs), part);
  parts.back() = channels - part * (outputs - 1);
  return parts;
}

void Split(Importer& importer, const Node& node) {
  const int outputs = node.proto().output_size();
  node.Need(outputs > 0, "it has no output");
  const Datum datum = Channels(importer, node);
  const auto rank = static_cast<int64_t>(datum.dims.size());
  const int64_t axis = node.Int("axis", 0), channels = datum.dims[1];
  node.Need(axis == 1 || axis == 1 - rank, "it splits axis {}; expected 1, the channels", axis);
  const std::vector<int64_t> parts = PartsOf(importer, node, channels);
  node.Need(static_cast<int>(parts.size()) == outputs,
            "it has {} outputs and the lengths of {} parts", outputs, parts.size());
  int64_t begin = 0;
  for (int i = 0; i < outputs; ++i) {
    const int64_t part = parts[static_cast<size_t>(i)];
    node.Need(part >= 1 && part <= channels - begin, "its parts are not those of {} channels",
              channels);
    const std::string& name = node.output(i);
    if (!importer.Readers(name).empty() || name == importer.ends().output)
      AddSlice(importer, node, begin, part, i);
    begin += part;
  }
}

}  // namespace

void SliceLayer(Importer& importer, const Node& node) {
  const auto rank = static_cast<int64_t>(importer.Of(node, node.input(0)).dims.size());
  const Cuts cuts = ReadCuts(importer, node, rank);
  if (cuts.starts.size() == 2) return SlicePixels(importer, node, cuts);
  const int64_t channels = Channels(importer, node).dims[1];
  node.Need(cuts.axes == std::vector<int64_t>{1} && cuts.steps[0] == 1,
            "of an image, only every so manyth pixel of both axes, or some of the channels can be "
            "taken");
  const auto clamped = [&](int64_t i) {
    return std::clamp<int64_t>(i < 0 ? i + channels : i, 0, channels);
  };
  const int64_t begin = clamped(cuts.starts[0]), end = clamped(cuts.ends[0]);
  node.Need(begin < end, "it takes no channel");
  AddSlice(importer, node, begin, end - begin);
}

void TransposeLayer(Importer& importer, const Node& node) {
  if (NormalizeChannels(importer, node)) return;
  const Datum datum = importer.Of(node, node.input(0));
  const Shape shape = importer.ShapeOf(datum);
  std::vector<int64_t> order(datum.dims.size()), dims = datum.dims;
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  const bool groups = dims.size() >= 3 && static_cast<int>(dims.size()) == shape.rank() + 2 &&
                      dims[1] * dims[2] == shape[0];
  if (groups) std::swap(order[1], order[2]);
  node.Need(groups && node.Ints("perm") == order,
            "only two axes into which channels were taken apart can be exchanged (a channel "
            "shuffle)");
  const int64_t count = dims[1];
  std::swap(dims[1], dims[2]);
  importer.AddLayer(node, {.type = "channel_shuffle",
                           .options = {{"groups", count}},
                           .inputs = {datum},
                           .dims = std::move(dims)});
}

Operators PieceOperators() { return {{"Pad", Pad}, {"Split", Split}}; }

}  // namespace yoke::onnx_file
