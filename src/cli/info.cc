// yoke info: a model's layers, shapes, parameters, operations and memory.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/registry.h"
#include "cli/command.h"
#include "cli/job_options.h"
#include "cli/model_file.h"
#include "kernels/threads.h"
#include "train/human.h"

namespace yoke {
namespace {

/// Bytes that training holds, by what they are for.
struct MemoryNeed {
  int64_t parameters = 0;
  int64_t gradients = 0;
  int64_t rule_state = 0;
  int64_t tables = 0;       ///< What layers keep besides parameters: hash tables.
  int64_t activations = 0;  ///< With their gradients and scratch memory, for one batch.
  int64_t Total() const { return parameters + gradients + rule_state + tables + activations; }
};

MemoryNeed NeedOf(const Job& job, const Graph& graph, const GraphPlan& plan) {
  const RuleEntry& rule = FindEntry(rules(), "rule", job.train.String("rule"));
  const int64_t arrays = static_cast<int64_t>(rule.make(job.train)->StateNames().size());
  const int64_t bytes = graph.layout().size() * SizeOf(DType::kF32);
  return {.parameters = bytes,
          .gradients = graph.layout().dense_size() * SizeOf(DType::kF32),
          .rule_state = arrays * bytes,
          .tables = graph.MakeStates().Bytes(),
          .activations = plan.MemoryBytes()};
}

Json ToObject(const LayerInfo& layer, const std::string& kernel) {
  return {{"name", layer.name},
          {"type", layer.type},
          {"output", layer.output.axes()},
          {"parameters", layer.parameters},
          {"operations", layer.cost.operations},
          {"kernel", kernel},
          {"explanation", layer.explanation}};
}

/// What is described: a job's model, or a checkpoint's.
struct Subject {
  std::string name;
  const Job& job;
  const DataInfo& data;
  const Graph& graph;
};

class Description {
 public:
  explicit Description(const Subject& subject)
      : subject_(subject),
        layers_(subject.graph.Info()),
        batch_(subject.job.train.Int("batch")),
        plan_(subject.graph.Compile({.batch = batch_,
                                     .training = true,
                                     .arithmetic = ArithmeticOf(subject.job),
                                     .reference = subject.job.ReferenceKernels()})),
        kernels_(plan_->Kernels()),
        need_(NeedOf(subject.job, subject.graph, *plan_)) {
    kernels_.resize(layers_.size());
  }

  void Print(Output& out) const {
    out.Event("info", ToObject());
    out.Text(fmt::format("{}: input {}{}, {} {}", subject_.name, subject_.data.input.Text(),
                         subject_.data.sparse ? " (sparse)" : "", Count(subject_.data.outputs),
                         subject_.data.multi_label ? "labels" : "classes"));
    out.Text("");
    for (const std::string& line : TableLines(Rows(), {3, 4})) out.Text(line);
    out.Text("");
    for (const LayerInfo& layer : layers_)
      if (!layer.explanation.empty())
        out.Text(fmt::format("{}: {}", layer.name, layer.explanation));
    for (const std::string& line : Totals()) out.Text(line);
  }

 private:
  double Operations() const { return subject_.graph.Price(1).operations; }

  std::vector<std::vector<std::string>> Rows() const {
    std::vector<std::vector<std::string>> rows = {
        {"layer", "type", "output", "parameters", "operations", "kernel"}};
    for (size_t i = 0; i < layers_.size(); ++i) {
      const LayerInfo& layer = layers_[i];
      rows.push_back({layer.name, layer.type, layer.output.Text(), Count(layer.parameters),
                      Short(layer.cost.operations), kernels_[i]});
    }
    return rows;
  }

  std::vector<std::string> Totals() const {
    return {fmt::format("parameters  {}", Count(subject_.graph.layout().Parameters())),
            fmt::format("operations  {} an example, forward and backward", Short(Operations())),
            fmt::format("memory      {} for training with batch {}: parameters {}, gradients {}, "
                        "rule's state {}, hash tables {}, activations {}",
                        Bytes(double(need_.Total())), batch_, Bytes(double(need_.parameters)),
                        Bytes(double(need_.gradients)), Bytes(double(need_.rule_state)),
                        Bytes(double(need_.tables)), Bytes(double(need_.activations)))};
  }

  Json ToObject() const {
    Json layers = Json::array();
    for (size_t i = 0; i < layers_.size(); ++i)
      layers.push_back(yoke::ToObject(layers_[i], kernels_[i]));
    return {{"name", subject_.name},
            {"input", subject_.data.input.axes()},
            {"outputs", subject_.data.outputs},
            {"parameters", subject_.graph.layout().Parameters()},
            {"operations", Operations()},
            {"batch", batch_},
            {"memory",
             {{"parameters", need_.parameters},
              {"gradients", need_.gradients},
              {"rule_state", need_.rule_state},
              {"tables", need_.tables},
              {"activations", need_.activations},
              {"total", need_.Total()}}},
            {"layers", layers}};
  }

  Subject subject_;
  std::vector<LayerInfo> layers_;
  int64_t batch_;
  std::unique_ptr<GraphPlan> plan_;
  std::vector<std::string> kernels_;
  MemoryNeed need_;
};

class InfoCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("JOB|CHECKPOINT", path_, "A job file, or a checkpoint such as runs/NAME/last")
        ->option_text(" ");
    set_.Declare(app);
  }

  int Run(Output& out) override {
    Require(!path_.empty(), "`yoke info` needs a job file or a checkpoint");
    Require(!path_.ends_with(".onnx"),
            "this version reads no ONNX files; `yoke info` takes a job file or a checkpoint");
    if (std::filesystem::is_directory(path_))
      DescribeCheckpoint(out);
    else
      DescribeJob(out);
    return 0;
  }

 private:
  void DescribeJob(Output& out) const {
    const Job job = LoadJob(path_, set_.Read());
    SetKernelThreads(job.Threads());
    const DataSets data = OpenData(job.data(), job.seed());  // sizes and classes are the data's
    const Graph graph = BuildModel(job.model(), TaskOf(data.train->Info()));
    Description({job.name, job, data.train->Info(), graph}).Print(out);
  }

  void DescribeCheckpoint(Output& out) const {
    Require(set_.Read().empty(), "a checkpoint keeps its own job: leave out what sets its keys");
    const ModelFile model(path_);
    SetKernelThreads(model.job().Threads());
    const Position& at = model.head().position;
    out.Text(fmt::format("checkpoint {}: {} steps, {} epochs", model.folder(), Count(at.step),
                         at.epoch));
    Description({path_, model.job(), model.head().data, model.graph()}).Print(out);
  }

  std::string path_;
  JobOptions set_;
};

}  // namespace

CommandEntry info_command() {
  return {"info", "Look into things",
          "Show a model's layers, shapes, parameters, operations and memory",
          "A job's data is read to learn the sizes of input and output.\n\n"
          "Examples:\n"
          "  yoke info examples/demo.toml\n"
          "  yoke info runs/lenet/last --json",
          [] { return std::unique_ptr<Command>(new InfoCommand); }};
}

}  // namespace yoke
