// yoke eval: measures a checkpoint on its job's test data, or on other files.
#include <numeric>
#include <optional>

#include "base/check.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/eval_details.h"
#include "cli/model_data.h"
#include "kernels/threads.h"
#include "train/evaluation.h"
#include "train/number_format.h"

namespace yoke {
namespace {

constexpr int64_t kMostClasses = 1000, kMostShown = 20;  // of a confusion matrix

class EvalCommand : public Command {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Place("CHECKPOINT", &checkpoint_, "A checkpoint such as runs/NAME/last, or a run");
    arguments.Place("FILE", &files_,
                    "Data to measure on, - for standard input (default: the job's test data)");
    arguments.Option("--format", "NAME", &format_,
                     "Format of FILE (default: that of the job's data)");
    arguments.Flag("--train", &training_, "Measure on the job's training data");
    details_.Declare(arguments);
    search_.Declare(arguments);
  }

  int Run(Output& out) override {
    Require(!checkpoint_.empty(), "`yoke eval` needs a checkpoint, such as runs/NAME/last");
    Require(!training_ || files_.empty(), "--train names the data already: leave out {}",
            files_.empty() ? "" : files_[0]);
    const std::unique_ptr<const ModelFile> opened = OpenModel(checkpoint_);
    const ModelFile& model = *opened;
    const std::unique_ptr<Reader> reader =
        OpenFor(model, {.files = files_, .format = format_, .training = training_}, out);
    if (details_.asked()) details_.Check(model, *reader);
    const int threads = search_.threads > 0 ? search_.threads : model.job().Threads();
    SetKernelThreads(threads);
    const PlacedValues values(model);
    std::optional<Confusion> confusion;
    const DataInfo& info = reader->Info();
    const bool classes = !info.multi_label && !info.regression;
    if (classes && info.outputs <= kMostClasses) confusion.emplace(info.outputs);
    EvaluateRequest request = EvaluationOf(model, values, threads);
    request.confusion = confusion ? &*confusion : nullptr;
    const double began = Now();
    if (const auto tables = TablesFor(model, *reader, search_, /*aside=*/false, out)) {
      const double built = Now() - began;
      Require(!details_.asked(), "--details and the like need --search exact");
      PrintSearch(EvaluateSearch(*reader, request, *tables), *tables, *reader, built, out);
      return 0;
    }
    const Metrics metrics = Evaluate(*reader, request);
    RequirePossible(metrics, model);
    const double seconds = Now() - began;
    Print(metrics, *reader, confusion ? &*confusion : nullptr, seconds, out);
    Table event = EventOf(metrics, *reader, confusion ? &*confusion : nullptr, seconds);
    if (details_.asked())
      event =
          Join(std::move(event), details_.Measure(model, *reader, ClassNames(reader->Info()), out));
    details_.Keep(model, event, out);
    out.Event("eval", std::move(event));
    return 0;
  }

 private:
  Table EventOf(const Metrics& metrics, const Reader& reader, const Confusion* confusion,
                double seconds) const {
    Table event = {{"checkpoint", checkpoint_},
                   {"examples", reader.Size()},
                   {"seconds", seconds},
                   {"metrics", TableOf(metrics)}};
    if (confusion) event = Join(std::move(event), EventOf(*confusion, ClassNames(reader.Info())));
    return event;
  }

  static void Print(const Metrics& metrics, const Reader& reader, const Confusion* confusion,
                    double seconds, Output& out) {
    const std::vector<std::string> names =
        confusion ? ClassNames(reader.Info()) : std::vector<std::string>();
    out.Text(fmt::format("{} examples in {}", Count(reader.Size()), Duration(seconds)));
    for (const auto& [name, value] : metrics)
      out.Text(fmt::format("{:<9} {}", name, Metric(value)));
    if (confusion && confusion->classes() <= kMostShown) Show(*confusion, names, out);
  }

  /// Classes without names are called by their numbers.
  static std::vector<std::string> ClassNames(const DataInfo& info) {
    std::vector<std::string> names = info.label_names;
    for (int64_t k = std::ssize(names); k < info.outputs; ++k) names.push_back(std::to_string(k));
    return names;
  }

  static Table EventOf(const Confusion& confusion, const std::vector<std::string>& names) {
    List counts, classes;
    for (int64_t truth = 0; truth < confusion.classes(); ++truth) {
      List row;
      for (int64_t found = 0; found < confusion.classes(); ++found)
        row.emplace_back(confusion.At(truth, found));
      counts.emplace_back(std::move(row));
      classes.push_back(Table{{"class", names[truth]},
                              {"examples", confusion.Of(truth)},
                              {"precision", confusion.Precision(truth)},
                              {"recall", confusion.Recall(truth)},
                              {"f1", confusion.F1(truth)}});
    }
    return {{"balanced_accuracy", confusion.BalancedAccuracy()},
            {"confusion", Table{{"classes", ListOf(names)}, {"counts", std::move(counts)}}},
            {"by_class", std::move(classes)}};
  }

  static void Show(const Confusion& confusion, const std::vector<std::string>& names, Output& out) {
    out.Text(fmt::format("balanced accuracy {}", Metric(confusion.BalancedAccuracy())));
    std::vector<std::vector<std::string>> rows = {
        {"class", "examples", "precision", "recall", "F1"}};
    for (const std::string& name : names) rows[0].push_back("as " + OneLine(name));
    std::vector<size_t> right(rows[0].size() - 1);
    std::iota(right.begin(), right.end(), size_t{1});
    for (int64_t truth = 0; truth < confusion.classes(); ++truth)
      rows.push_back(RowOf(confusion, truth, OneLine(names[truth])));
    out.Text("");
    for (const std::string& line : TableLines(rows, right)) out.Text(line);
  }

  static std::vector<std::string> RowOf(const Confusion& confusion, int64_t truth,
                                        const std::string& name) {
    std::vector<std::string> row = {name, Count(confusion.Of(truth)),
                                    Metric(confusion.Precision(truth)),
                                    Metric(confusion.Recall(truth)), Metric(confusion.F1(truth))};
    for (int64_t found = 0; found < confusion.classes(); ++found)
      row.push_back(Count(confusion.At(truth, found)));
    return row;
  }

  void PrintSearch(const SearchResult& result, const OutputSearch& tables, const Reader& reader,
                   double build_seconds, Output& out) const {
    const auto& [family, hashes, count, bucket] = tables.search_settings();
    const double share = result.scored / double(reader.Info().outputs);
    const double search = 1e6 * result.search_seconds, exact = 1e6 * result.exact_seconds;
    out.Event("eval", {{"checkpoint", checkpoint_},
                       {"examples", reader.Size()},
                       {"search", search_.search},
                       {"metrics", TableOf(result.metrics)},
                       {"scored", result.scored},
                       {"scored_share", share},
                       {"search_microseconds", search},
                       {"exact_microseconds", exact},
                       {"build_seconds", build_seconds},
                       {"hashes", hashes},
                       {"tables", count},
                       {"bucket", bucket},
                       {"always", tables.always()},
                       {"table_bytes", tables.table_bytes()}});
    out.Text(fmt::format("{} examples; {} tables of {} with K {} and buckets of {} {} in {}",
                         Count(reader.Size()), count, family, hashes, bucket,
                         search_.search == "trained" ? "read" : "built", Duration(build_seconds)));
    for (const auto& [name, value] : result.metrics)
      out.Text(fmt::format("{:<11} {}", name, Metric(value)));
    out.Text(fmt::format("{:<11} {:.0f} of {} outputs per example ({:.3g} %)", "scored",
                         result.scored, Count(reader.Info().outputs), 100 * share));
    out.Text(fmt::format("{:<11} {:.3g} us per example and thread; exact {:.3g} us", "time", search,
                         exact));
  }

  std::string checkpoint_;
  std::vector<std::string> files_;
  std::string format_;
  bool training_ = false;
  EvalDetails details_;
  SearchOptions search_;
};

}  // namespace

CommandEntry eval_command() {
  return {"eval", "Train and use a model", "Measure a checkpoint on test data",
          "With --search tables only the outputs that hash tables find are scored; recall_at_k is "
          "the fraction of the exact\nranking's k best that are found. --search trained takes the "
          "tables of the training.\n\n"
          "Examples:\n"
          "  yoke eval runs/lenet/last                         on the job's own test data\n"
          "  yoke eval runs/lenet/best images.gz labels.gz     on other files, images and labels "
          "in pairs\n"
          "  yoke eval runs/lenet/last --train                 training accuracy\n"
          "  yoke eval runs/lenet/last --mistakes 20           what it gets most wrong\n"
          "  yoke eval runs/table --details --curves c.csv     calibration, ROC curves\n"
          "  yoke eval runs/table/best --keep                  curves and worst mistakes in `yoke "
          "report runs/table`\n"
          "  yoke eval model.onnx test.csv --format csv        an ONNX file\n"
          "  yoke eval runs/text test.svm --format libsvm\n"
          "  yoke eval runs/labels/last --search tables        recall and speed of a sparse search",
          [] { return std::unique_ptr<Command>(new EvalCommand); }};
}

}  // namespace yoke
