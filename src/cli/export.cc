// yoke export: a checkpoint's model as an ONNX file, or its vectors of words as text.
#include <fmt/ranges.h>

#include <filesystem>

#include "api/model_file.h"
#include "base/check.h"
#include "cli/command.h"
#include "cli/word_vectors.h"
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
