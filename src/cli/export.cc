// yoke export: a checkpoint's model as an ONNX file, or its vectors of words as text.
#include <fmt/ranges.h>

#include <filesystem>

#include "base/check.h"
#include "cli/command.h"
#include "cli/model_file.h"
#include "cli/word_vectors.h"
#include "data/writers.h"
#include "model/onnx/onnx.h"
#include "train/number_format.h"

namespace yoke {
namespace {

/// "0.5" or "[0.5, 0.25]".
std::string ListText(const std::vector<double>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

/// The formula that turns a value of the data into the model's input.
std::string InputText(const DataInfo& data) {
  const Normalization& by = data.normalization;
  constexpr double kBytes = 255;
  std::string text = "value";
  if (by.scale == 1 / kBytes)
    text = "value/255";
  else if (by.scale != 1)
    text = fmt::format("value * {}", by.scale);
  if (!by.mean.empty()) text = fmt::format("({} - mean)", text);
  if (!by.deviation.empty()) text += "/deviation";
  return text;
}

using Metadata = std::vector<std::pair<std::string, std::string>>;

/// Metadata for readers of the file: how input is made from data, and the names of the classes.
Metadata MetadataOf(const DataInfo& data) {
  Metadata metadata = {{"input", InputText(data)}};
  const Normalization& by = data.normalization;
  if (by.scale != 1) metadata.emplace_back("input_scale", fmt::format("{}", by.scale));
  if (!by.mean.empty()) metadata.emplace_back("input_mean", ListText(by.mean));
  if (!by.deviation.empty()) metadata.emplace_back("input_deviation", ListText(by.deviation));
  if (!data.label_names.empty())
    metadata.emplace_back(data.regression ? "targets" : "classes",
                          FormatJson(ListOf(data.label_names)));
  if (data.regression) {
    metadata.emplace_back("target_mean", ListText(data.target_mean));
    metadata.emplace_back("target_deviation", ListText(data.target_deviation));
  }
  return metadata;
}

/// Devices and pipes take ONNX under any name.
void RequireKnownName(const std::string& file) {
  std::error_code none;
  const bool in_place =
      std::filesystem::exists(file, none) && !std::filesystem::is_regular_file(file, none);
  Require(in_place || file.ends_with(".onnx") || file.ends_with(".txt"),
          "{}: expected a name that ends in .onnx, or in .txt for vectors of words", file);
}

class ExportCommand : public Command {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Place("CHECKPOINT", &checkpoint_, "A checkpoint such as runs/NAME/last");
    arguments.Place("FILE", &file_,
                    "The ONNX file to write, NAME.onnx; NAME.txt: vectors of words");
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
    const ModelTask task = TaskOf(data);
    const List layers = ModelLayers(model.job().model(), task);
    const Metadata metadata = MetadataOf(data);
    const std::string bytes = WriteOnnx({.layers = layers,
                                         .task = task,
                                         .layout = model.graph().layout(),
                                         .values = model.params().values.Host().data(),
                                         .metadata = metadata});
    OutputFile file(file_);
    file.Write(bytes);
    file.Commit();
    out.Event("export", {{"checkpoint", model.folder()},
                         {"file", file_},
                         {"bytes", std::ssize(bytes)},
                         {"input", metadata[0].second},
                         {"parameters", model.graph().layout().Parameters()}});
    out.Text(fmt::format("{}: {}, input {} [N, {}], which takes {}", file_,
                         Bytes(double(bytes.size())), "`input`", fmt::join(data.input.axes(), ", "),
                         metadata[0].second));
    return 0;
  }

  std::string checkpoint_;
  std::string file_;
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
          "  yoke export runs/lenet/best lenet.onnx --json\n"
          "  yoke export runs/text/last vectors.txt",
          [] { return std::unique_ptr<Command>(new ExportCommand); }};
}

}  // namespace yoke
