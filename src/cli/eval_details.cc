// EvalDetails: one pass over the examples, a batch at a time.
#include "cli/eval_details.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <optional>

#include "api/predictor.h"
#include "base/check.h"
#include "base/json.h"
#include "base/utf8.h"
#include "data/writers.h"
#include "train/files.h"
#include "train/metrics.h"
#include "train/number_format.h"
#include "train/record/run_directory.h"
#include "train/scores.h"

namespace yoke {
namespace {

namespace fs = std::filesystem;

/// The folder of the run that a checkpoint is of, if it is of one.
fs::path RunOf(const ModelFile& model) {
  return fs::weakly_canonical(model.folder()).parent_path().parent_path();
}

constexpr int64_t kMostScored = 1 << 26;  // numbers kept for curves

/// An image of bytes as the report draws it, at most 64 pixels a side: width, height, channels (1
/// or 3) and pixels, two hexadecimal digits a byte; empty: the input is no such image.
Table PictureOf(const Reader& reader, int64_t example) {
  constexpr int64_t kMost = 64;
  const Shape& shape = reader.Info().input;
  if (shape.rank() != 3 || (shape[0] != 1 && shape[0] != 3)) return {};
  Batch batch;
  reader.Read({.examples = {&example, 1}, .as_stored = true}, batch);
  if (batch.dense.type != DType::kU8) return {};
  const int64_t height = std::min(shape[1], kMost), width = std::min(shape[2], kMost);
  std::string pixels;
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (int64_t channel = 0; channel < shape[0]; ++channel) {
        const int64_t row = channel * shape[1] + y * shape[1] / height;
        const int64_t place = row * shape[2] + x * shape[2] / width;
        fmt::format_to(std::back_inserter(pixels), "{:02x}", batch.dense.As<uint8_t>()[place]);
      }
  return {{"width", width}, {"height", height}, {"channels", shape[0]}, {"pixels", pixels}};
}

/// "1,3,5"
std::vector<int64_t> NumbersIn(const std::string& text) {
  std::vector<int64_t> numbers;
  for (const char *at = text.data(), *end = at + text.size(); at < end; ++at) {
    int64_t number = 0;
    const auto [stop, problem] = std::from_chars(at, end, number);
    Require(problem == std::errc() && number > 0 && (stop == end || *stop == ','),
            "--top: expected numbers such as 1,3,5, got {}", text);
    numbers.push_back(number);
    at = stop;
  }
  return numbers;
}

struct Mistake {
  int64_t example = 0;
  int32_t truth = 0, found = 0;
  double truth_probability = 0, found_probability = 0;
};

/// What the pass needs to know.
struct DetailRequest {
  std::vector<int64_t> ks;
  double threshold = 0.5;
  size_t mistakes = 0;
  bool curves = false;
  std::vector<double> inverse_propensities;
};

/// Gathers from the probabilities of examples.
class Details {
 public:
  Details(const DataInfo& info, DetailRequest request)
      : info_(info),
        request_(std::move(request)),
        decisions_(info.multi_label ? info.outputs : 0),
        ranking_(request_.ks, request_.inverse_propensities),
        scored_(request_.curves ? static_cast<size_t>(info.outputs) : 0) {}

  void AddClass(int64_t example, int32_t truth, std::span<const float> probabilities) {
    const auto found =
        static_cast<int32_t>(std::ranges::max_element(probabilities) - probabilities.begin());
    calibration_.Add(probabilities[static_cast<size_t>(found)], found == truth);
    for (size_t k = 0; k < scored_.size(); ++k)
      scored_[k].emplace_back(probabilities[k], static_cast<int32_t>(k) == truth);
    if (!request_.ks.empty()) {
      const int32_t one[] = {truth};
      ranking_.Add(TopScores(probabilities, static_cast<int>(MostRanked())), one);
    }
    if (request_.mistakes == 0 || found == truth) return;
    mistakes_.push_back({example, truth, found, probabilities[static_cast<size_t>(truth)],
                         probabilities[static_cast<size_t>(found)]});
    if (mistakes_.size() >= 2 * request_.mistakes + 1024) KeepWorst();
  }

  void AddLabels(std::span<const int32_t> truth, const std::vector<Guess>& best) {
    std::vector<int32_t> ranked, decided;
    for (const auto& [label, probability] : best) {
      ranked.push_back(label);
      if (probability >= request_.threshold) decided.push_back(label);
    }
    decisions_.Add(truth, decided);
    ranking_.Add(ranked, truth);
  }

  void AddScores(std::span<const int32_t> truth, std::span<const float> probabilities) {
    for (size_t k = 0; k < scored_.size(); ++k)
      scored_[k].emplace_back(probabilities[k],
                              std::ranges::find(truth, static_cast<int32_t>(k)) != truth.end());
  }

  /// Labels that AddLabels needs.
  int64_t MostRanked() const {
    constexpr int64_t kDecided = 100;
    const int64_t most = request_.ks.empty() ? 1 : std::ranges::max(request_.ks);
    return std::min(std::max(most, info_.multi_label ? kDecided : 1), info_.outputs);
  }

  Metrics Results() const {
    Metrics results;
    if (info_.multi_label) {
      results.emplace_back("micro_f1", decisions_.MicroF1());
      results.emplace_back("macro_f1", decisions_.MacroF1());
    } else {
      results.emplace_back("calibration_error", calibration_.Error());
    }
    for (const auto& one : ranking_.Results()) results.push_back(one);
    if (scored_.empty()) return results;
    double sum = 0;
    for (const auto& scored : scored_) sum += AveragePrecision(scored);
    results.emplace_back("mean_average_precision", sum / static_cast<double>(scored_.size()));
    return results;
  }

  /// Those with the least probability of the truth first.
  const std::vector<Mistake>& Worst() {
    KeepWorst();
    return mistakes_;
  }

  void WriteCurves(const std::vector<std::string>& names, OutputFile& file) const {
    constexpr size_t kMostPoints = 1000;
    file.Write("class,threshold,false_positive_rate,recall,precision\n");
    for (size_t k = 0; k < scored_.size(); ++k)
      for (const CurvePoint& point : CurveOf(scored_[k], kMostPoints))
        file.Write(fmt::format("{},{:.7g},{:.7g},{:.7g},{:.7g}\n", InQuotes(names[k]),
                               point.threshold, point.false_positive_rate, point.recall,
                               point.precision));
  }

  /// Of the first 32 classes: [false positive rate, recall, precision] of each point.
  List Curves(const std::vector<std::string>& names) const {
    constexpr size_t kMostClasses = 32, kMostPoints = 100;
    List curves;
    for (size_t k = 0; k < std::min(kMostClasses, scored_.size()); ++k) {
      List points;
      for (const CurvePoint& point : CurveOf(scored_[k], kMostPoints))
        points.emplace_back(List{point.false_positive_rate, point.recall, point.precision});
      curves.emplace_back(Table{{"class", names[k]}, {"points", std::move(points)}});
    }
    return curves;
  }

 private:
  static std::string InQuotes(const std::string& text) {
    std::string quoted = "\"";
    for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
    return quoted + "\"";
  }

  void KeepWorst() {
    std::ranges::stable_sort(mistakes_, {}, &Mistake::truth_probability);
    mistakes_.resize(std::min(mistakes_.size(), request_.mistakes));
  }

  const DataInfo& info_;
  DetailRequest request_;
  Calibration calibration_;
  LabelDecisions decisions_;
  RankingTally ranking_;
  std::vector<std::vector<std::pair<float, bool>>> scored_;
  std::vector<Mistake> mistakes_;
};

/// From the training data, which are read for it.
std::vector<double> PropensitiesOf(const ModelFile& model, int64_t labels) {
  Value section = model.job().data();
  section.Erase("augment");
  const DataSets sets = OpenData(section, model.job().seed());
  std::vector<int64_t> counts(static_cast<size_t>(labels));
  constexpr int64_t kBlock = 256;
  Batch batch;
  for (int64_t begin = 0; begin < sets.train->Size(); begin += kBlock) {
    std::vector<int64_t> examples(
        static_cast<size_t>(std::min(kBlock, sets.train->Size() - begin)));
    std::iota(examples.begin(), examples.end(), begin);
    sets.train->Read({.examples = examples}, batch);
    for (const int32_t label : batch.labels.ids) ++counts[static_cast<size_t>(label)];
  }
  return InversePropensities(counts, sets.train->Size());
}

void Scan(const ModelFile& model, const Reader& reader, bool curves, Details& details) {
  const DataInfo& info = reader.Info();
  const bool ranks = info.multi_label && !curves;
  Predictor predictor(model, {.top = static_cast<int>(details.MostRanked()), .all = !ranks});
  const int64_t step = PredictionBatch(model.graph(), details.MostRanked());
  Batch batch;
  for (int64_t begin = 0; begin < reader.Size(); begin += step) {
    std::vector<int64_t> examples(static_cast<size_t>(std::min(step, reader.Size() - begin)));
    std::iota(examples.begin(), examples.end(), begin);
    reader.Read({.examples = examples}, batch);
    predictor.Forward(reader, begin, std::ssize(examples));
    for (int64_t i = 0; i < std::ssize(examples); ++i) {
      if (!info.multi_label) {
        details.AddClass(begin + i, batch.classes[i], predictor.Probabilities(i));
        continue;
      }
      const SparseRows rows = batch.labels.View();
      const std::span<const int32_t> truth(rows.ids + rows.offsets[i],
                                           rows.ids + rows.offsets[i + 1]);
      if (ranks) {
        details.AddLabels(truth, predictor.Best(i));
        continue;
      }
      const std::span<const float> all = predictor.Probabilities(i);
      std::vector<Guess> best;
      for (const int32_t label : TopScores(all, static_cast<int>(details.MostRanked())))
        best.push_back({label, all[static_cast<size_t>(label)]});
      details.AddLabels(truth, best);
      details.AddScores(truth, all);
    }
  }
}

}  // namespace

void EvalDetails::Declare(Arguments& arguments) {
  constexpr int kMost = 100000;
  arguments.Flag("--details", &details_,
                 "Also the calibration error of classes, or micro and macro F1 of sets of labels");
  arguments.Option("--threshold", "P", &threshold_,
                   "With --details: the probability from which on an example has a label (default: "
                   "0.5)");
  arguments.Option("--top", "K,K,...", &top_, "Also P@K and nDCG@K for these K, such as 1,3,5");
  arguments.Flag("--propensities", &propensities_,
                 "With --top: also PSP@K, by how often the training data have each label");
  arguments
      .Option("--mistakes", "N", &mistakes_,
              "List the N examples whose own class has the least probability")
      .Within(1, kMost);
  arguments.Option("--curves", "FILE.csv", &curves_,
                   "Write the points of the ROC and precision-recall curves of each class");
  arguments.Flag("--keep", &keep_,
                 "Keep the result in the checkpoint's run, with curves and the worst mistakes, for "
                 "`yoke report`");
}

void EvalDetails::Check(const ModelFile& model, const Reader& reader) const {
  const DataInfo& info = reader.Info();
  Require(!info.regression,
          "--details, --top, --mistakes, --curves and --keep are for classes and labels");
  Require(!keep_ || fs::exists(RunOf(model) / "job.toml"),
          "--keep: {} is no checkpoint of a run, which would keep the result", model.folder());
  Require(mistakes_ == 0 || !info.multi_label, "--mistakes is for data with one class an example");
  Require(!propensities_ || (info.multi_label && !top_.empty()),
          "--propensities needs --top and data with sets of labels");
  Require(curves_.empty() || curves_.ends_with(".csv"), "{}: expected a name that ends in .csv",
          curves_);
  Require((curves_.empty() && !keep_) || reader.Size() * info.outputs <= kMostScored,
          "--curves, --keep: {} scores are too many to keep; expected fewer examples",
          Count(reader.Size() * info.outputs));
  if (!curves_.empty()) RequireNoInput(curves_, InputsOf(model.job(), model.folder()));
}

void EvalDetails::Keep(const ModelFile& model, const Table& event, Output& out) const {
  if (!keep_) return;
  const std::string file = RunOf(model) / "evaluation.json";
  ReplaceFile(file, FormatJson(event) + "\n");
  out.Text(fmt::format("kept in {}: see `yoke report`", file));
}

Table EvalDetails::Measure(const ModelFile& model, const Reader& reader,
                           const std::vector<std::string>& names, Output& out) const {
  constexpr size_t kKept = 20;
  const DataInfo& info = reader.Info();
  const bool draws = !curves_.empty() || keep_;
  const size_t mistakes = mistakes_ > 0                ? static_cast<size_t>(mistakes_)
                          : keep_ && !info.multi_label ? kKept
                                                       : 0;
  Details details(info, {.ks = NumbersIn(top_),
                         .threshold = threshold_ < 0 ? 0.5 : threshold_,
                         .mistakes = mistakes,
                         .curves = draws,
                         .inverse_propensities = propensities_ ? PropensitiesOf(model, info.outputs)
                                                               : std::vector<double>()});
  Scan(model, reader, draws, details);
  Table event = {{"details", TableOf(details.Results())}};
  for (const auto& [name, value] : details.Results())
    out.Text(fmt::format("{:<9} {}", name, Metric(value)));
  if (!curves_.empty()) {
    OutputFile file(curves_);
    details.WriteCurves(names, file);
    file.Commit();
    event.emplace_back("curves", curves_);
    out.Text(fmt::format("curves written to {}", curves_));
  }
  if (keep_) event.emplace_back("points", details.Curves(names));
  if (mistakes == 0) return event;
  List worst;
  out.Text("\nworst mistakes: example, its class, the class found");
  for (const Mistake& one : details.Worst()) {
    const std::string file = reader.FileOf(one.example);
    const std::string& truth = names[static_cast<size_t>(one.truth)];
    const std::string& found = names[static_cast<size_t>(one.found)];
    Table row = {{"index", one.example}, {"file", file},
                 {"class", truth},       {"probability", one.truth_probability},
                 {"found", found},       {"found_probability", one.found_probability}};
    if (keep_)
      if (Table picture = PictureOf(reader, one.example); !picture.empty())
        row.emplace_back("picture", std::move(picture));
    worst.push_back(std::move(row));
    out.Text(fmt::format("{}{}  {} {}  as {} {}", one.example,
                         file.empty() ? "" : "  " + OneLine(file), OneLine(truth),
                         Metric(one.truth_probability), OneLine(found),
                         Metric(one.found_probability)));
  }
  event.emplace_back("mistakes", std::move(worst));
  return event;
}

}  // namespace yoke
