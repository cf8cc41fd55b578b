// yoke eval: measures a checkpoint on its job's test data, or on other files.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/clock.h"
#include "cli/command.h"
#include "cli/model_file.h"
#include "kernels/threads.h"
#include "train/human.h"

namespace yoke {
namespace {

class EvalCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("CHECKPOINT", checkpoint_, "A checkpoint such as runs/NAME/last, or a run")
        ->option_text(" ");
    app.add_option("FILE", files_, "Data to measure on (default: the job's test data)")
        ->option_text("...");
    app.add_option("--format", format_, "How FILE is written (default: as the job's data)")
        ->option_text("NAME");
    AddThreadsOption(app, threads_);
  }

  int Run(Output& out) override {
    Require(!checkpoint_.empty(), "`yoke eval` needs a checkpoint, such as runs/NAME/last");
    const ModelFile model(checkpoint_);
    const std::unique_ptr<Reader> reader = OpenFor(model, {.files = files_, .format = format_});
    const double began = Now();
    const Metrics metrics = Measure(model, *reader);
    Print(metrics, *reader, Now() - began, out);
    return 0;
  }

 private:
  Metrics Measure(const ModelFile& model, const Reader& reader) const {
    const int threads = threads_ > 0 ? threads_ : model.job().Threads();
    SetKernelThreads(threads);
    return Evaluate(reader, {.graph = model.graph(),
                             .params = model.params(),
                             .arithmetic = ArithmeticOf(model.job()),
                             .reference_kernels = model.job().ReferenceKernels(),
                             .threads = threads});
  }

  void Print(const Metrics& metrics, const Reader& reader, double seconds, Output& out) const {
    Json object = Json::object();
    for (const auto& [name, value] : metrics) object[name] = value;
    out.Event("eval", {{"checkpoint", checkpoint_},
                       {"examples", reader.Size()},
                       {"seconds", seconds},
                       {"metrics", object}});
    out.Text(fmt::format("{} examples in {}", Count(reader.Size()), Duration(seconds)));
    for (const auto& [name, value] : metrics)
      out.Text(fmt::format("{:<9} {}", name, Metric(value)));
  }

  std::string checkpoint_;
  std::vector<std::string> files_;
  std::string format_;
  int threads_ = 0;
};

}  // namespace

CommandEntry eval_command() {
  return {"eval", "Train and use a model", "Measure a checkpoint on test data",
          "Examples:\n"
          "  yoke eval runs/lenet/last                         on the job's own test data\n"
          "  yoke eval runs/lenet/best images.gz labels.gz     on other files, images and labels "
          "in pairs\n"
          "  yoke eval runs/text test.svm --format libsvm",
          [] { return std::unique_ptr<Command>(new EvalCommand); }};
}

}  // namespace yoke
