// onnx_scores: the scores that yoke computes for ONNX files, for the tests that compare them with
// ONNX Runtime's. Reads lines FILE INPUT OUTPUT [COPY [train]] with tabs between, answers each with
// a line: "ok" or why the file is refused. INPUT and OUTPUT hold f32 numbers, examples one behind
// the other; COPY is the model written as ONNX again; with "train" a step of gradient descent must
// lower the loss by what the gradient says.
#include <fmt/core.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "base/check.h"
#include "model/onnx/onnx.h"

namespace yoke {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void WriteFile(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<int64_t>(bytes.size()));
}

/// Calls body(index) for every number that has a gradient.
template <typename Body>
void ForEachNumber(const ParamLayout& layout, const Body& body) {
  for (const Slice& slice : layout.slices())
    for (int64_t i = 0; slice.kind == SliceKind::kDense && i < slice.Count(); ++i)
      body(slice.offset + i);
}

/// A step so short that the loss should fall by a thousandth.
void TrainStep(const Graph& graph, ParamStore& params, Batch batch, int64_t outputs) {
  Gradients gradients(graph.layout(), Cpu());
  for (int64_t i = 0; i < batch.size; ++i) {
    batch.examples.push_back(i);
    batch.classes.push_back(static_cast<int32_t>(i % outputs));
  }
  const auto plan = graph.Compile({.batch = batch.size, .training = true});
  const ParamView view = params.View(&gradients);
  plan->PrepareAndForward(batch, view);
  plan->Backward(batch, view, {});
  const double before = plan->Loss(), fall = before / 1000;
  double square = 0;
  ForEachNumber(graph.layout(), [&](int64_t i) {
    square += double(gradients.dense().Host()[i]) * double(gradients.dense().Host()[i]);
  });
  ForEachNumber(graph.layout(), [&](int64_t i) {
    params.values().Host()[i] -= float(fall / square * double(gradients.dense().Host()[i]));
  });
  plan->PrepareAndForward(batch, view);
  const double fell = before - plan->Loss();
  Require(fell > 0.7 * fall && fell < 1.3 * fall,
          "a step that should lower the loss {} by {} lowers it by {}", before, fall, fell);
}

void Run(const std::vector<std::string>& words) {
  const OnnxModel model = ReadOnnx(words[0]);
  const ModelTask task{.input = {.shape = model.input}, .outputs = model.outputs};
  const Graph graph(model.layers, task);
  ParamStore params(graph.layout(), Cpu());
  CopyWeights(model, words[0], graph.layout(), params.values().Host().data());
  std::string input = ReadFile(words[1]);
  Batch batch;
  batch.size = static_cast<int64_t>(input.size()) / 4 / model.input.Count();
  batch.dense = {.shape = model.input.Batched(batch.size), .data = input.data()};
  const auto plan = graph.Compile({.batch = batch.size});
  plan->PrepareAndForward(batch, params.View());
  const Tensor scores = plan->Scores();
  WriteFile(words[2], {static_cast<const char*>(scores.data),
                       static_cast<size_t>(batch.size * model.outputs * 4)});
  if (words.size() > 3)
    WriteFile(words[3], WriteOnnx({.layers = model.layers,
                                   .task = task,
                                   .layout = graph.layout(),
                                   .values = params.values().Host().data()}));
  if (words.size() > 4) TrainStep(graph, params, std::move(batch), model.outputs);
}

std::string Answer(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream text(line);
  for (std::string word; std::getline(text, word, '\t');) words.push_back(word);
  try {
    Run(words);
    return "ok";
  } catch (const UserError& error) {
    return error.what();
  }
}

}  // namespace
}  // namespace yoke

int main() {
  for (std::string line; std::getline(std::cin, line);) fmt::print("{}\n", yoke::Answer(line));
  return 0;
}
