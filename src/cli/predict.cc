// yoke predict: prints labels for examples, best first.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>

#include "base/check.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/model_file.h"
#include "cli/predictions.h"
#include "data/preprocess.h"
#include "kernels/threads.h"
#include "model/ranking.h"
#include "model/scorer.h"
#include "train/metrics.h"
#include "train/number_format.h"

namespace yoke {
namespace {

/// Examples per batch: enough for full speed, few enough to answer soon and to keep the layers'
/// outputs below 256 MiB.
int64_t BatchSize(const Graph& graph, int64_t top) {
  constexpr int64_t kLargest = 256, kElements = 64 << 20;
  int64_t elements = 1;
  for (const LayerInfo& layer : graph.Info()) elements += layer.output.Count();
  if (IsRanked(graph)) elements -= graph.task().outputs;  // their scores are not stored
  elements += 2 * top;                                    // ids and scores
  return std::clamp<int64_t>(kElements / elements, 1, kLargest);
}

/// Converts scores to probabilities in place: softmax over all labels, or a sigmoid for each.
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

/// A label and its probability.
struct Guess {
  int32_t label = 0;
  float probability = 0;
};

/// Computes the likeliest labels of a reader's examples, a batch at a time.
class Predictor {
 public:
  Predictor(const ModelFile& model, const Reader& reader, int top, const OutputSearch* tables)
      : model_(model),
        values_(model),
        reader_(reader),
        top_(top),
        tables_(tables),
        ranked_(IsRanked(model.graph())) {
    softmax_ = model.graph().IsSoftmax();
  }

  /// Reads examples [begin, begin + size) and computes their scores.
  void Forward(int64_t begin, int64_t size) {
    std::vector<int64_t> examples(static_cast<size_t>(size));
    std::iota(examples.begin(), examples.end(), begin);
    reader_.Read({.examples = examples}, batch_);
    if (size != compiled_) Compile(compiled_ = size);
    if (ranked_)
      ranking_->Forward(batch_, values_.params());
    else
      scores_ = scorer_->Forward(batch_, values_.params());
  }

  /// The likeliest labels of the batch's example `i`, best first; once for each example.
  std::vector<Guess> Best(int64_t i) { return ranked_ ? Ranked(i) : Sorted(i); }

  /// The numbers predicted for the batch's example `i`, in the unit of the data.
  std::vector<double> Values(int64_t i) const {
    const DataInfo& info = model_.header().data;
    std::vector<double> values;
    for (const float score : Scores(i)) {
      const size_t k = values.size();
      values.push_back(score * ByChannel(info.target_deviation, k, 1) +
                       ByChannel(info.target_mean, k, 0));
    }
    return values;
  }

 private:
  void Compile(int64_t size) {
    const DType arithmetic = ArithmeticOf(model_.job());
    const bool reference = model_.job().ReferenceKernels();
    if (ranked_)
      ranking_ = std::make_unique<Ranking>(model_.graph(),
                                           RankingRequest{.batch = size,
                                                          .arithmetic = arithmetic,
                                                          .target = {.reference = reference},
                                                          .top = top_,
                                                          .tables = tables_});
    else
      scorer_ = std::make_unique<Scorer>(
          model_.graph(),
          CompileRequest{.batch = size,
                         .arithmetic = arithmetic,
                         .target = {.device = &values_.device(), .reference = reference}});
  }

  /// `score`: one of the example's that is not finite, if there is one.
  void RequireFinite(float score, int64_t i) const {
    Require(std::isfinite(score),
            "{}: example {} has a score of {}: the weights are ruined, or the data are not of the "
            "kind that they were trained on",
            model_.folder(), batch_.examples[i], score);
  }

  std::span<float> Scores(int64_t i) const {
    const auto outputs = static_cast<size_t>(reader_.Info().outputs);
    const std::span<float> scores = scores_.subspan(i * outputs, outputs);
    const auto bad = std::ranges::find_if(scores, [](float s) { return !std::isfinite(s); });
    RequireFinite(bad == scores.end() ? 0 : *bad, i);
    return scores;
  }

  std::vector<Guess> Sorted(int64_t i) const {
    const std::span<float> scores = Scores(i);
    ToProbabilities(scores, softmax_);
    std::vector<Guess> best;
    for (int32_t label : TopScores(scores, top_)) best.push_back({label, scores[label]});
    return best;
  }

  std::vector<Guess> Ranked(int64_t i) const {
    std::vector<Guess> best;
    if (std::isnan(ranking_->Sum(i))) RequireFinite(NAN, i);
    for (int64_t k = 0; k < ranking_->top() && ranking_->Ids(i)[k] >= 0; ++k) {
      RequireFinite(ranking_->Scores(i)[k], i);
      const double score = ranking_->Scores(i)[k];
      const double p = softmax_ ? std::exp(score - ranking_->Sum(i)) : 1 / (1 + std::exp(-score));
      best.push_back({ranking_->Ids(i)[k], static_cast<float>(p)});
    }
    return best;
  }

  const ModelFile& model_;
  PlacedValues values_;
  const Reader& reader_;
  int top_;
  const OutputSearch* tables_;  // may be null
  bool ranked_;
  bool softmax_ = true;
  Batch batch_;
  std::unique_ptr<Scorer> scorer_;  // exactly one of scorer_ and ranking_ is set
  std::unique_ptr<Ranking> ranking_;
  std::span<float> scores_;  // of the batch, by scorer_
  int64_t compiled_ = 0;
};

constexpr int64_t kJudged = 64;  // examples that tell whether hash tables pay

std::vector<int32_t> LabelsOf(const std::vector<Guess>& guesses) {
  std::vector<int32_t> labels;
  labels.reserve(guesses.size());
  for (const Guess& guess : guesses) labels.push_back(guess.label);
  return labels;
}

/// Seconds of the second of two passes over the same examples: the first prepares.
double SecondsOf(Predictor& predictor, int64_t size) {
  predictor.Forward(0, size);
  const double began = Now();
  predictor.Forward(0, size);
  return Now() - began;
}

/// Says where hash tables answer no sooner than all scores do, measured on the first examples.
void JudgeTables(const std::string& search, Predictor& tables, Predictor& exact, int64_t size,
                 Output& out) {
  const double seconds = SecondsOf(tables, size), exact_seconds = SecondsOf(exact, size);
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
    arguments.Option("--output", "FILE", &output_,
                     "Write the predictions to FILE.csv or FILE.jsonl");
    search_.Declare(arguments);
  }

  int Run(Output& out) override {
    Require(!checkpoint_.empty(), "`yoke predict` needs a checkpoint, such as runs/NAME/last");
    Require(!files_.empty(), "`yoke predict` needs a file with examples");
    Require(top_ >= 1, "--top: expected at least 1, got {}", top_);
    const ModelFile model(checkpoint_);
    const DataInfo& data = model.header().data;
    names_ = data.label_names;
    regression_ = data.regression;
    Require(!regression_ || top_ == 1, "--top has no effect: the model predicts numbers");
    CheckOutput(model);
    SetKernelThreads(search_.threads > 0 ? search_.threads : model.job().Threads());
    const std::unique_ptr<Reader> reader = OpenFor(
        model, {.files = files_, .format = format_, .labels_optional = true, .notes_aside = true},
        out);
    const auto tables = TablesFor(model, *reader, search_, /*aside=*/true, out);
    Predictor predictor(model, *reader, top_, tables.get());
    const int64_t batch = BatchSize(model.graph(), top_);
    if (tables && out.IsTerminal() && reader->Size() > 0) {  // a program that reads can measure
      Predictor exact(model, *reader, top_, nullptr);
      JudgeTables(search_.search, predictor, exact, std::min({kJudged, batch, reader->Size()}),
                  out);
    }
    std::optional<PredictionFile> file;
    if (!output_.empty())
      file.emplace(output_, TargetNames(data), top_,
                   reader->Size() > 0 && !reader->FileOf(0).empty());
    for (int64_t at = 0; at < reader->Size() && !out.closed(); at += batch)
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
    predictor.Forward(range.begin, range.size);
    for (int64_t i = 0; i < range.size; ++i) {
      Prediction one{.index = range.begin + i,
                     .file = reader.FileOf(range.begin + i),
                     .regression = regression_};
      if (regression_)
        one.scores = predictor.Values(i);
      else
        for (const auto& [label, probability] : predictor.Best(i)) {
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
  int top_ = 1;
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
