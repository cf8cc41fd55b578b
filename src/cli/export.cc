// yoke export: a checkpoint's model as an ONNX file, or its vectors of words as text.
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "api/model_file.h"
#include "base/check.h"
#include "cli/command.h"
#include "data/writers.h"
#include "train/number_format.h"
#include "train/record/run_directory.h"

namespace yoke {
namespace {

/// Devices and pipes take ONNX under any name.
void RequireKnownName(const std::string& file) {
  std::error_code none;
  const bool in_place =
      std::filesystem::exists(file, none) && !std::filesystem::is_regular_file(file, none);
  Require(in_place || file.ends_with(".onnx") || file.ends_with(".txt"),
          "{}: expected a name that ends in .onnx, or in .txt for vectors of words", file);
}

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

/// Writes what the layers below the output give for each word of a model that was trained on text
/// (format skip-gram), in the text format of word2vec: a line "words dimensions", then "word v1 v2
/// ..." for each, the most frequent word first. Returns the dimensions. Throws UserError if the
/// model has no words or no linear output layer.
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

class ExportCommand : public Command {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Place("CHECKPOINT", &checkpoint_, "A checkpoint such as runs/NAME/last");
    arguments.Place("FILE", &file_,
                    "The ONNX file to write, NAME.onnx; NAME.txt: vectors of words");
    arguments.Flag("--complete", &complete_,
                   "Normalization and softmax or sigmoid are in the file, too: it takes values as "
                   "the data have them, and gives probabilities");
  }

  int Run(Output& out) override {
    Require(!checkpoint_.empty() && !file_.empty(),
            "`yoke export` needs a checkpoint and a file to write, such as model.onnx");
    const ModelFile model(checkpoint_);
    RequireNoInput(file_, InputsOf(model.job(), model.folder()));
    RequireKnownName(file_);
    return file_.ends_with(".txt") ? ExportVectors(model, out) : ExportOnnx(model, out);
  }

 private:
  int ExportVectors(const ModelFile& model, Output& out) const {
    OutputFile file(file_);
    const int64_t dimensions = WriteWordVectors(model, file);
    file.Commit();
    const auto words = std::ssize(model.header().data.label_names);
    out.Event("export", {{"checkpoint", model.folder()},
                         {"file", file_},
                         {"bytes", file.bytes()},
                         {"words", words},
                         {"dimensions", dimensions}});
    out.Text(fmt::format("{}: {}, {} vectors of words with {} numbers each", file_,
                         Bytes(double(file.bytes())), words, dimensions));
    return 0;
  }

  int ExportOnnx(const ModelFile& model, Output& out) const {
    const DataInfo& data = model.header().data;
    const std::string bytes = OnnxOf(model, complete_),
                      input = complete_ ? "value" : InputFormula(data);
    OutputFile file(file_);
    file.Write(bytes);
    file.Commit();
    out.Event("export", {{"checkpoint", model.folder()},
                         {"file", file_},
                         {"bytes", std::ssize(bytes)},
                         {"input", input},
                         {"parameters", model.graph().layout().Parameters()}});
    out.Text(fmt::format("{}: {}, input {} [N, {}], which takes {}", file_,
                         Bytes(double(bytes.size())), "`input`", fmt::join(data.input.axes(), ", "),
                         input));
    return 0;
  }

  std::string checkpoint_;
  std::string file_;
  bool complete_ = false;
};

}  // namespace

CommandEntry export_command() {
  return {"export", "Train and use a model",
          "Write a checkpoint's model as an ONNX file, or its vectors of words",
          "The file takes the model's input after reading the data (for example image bytes as "
          "value/255), "
          "a batch of any size, and gives the scores below the loss. Its metadata has the classes "
          "and the loss, and describes how values become input.\n"
          "A name that ends in .txt: the vectors of words of a model that was trained on text, as "
          "word2vec writes them.\n\n"
          "Examples:\n"
          "  yoke export runs/lenet/last lenet.onnx\n"
          "  yoke export runs/lenet/best lenet.onnx --complete    for programs that have pixels\n"
          "  yoke export runs/text/last vectors.txt",
          [] { return std::unique_ptr<Command>(new ExportCommand); }};
}

}  // namespace yoke
