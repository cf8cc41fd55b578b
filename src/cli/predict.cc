// yoke predict: prints labels for examples, best first.
#include <algorithm>
#include <limits>
#include <optional>

#include "api/predictor.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/model_data.h"
#include "cli/predictions.h"
#include "kernels/threads.h"
#include "train/metrics.h"
#include "train/number_format.h"
#include "train/record/run_directory.h"

namespace yoke {
namespace {

constexpr int64_t kMostLabels = 100;                        // with --threshold
constexpr int kNotGiven = std::numeric_limits<int>::min();  // --top
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
    arguments.Option("--threshold", "P", &threshold_,
                     "Of sets of labels: print those of at least this probability, at most K");
    arguments.Option("--output", "FILE", &output_,
                     "Write the predictions to FILE.csv, FILE.jsonl or FILE.parquet");
    search_.Declare(arguments);
  }

  int Run(Output& out) override {
    Require(!checkpoint_.empty(), "`yoke predict` needs a checkpoint, such as runs/NAME/last");
    Require(!files_.empty(), "`yoke predict` needs a file with examples");
    Require(top_ >= 1 || top_ == kNotGiven, "--top: expected at least 1, got {}", top_);
    const std::unique_ptr<const ModelFile> opened = OpenModel(checkpoint_);
    const ModelFile& model = *opened;
    const DataInfo& data = model.header().data;
    names_ = data.label_names;
    regression_ = data.regression;
    Require(threshold_ == 0 || data.multi_label,
            "--threshold has no effect: the model predicts one class or number an example");
    if (top_ == kNotGiven)
      top_ = threshold_ > 0 ? static_cast<int>(std::min<int64_t>(data.outputs, kMostLabels)) : 1;
    Require(!regression_ || top_ == 1, "--top has no effect: the model predicts numbers");
    CheckOutput(model);
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
    std::optional<PredictionFile> file;
    if (!output_.empty())
      file.emplace(output_, TargetNames(data), top_,
                   reader->Size() > 0 && !reader->FileOf(0).empty());
    for (int64_t at = 0; at < reader->Size() && (file || !out.closed()); at += batch)
      PredictBatch(predictor, {at, std::min(batch, reader->Size() - at)}, *reader,
                   [&](const Prediction& one) { file ? file->Write(one) : Print(one, out); });
    if (file) Finish(*file, reader->Size(), out);
    return 0;
  }

 private:
  struct Range {
    int64_t begin, size;
  };

  void CheckOutput(const ModelFile& model) const {
    if (output_.empty()) return;
    CheckPredictionName(output_);
    RequireNoInput(output_, files_);
    RequireNoInput(output_, InputsOf(model.job(), model.folder()));
  }

  /// "prediction", or the names of several targets; empty: labels are predicted.
  static std::vector<std::string> TargetNames(const DataInfo& data) {
    if (!data.regression) return {};
    if (data.outputs == 1) return {"prediction"};
    std::vector<std::string> names = data.label_names;
    for (int64_t k = std::ssize(names); k < data.outputs; ++k)
      names.push_back(fmt::format("prediction_{}", k + 1));
    return names;
  }

  void Finish(PredictionFile& file, int64_t examples, Output& out) const {
    file.Commit();
    out.Event("predict", {{"file", output_}, {"examples", examples}});
    out.Text(fmt::format("{}: {} predictions", output_, Count(examples)));
  }

  template <typename Take>
  void PredictBatch(Predictor& predictor, const Range& range, const Reader& reader,
                    const Take& take) const {
    predictor.Forward(reader, range.begin, range.size);
    for (int64_t i = 0; i < range.size; ++i) {
      Prediction one{.index = range.begin + i,
                     .file = reader.FileOf(range.begin + i),
                     .regression = regression_};
      if (regression_)
        one.scores = predictor.Values(i);
      else
        for (const auto& [label, probability] : predictor.Best(i)) {
          if (probability < threshold_) continue;
          one.labels.push_back(names_.empty() ? std::to_string(label) : names_[label]);
          one.scores.push_back(probability);
        }
      take(one);
    }
  }

  void Print(const Prediction& one, Output& out) const {
    std::string text = std::to_string(one.index);
    if (!one.file.empty()) text += "  " + OneLine(one.file);
    for (size_t k = 0; k < one.scores.size(); ++k)
      text += regression_ ? fmt::format("  {:.6g}", one.scores[k])
                          : fmt::format("  {} {}", OneLine(one.labels[k]), Metric(one.scores[k]));
    out.Event("prediction", one.Fields());
    out.Text(text);
  }

  std::vector<std::string> names_;  // of the classes
  bool regression_ = false;
  std::string output_;
  std::string checkpoint_;
  std::vector<std::string> files_;
  std::string format_;
  int top_ = kNotGiven;
  double threshold_ = 0;
  SearchOptions search_;
};

}  // namespace

CommandEntry predict_command() {
  return {
      "predict", "Train and use a model", "Print the most probable labels of new examples",
      "Prints one line per example: its number from 0, then labels and their probabilities, best "
      "first, or the\npredicted numbers; of an image also its file. The checkpoint includes "
      "labels, sizes and normalization, so raw input is "
      "enough.\n"
      "With --search tables only the labels that hash tables find are scored; softmax "
      "probabilities are then\n"
      "relative to these labels only, and so at least the exact ones.\n\n"
      "Examples:\n"
      "  yoke predict runs/lenet/last images.gz            the likeliest class of each image\n"
      "  yoke predict runs/demo/last new-images-idx3-ubyte --format idx --top 3\n"
      "  yoke predict runs/table/last new.csv --output p.csv     a file with a header\n"
      "  zcat new.csv.gz | yoke predict runs/table -       standard input\n"
      "  yoke predict runs/text/last new.svm --json        a JSON object a line",
      [] { return std::unique_ptr<Command>(new PredictCommand); }};
}

}  // namespace yoke
