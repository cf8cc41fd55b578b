// Passes each word through the layers below the output.
#include "cli/word_vectors.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace yoke {
namespace {

using Names = std::span<const std::string>;

/// A batch of the words [first, first + count), each the only feature of its example.
Batch OneHot(int64_t first, int64_t count, int64_t words) {
  Batch batch;
  batch.size = count;
  batch.is_sparse = true;
  batch.sparse.width = words;
  batch.sparse.ids.resize(static_cast<size_t>(count));
  batch.sparse.offsets.resize(static_cast<size_t>(count) + 1);
  std::iota(batch.sparse.ids.begin(), batch.sparse.ids.end(), static_cast<int32_t>(first));
  std::iota(batch.sparse.offsets.begin(), batch.sparse.offsets.end(), int64_t{0});
  return batch;
}

/// The lines of words whose vectors lie one after another.
std::string Lines(Names words, std::span<const float> vectors) {
  const size_t dimensions = vectors.size() / words.size();
  std::string lines;
  for (const std::string& word : words) {
    lines += word;
    for (const float x : vectors.first(dimensions))
      fmt::format_to(std::back_inserter(lines), " {}", x);
    lines += '\n';
    vectors = vectors.subspan(dimensions);
  }
  return lines;
}

void RequireWords(const ModelFile& model) {
  const DataInfo& data = model.header().data;
  Require(data.multi_label && !data.label_names.empty(),
          "{}: the model was not trained on text (format skip-gram) and has no vectors of words; "
          "expected a file to write such as model.onnx",
          model.folder());
  Require(model.graph().Output().has_value(),
          "{}: vectors of words are the dense input of a model's last linear layer, and this model "
          "has none: train one with a hidden layer, such as xmc",
          model.folder());
}

}  // namespace

int64_t WriteWordVectors(const ModelFile& model, OutputFile& file) {
  constexpr int64_t kAtOnce = 256;
  RequireWords(model);
  const Names words = model.header().data.label_names;
  const int64_t dimensions = model.graph().Output()->inputs;
  file.Write(fmt::format("{} {}\n", words.size(), dimensions));
  std::unique_ptr<GraphPlan> plan;
  for (int64_t first = 0, compiled = 0; first < std::ssize(words); first += kAtOnce) {
    const int64_t count = std::min(kAtOnce, std::ssize(words) - first);
    if (count != std::exchange(compiled, count))
      plan = model.graph().Compile({.batch = count, .below_output = true});
    plan->PrepareAndForward(OneHot(first, count, std::ssize(words)), model.params());
    const auto size = static_cast<size_t>(count);
    file.Write(Lines(words.subspan(static_cast<size_t>(first), size),
                     {plan->Scores().As<float>(), size * static_cast<size_t>(dimensions)}));
  }
  return dimensions;
}

}  // namespace yoke
