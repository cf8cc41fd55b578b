// yoke predict: prints labels for examples, best first.
#include <algorithm>

#include "api/predictor.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/model_data.h"
#include "kernels/threads.h"
#include "train/metrics.h"
#include "train/number_format.h"

namespace yoke {
namespace {

constexpr int64_t kJudged = 64;  // examples that tell whether hash tables pay

std::vector<int32_t> LabelsOf(const std::vector<Guess>& guesses) {
  std::vector<int32_t> labels;
  labels.reserve(guesses.size());
  for (const Guess& guess : guesses) labels.push_back(guess.label);
  return labels;
}

/// Seconds of the second of two passes over the same examples: the first prepares.
double SecondsOf(Predictor& predictor, const Reader& reader, int64_t size) {
  predictor.Forward(reader, 0, size);
  const double began = Now();
  predictor.Forward(reader, 0, size);
  return Now() - began;
}

/// Says where hash tables answer no sooner than all scores do, measured on the first examples.
void JudgeTables(const std::string& search, Predictor& tables, Predictor& exact,
                 const Reader& reader, int64_t size, Output& out) {
  const double seconds = SecondsOf(tables, reader, size);
  const double exact_seconds = SecondsOf(exact, reader, size);
  if (seconds < exact_seconds) return;
  double recall = 0;
  for (int64_t i = 0; i < size; ++i) {
    const std::vector<int32_t> best = LabelsOf(exact.Best(i));
    recall += Recall(best, LabelsOf(tables.Best(i)), best.size()) / double(size);
  }
  out.Note(fmt::format("--search {} does not pay here: {:.0f} us an example, all scores take "
                       "{:.0f}, and it finds {:.1f} % of what they find",
                       search, 1e6 * seconds / double(size), 1e6 * exact_seconds / double(size),
                       100 * recall),
           /*aside=*/true);
}

class PredictCommand : public Command {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Place("CHECKPOINT", &checkpoint_, "A checkpoint such as runs/NAME/last, or a run");
    arguments.Place("FILE", &files_, "Examples, with or without labels; - is standard input");
    arguments.Option("--format", "NAME", &format_,
                     "Format of FILE (default: that of the job's data)");
    arguments.Option("--top", "K", &top_, "Labels to print for each example (default: 1)");
    search_.Declare(arguments);
  }

  int Run(Output& out) override {
    Require(!checkpoint_.empty(), "`yoke predict` needs a checkpoint, such as runs/NAME/last");
    Require(!files_.empty(), "`yoke predict` needs a file with examples");
    Require(top_ >= 1, "--top: expected at least 1, got {}", top_);
    const ModelFile model(checkpoint_);
    names_ = model.header().data.label_names;
    SetKernelThreads(search_.threads > 0 ? search_.threads : model.job().Threads());
    const std::unique_ptr<Reader> reader = OpenFor(
        model, {.files = files_, .format = format_, .labels_optional = true, .notes_aside = true},
        out);
    const auto tables = TablesFor(model, *reader, search_, /*aside=*/true, out);
    Predictor predictor(model, {.top = top_, .tables = tables.get()});
    const int64_t batch = PredictionBatch(model.graph(), top_);
    if (tables && out.IsTerminal() && reader->Size() > 0) {  // a program that reads can measure
      Predictor exact(model, {.top = top_});
      JudgeTables(search_.search, predictor, exact, *reader,
                  std::min({kJudged, batch, reader->Size()}), out);
    }
    for (int64_t at = 0; at < reader->Size() && !out.closed(); at += batch)
      PrintBatch(predictor, {at, std::min(batch, reader->Size() - at)}, *reader, out);
    return 0;
  }

 private:
  struct Range {
    int64_t begin, size;
  };

  void PrintBatch(Predictor& predictor, const Range& range, const Reader& reader,
                  Output& out) const {
    predictor.Forward(reader, range.begin, range.size);
    for (int64_t i = 0; i < range.size; ++i)
      PrintExample(range.begin + i, predictor.Best(i), reader, out);
  }

  void PrintExample(int64_t index, const std::vector<Guess>& guesses, const Reader& reader,
                    Output& out) const {
    const std::string file = reader.FileOf(index);
    List labels, scores;
    std::string text = std::to_string(index);
    if (!file.empty()) text += "  " + OneLine(file);
    for (const auto& [label, probability] : guesses) {
      const std::string name = names_.empty() ? std::to_string(label) : names_[label];
      text += fmt::format("  {} {}", OneLine(name), Metric(probability));
      labels.emplace_back(name);
      scores.emplace_back(probability);
    }
    Table event = {{"index", index}, {"labels", std::move(labels)}, {"scores", std::move(scores)}};
    if (!file.empty()) event.emplace_back("file", file);
    out.Event("prediction", std::move(event));
    out.Text(text);
  }

  std::vector<std::string> names_;  // of the classes
  std::string checkpoint_;
  std::vector<std::string> files_;
  std::string format_;
  int top_ = 1;
  SearchOptions search_;
};

}  // namespace

CommandEntry predict_command() {
  return {
      "predict", "Train and use a model", "Print the most probable labels of new examples",
      "Prints one line per example: its number from 0, then labels and their probabilities, best "
      "first; of an image\n"
      "also its file. The checkpoint includes labels, sizes and normalization, so raw input is "
      "enough.\n"
      "With --search tables only the labels that hash tables find are scored; softmax "
      "probabilities are then\n"
      "relative to these labels only, and so at least the exact ones.\n\n"
      "Examples:\n"
      "  yoke predict runs/lenet/last images.gz            the likeliest class of each image\n"
      "  yoke predict runs/demo/last new-images-idx3-ubyte --format idx --top 3\n"
      "  zcat new.csv.gz | yoke predict runs/table -       standard input\n"
      "  yoke predict runs/text/last new.svm --json        a JSON object a line",
      [] { return std::unique_ptr<Command>(new PredictCommand); }};
}

}  // namespace yoke
