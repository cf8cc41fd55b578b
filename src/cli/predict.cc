// yoke predict: labels for examples, best first.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>

#include "base/check.h"
#include "cli/command.h"
#include "cli/model_file.h"
#include "kernels/threads.h"
#include "train/human.h"

namespace yoke {
namespace {

/// Examples at once: large enough for full speed, small enough to answer soon and to keep the
/// layers' outputs below 256 MiB.
int64_t BatchSize(const Graph& graph) {
  constexpr int64_t kLargest = 256, kNumbers = 64 << 20;
  int64_t numbers = 1;
  for (const LayerInfo& layer : graph.Info()) numbers += layer.output.Count();
  return std::clamp<int64_t>(kNumbers / numbers, 1, kLargest);
}

/// Scores as probabilities, in place: softmax over all labels, or each label on its own.
void ToProbabilities(std::span<float> scores, bool softmax) {
  if (!softmax) {
    for (float& s : scores) s = 1 / (1 + std::exp(-s));
    return;
  }
  const float greatest = *std::max_element(scores.begin(), scores.end());
  for (float& s : scores) s = std::exp(s - greatest);
  const float sum = std::accumulate(scores.begin(), scores.end(), 0.0F);
  for (float& s : scores) s /= sum;
}

/// Computes the probabilities of a reader's examples, a batch at a time.
class Predictor {
 public:
  Predictor(const ModelFile& model, const Reader& reader) : model_(model), reader_(reader) {
    softmax_ = model.graph().Info().back().type == "softmax_cross_entropy";
  }

  /// Probabilities of examples [begin, begin + size), one row an example; valid until the next
  /// call.
  std::span<float> Scores(int64_t begin, int64_t size) {
    std::vector<int64_t> examples(static_cast<size_t>(size));
    std::iota(examples.begin(), examples.end(), begin);
    reader_.Read({.examples = examples}, batch_);
    if (size != compiled_) plan_ = Compile(compiled_ = size);
    plan_->Forward(batch_, model_.params());
    const Tensor scores = plan_->Scores();
    const auto outputs = static_cast<size_t>(reader_.Info().outputs);
    std::span<float> all(scores.As<float>(), static_cast<size_t>(size) * outputs);
    for (size_t at = 0; at < all.size(); at += outputs)
      ToProbabilities(all.subspan(at, outputs), softmax_);
    return all;
  }

 private:
  std::unique_ptr<GraphPlan> Compile(int64_t size) const {
    return model_.graph().Compile({.batch = size,
                                   .training = false,
                                   .arithmetic = ArithmeticOf(model_.job()),
                                   .reference = model_.job().ReferenceKernels()});
  }

  const ModelFile& model_;
  const Reader& reader_;
  bool softmax_ = true;
  Batch batch_;
  std::unique_ptr<GraphPlan> plan_;
  int64_t compiled_ = 0;
};

class PredictCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("CHECKPOINT", checkpoint_, "A checkpoint such as runs/NAME/last, or a run")
        ->option_text(" ");
    app.add_option("FILE", files_, "Examples, with or without labels")->option_text("...");
    app.add_option("--format", format_, "How FILE is written (default: as the job's data)")
        ->option_text("NAME");
    app.add_option("--top", top_, "Labels to print for each example (default: 1)")
        ->option_text("K");
    AddThreadsOption(app, threads_);
  }

  int Run(Output& out) override {
    Require(!checkpoint_.empty(), "`yoke predict` needs a checkpoint, such as runs/NAME/last");
    Require(!files_.empty(), "`yoke predict` needs a file with examples");
    Require(top_ >= 1, "--top: expected at least 1, got {}", top_);
    const ModelFile model(checkpoint_);
    SetKernelThreads(threads_ > 0 ? threads_ : model.job().Threads());
    const std::unique_ptr<Reader> reader =
        OpenFor(model, {.files = files_, .format = format_, .labels_optional = true});
    Predictor predictor(model, *reader);
    const int64_t batch = BatchSize(model.graph());
    for (int64_t at = 0; at < reader->Size() && !out.closed(); at += batch)
      PrintBatch(predictor, at, std::min(batch, reader->Size() - at), model.head().data, out);
    return 0;
  }

 private:
  void PrintBatch(Predictor& predictor, int64_t begin, int64_t size, const DataInfo& data,
                  Output& out) const {
    const std::span<float> scores = predictor.Scores(begin, size);
    const auto outputs = static_cast<size_t>(data.outputs);
    for (int64_t i = 0; i < size; ++i)
      PrintExample(begin + i, scores.subspan(static_cast<size_t>(i) * outputs, outputs), data, out);
  }

  void PrintExample(int64_t index, std::span<const float> scores, const DataInfo& data,
                    Output& out) const {
    std::vector<std::string> labels;
    std::vector<float> best;
    std::string text = std::to_string(index);
    for (int32_t label : TopScores(scores, top_)) {
      labels.push_back(data.label_names.empty() ? std::to_string(label) : data.label_names[label]);
      best.push_back(scores[label]);
      text += fmt::format("  {} {}", labels.back(), Metric(best.back()));
    }
    out.Event("prediction", {{"index", index}, {"labels", labels}, {"scores", best}});
    out.Text(text);
  }

  std::string checkpoint_;
  std::vector<std::string> files_;
  std::string format_;
  int top_ = 1;
  int threads_ = 0;
};

}  // namespace

CommandEntry predict_command() {
  return {"predict", "Train and use a model", "Name the labels of new examples",
          "Prints a line an example: its number from 0, then labels and their probabilities, best "
          "first. The checkpoint\n"
          "holds what reading needs (labels, sizes, normalization); raw input is enough.\n\n"
          "Examples:\n"
          "  yoke predict runs/lenet/last images.gz            the likeliest class of each image\n"
          "  yoke predict runs/demo/last new-images-idx3-ubyte --format idx --top 3\n"
          "  yoke predict runs/text/last new.svm --json        a JSON object a line",
          [] { return std::unique_ptr<Command>(new PredictCommand); }};
}

}  // namespace yoke
