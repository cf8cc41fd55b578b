// Growth: a file of four times as many nodes takes about four times as long to become a graph.
#include <gtest/gtest.h>

#include "base/check.h"
#include "base/support/growth.h"
#include "model/graph.h"
#include "model/onnx/onnx.h"

namespace yoke::growth_test {

// Just enough of protobuf's wire format for a chain of nodes (field numbers are those of
// onnx.proto).
std::string Varint(uint64_t number) {
  std::string bytes;
  for (; number >= 128; number >>= 7) bytes += static_cast<char>(number | 128);
  return bytes + static_cast<char>(number);
}
std::string Number(int field, uint64_t number) { return Varint(field << 3) + Varint(number); }
std::string Text(int field, const std::string& bytes) {
  return Varint(field << 3 | 2) + Varint(bytes.size()) + bytes;
}

std::string Floats(const std::string& name, std::initializer_list<int> dims) {
  std::string tensor;
  int64_t count = 1;
  for (const int dim : dims) tensor += Number(1, dim), count *= dim;
  return tensor + Number(2, 1) + Text(8, name) + Text(9, std::string(4 * count, '\0'));
}

/// An input or output [N, width].
std::string Row(const std::string& name, int width) {
  const std::string shape = Text(1, Text(2, "N")) + Text(1, Number(1, width));
  return Text(1, name) + Text(2, Text(1, Number(1, 1) + Text(2, shape)));
}

/// A chain of `count` products and activations in turn; the nodes have no names of their own.
std::string Chain(int count) {
  std::string graph, last = "in";
  for (int i = 0; i < count; ++i) {
    const std::string output = i + 1 < count ? fmt::format("t{}", i) : "out";
    const bool product = i % 2 != 0;
    const std::string weight = fmt::format("w{}", i);
    graph += Text(1, Text(1, last) + (product ? Text(1, weight) : "") + Text(2, output) +
                         Text(4, product ? "Gemm" : "Sigmoid"));
    if (product) graph += Text(5, Floats(weight, {4, 4}));
    last = output;
  }
  graph += Text(11, Row("in", 4)) + Text(12, Row("out", 4));
  return Number(1, 8) + Text(7, graph) + Text(8, Number(2, 17));
}

TEST(Growth, OfAChainFromOnnxIsNearlyLinear) {
  ExpectNearlyLinear(1000, 20, [](int nodes) {
    const std::string bytes = Chain(nodes);
    return ProcessorSeconds([&] {
      const OnnxModel model = ParseOnnx(bytes, "chain.onnx", "");
      const Graph graph(model.layers, {.input = {.shape = model.input}, .outputs = model.outputs});
      const auto plan =
          graph.Compile({.batch = 4, .training = true, .target = {.reference = true}});
      EXPECT_GT(plan->MemoryBytes(), 0);
      EXPECT_EQ(graph.Info().size(), static_cast<size_t>(nodes) + 1);  // and the loss
    });
  });
}

}  // namespace yoke::growth_test
