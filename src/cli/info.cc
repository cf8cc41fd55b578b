// yoke info: prints a model's layers, shapes, parameters, operations and memory.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "base/check.h"
#include "base/registry.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/model_data.h"
#include "cli/run_options.h"
#include "cli/step_table.h"
#include "data/writers.h"
#include "kernels/linear/linear.h"
#include "kernels/threads.h"
#include "model/convolution_keys.h"
#include "model/layer.h"
#include "model/onnx/onnx.h"
#include "node/executor.h"
#include "plan/convolutions.h"
#include "tensor/cuda/cuda_device.h"
#include "tensor/devices.h"
#include "train/job/parts.h"
#include "train/number_format.h"
#include "train/record/machine.h"
#include "train/record/run_directory.h"

namespace yoke {
namespace {

/// Width of the layer table without a terminal, and the minimum width of its names.
constexpr int kPageColumns = 120;
constexpr size_t kShortName = 16;

/// Bytes that training needs, by purpose.
struct MemoryNeed {
  int64_t parameters = 0;
  int64_t gradients = 0;  ///< Of dense parameters, and of the rows that a batch touches.
  int64_t rule_state = 0;
  int64_t tables = 0;       ///< State of layers besides parameters: hash tables.
  int64_t activations = 0;  ///< With their gradients and scratch memory, for each size of batch.
  int64_t unshared = 0;     ///< Bytes of activations without shared memory.
  int64_t program = 0;      ///< Program, libraries and data, as they are here.
  int64_t Total() const {
    return parameters + gradients + rule_state + tables + activations + program;
  }
};

/// Of the rule's arrays, and of its step counts of rows.
int64_t RuleStateBytes(const Job& job, const ParamLayout& layout) {
  const RuleEntry& rule = FindEntry(rules(), "rule", job.train.String("rule"));
  const int64_t arrays = std::ssize(rule.make(job.train)->StateNames());
  int64_t bytes = arrays * layout.size() * SizeOf(DType::kF32);
  for (const Slice& slice : layout.slices())
    if (slice.kind == SliceKind::kRowSparse) bytes += slice.shape[0] * SizeOf(DType::kI32);
  return bytes;
}

/// Program, libraries and data once a product has run: oneDNN makes its kernels then.
int64_t ProgramBytes() {
  constexpr int64_t kSide = 64;
  const auto kernel = MakeLinear({.batch = kSide, .inputs = kSide, .outputs = kSide});
  std::vector<float> input(kSide * kSide), weight(kSide * kSide), bias(kSide),
      output(kSide * kSide);
  Buffer scratch(Cpu(), kernel->scratch_bytes());
  kernel->Forward({.input = input.data(),
                   .weight = weight.data(),
                   .bias = bias.data(),
                   .output = output.data(),
                   .scratch = scratch.As<void>()});
  return ResidentMemory();
}

MemoryNeed NeedOf(const Job& job, const Graph& graph,
                  const std::vector<std::unique_ptr<GraphPlan>>& plans) {
  const ParamLayout& layout = graph.layout();
  MemoryNeed need{.parameters = layout.size() * SizeOf(DType::kF32),
                  .gradients = layout.dense_size() * SizeOf(DType::kF32) +
                               dynamic_cast<const WorkingMemory&>(*plans[0]).RowGradientBytes(),
                  .rule_state = RuleStateBytes(job, layout),
                  .tables = graph.MakeStates().Bytes()};
  for (const auto& plan : plans) {
    need.activations += plan->MemoryBytes();
    need.unshared += plan->UnsharedBytes();
  }
  need.program = ProgramBytes();
  return need;
}

Table ToTable(const LayerInfo& layer, const std::string& kernel) {
  return {{"name", layer.name},
          {"type", layer.type},
          {"inputs", ListOf(layer.inputs)},
          {"output", ListOf(layer.output.axes())},
          {"parameters", layer.parameters},
          {"operations", layer.cost.operations},
          {"kernel", kernel},
          {"explanation", layer.explanation}};
}

/// What a device with a memory of its own needs at most: with all of the batch.
struct DeviceNeed {
  std::string device;
  int64_t bytes = 0;
  int64_t free = -1;  ///< Of a GPU here; -1: not known.
};

/// Where the device has only the layers below a hashed one: its values, two gradients, and plans
/// for a batch and for an epoch's last.
int64_t BytesOfBody(const Job& job, const Graph& graph) {
  const ParamLayout layout = graph.layout().First(graph.Cut(CutAt::kHashed)->first_slice);
  const auto plan = graph.Compile({.batch = BatchOf(job),
                                   .training = true,
                                   .arithmetic = ArithmeticOf(job),
                                   .part = GraphPart::kBody,
                                   .cut = CutAt::kHashed,
                                   .layout = &layout});
  return (layout.size() + 2 * layout.dense_size()) * SizeOf(DType::kF32) + 2 * plan->MemoryBytes() +
         dynamic_cast<const WorkingMemory&>(*plan).RowGradientBytes();
}

std::vector<DeviceNeed> NeedsOf(const Job& job, const Graph& graph, const MemoryNeed& need) {
  const ExecutorEntry& executor = FindEntry(executors(), "executor", job.node.String("executor"));
  const bool body = executor.divides_model && graph.Cut(CutAt::kHashed);
  const int64_t bytes = body ? BytesOfBody(job, graph) : need.Total() - need.program - need.tables;
  std::vector<DeviceNeed> needs;
  for (const std::string& name :
       DeviceNames(job.node.Strings("devices"), job.node.Where("devices")))
    if (name != Cpu().name()) needs.push_back({.device = name, .bytes = bytes});
  for (const CudaDescription& gpu :
       DescribeCudaDevices(needs.empty() ? nullptr : LinkedCudaDriver()))
    for (DeviceNeed& each : needs)
      if (each.device == gpu.device) each.free = gpu.free;
  return needs;
}

/// The model to describe: of a job, a checkpoint or a file.
struct Subject {
  std::string name;
  const Job& job;
  const DataInfo& data;
  const Graph& graph;
  int64_t examples = 0;  ///< Of an epoch; 0: not known.
};

class Description {
 public:
  explicit Description(const Subject& subject)
      : subject_(subject),
        layers_(subject.graph.Info()),
        batch_(BatchOf(subject.job)),
        plans_(MakePlans()),
        kernels_(plans_[0]->Kernels()),
        need_(NeedOf(subject.job, subject.graph, plans_)),
        device_needs_(NeedsOf(subject.job, subject.graph, need_)) {
    kernels_.resize(layers_.size());
  }

  void Print(Output& out) const {
    out.Event("info", ToTable());
    out.Text(fmt::format("{}: input {}{}, {} {}", subject_.name, subject_.data.input.Text(),
                         subject_.data.sparse ? " (sparse)" : "", Count(subject_.data.outputs),
                         subject_.graph.task().Kind()));
    out.Text("");
    const int columns = out.IsTerminal() ? out.Columns() : kPageColumns;
    for (const std::string& line : LayerLines(static_cast<size_t>(columns))) out.Text(line);
    out.Text("");
    for (const LayerInfo& layer : layers_)
      if (!layer.explanation.empty())
        out.Text(fmt::format("{}: {}", layer.name, layer.explanation));
    for (const std::string& line : Totals()) out.Text(line);
    for (const DeviceNeed& need : device_needs_)
      out.Text(
          fmt::format("{:<12}at most {}{}", need.device, Bytes(double(need.bytes)),
                      need.free < 0 ? "" : fmt::format(", {} free", Bytes(double(need.free)))));
  }

 private:
  /// Of a batch, and of an epoch's last one if that is smaller.
  std::vector<std::unique_ptr<GraphPlan>> MakePlans() const {
    std::vector<std::unique_ptr<GraphPlan>> plans;
    const int64_t last = subject_.examples > batch_ ? subject_.examples % batch_ : 0;
    for (const int64_t batch : {batch_, last})
      if (batch > 0)
        plans.push_back(
            subject_.graph.Compile({.batch = batch,
                                    .training = true,
                                    .arithmetic = ArithmeticOf(subject_.job),
                                    .target = {.reference = subject_.job.ReferenceKernels()}}));
    return plans;
  }

  double Operations() const { return subject_.graph.Price(1).operations; }

  /// The table of layers, with names as long as `width` allows.
  std::vector<std::string> LayerLines(size_t width) const {
    size_t longest = kShortName;
    for (const LayerInfo& layer : layers_) longest = std::max(longest, layer.name.size());
    const auto fits = [&](const std::string& line) { return line.size() <= width; };
    const size_t distinct = Distinct(longest);
    std::vector<std::string> lines = TableLines(Rows(longest), {3, 4});
    if (std::all_of(lines.begin(), lines.end(), fits)) return lines;
    for (size_t least = distinct; least < longest;) {  // the shortest that is too long
      const size_t middle = (least + longest) / 2;
      lines = TableLines(Rows(middle), {3, 4});
      const bool good = std::all_of(lines.begin(), lines.end(), fits);
      good ? least = middle + 1 : longest = middle;
    }
    return TableLines(Rows(std::max(distinct, longest - 1)), {3, 4});
  }

  /// The least length at which no two shortened names are the same.
  size_t Distinct(size_t longest) const {
    for (size_t length = kShortName; length < longest; ++length) {
      std::set<std::string> names;
      for (const LayerInfo& layer : layers_) names.insert(Shortened(layer.name, length));
      if (names.size() == layers_.size()) return length;
    }
    return longest;
  }

  std::vector<std::vector<std::string>> Rows(size_t longest) const {
    std::vector<std::vector<std::string>> rows = {
        {"layer", "type", "output", "parameters", "operations", "kernel"}};
    for (size_t i = 0; i < layers_.size(); ++i) {
      const LayerInfo& layer = layers_[i];
      rows.push_back({Shortened(layer.name, longest), layer.type + Inputs(i, longest),
                      layer.output.Text(), Count(layer.parameters), Short(layer.cost.operations),
                      kernels_[i]});
    }
    return rows;
  }

  /// The inputs of layer i, unless its input is the row above.
  std::string Inputs(size_t i, size_t longest) const {
    std::vector<std::string> inputs = layers_[i].inputs;
    const std::string above = i > 0 ? layers_[i - 1].name : "data";
    if (inputs.size() == 1 && inputs[0] == above) return "";
    for (std::string& input : inputs) input = Shortened(input, longest);
    return fmt::format(" ({})", fmt::join(inputs, ", "));
  }

  std::vector<std::string> Totals() const {
    return {fmt::format("parameters  {}", Count(subject_.graph.layout().Parameters())),
            fmt::format("operations  {} an example, forward and backward", Short(Operations())),
            fmt::format(
                "memory      {} for training with batch {}: parameters {}, gradients {}, "
                "rule's state {}, hash tables {}, activations {} ({} without sharing), program and "
                "data {}",
                Bytes(double(need_.Total())), batch_, Bytes(double(need_.parameters)),
                Bytes(double(need_.gradients)), Bytes(double(need_.rule_state)),
                Bytes(double(need_.tables)), Bytes(double(need_.activations)),
                Bytes(double(need_.unshared)), Bytes(double(need_.program)))};
  }

  Table ToTable() const {
    List layers;
    for (size_t i = 0; i < layers_.size(); ++i)
      layers.emplace_back(yoke::ToTable(layers_[i], kernels_[i]));
    Table on_devices;
    for (const DeviceNeed& need : device_needs_) on_devices.emplace_back(need.device, need.bytes);
    return {{"name", subject_.name},
            {"input", ListOf(subject_.data.input.axes())},
            {"outputs", subject_.data.outputs},
            {"parameters", subject_.graph.layout().Parameters()},
            {"operations", Operations()},
            {"batch", batch_},
            {"memory", Table{{"parameters", need_.parameters},
                             {"gradients", need_.gradients},
                             {"rule_state", need_.rule_state},
                             {"tables", need_.tables},
                             {"activations", need_.activations},
                             {"activations_unshared", need_.unshared},
                             {"program_and_data", need_.program},
                             {"total", need_.Total()}}},
            {"device_memory", std::move(on_devices)},
            {"layers", std::move(layers)}};
  }

  Subject subject_;
  std::vector<LayerInfo> layers_;
  int64_t batch_;
  std::vector<std::unique_ptr<GraphPlan>> plans_;
  std::vector<std::string> kernels_;
  MemoryNeed need_;
  std::vector<DeviceNeed> device_needs_;
};

void PrintTuned(const std::vector<TunedLayer>& layers, Output& out) {
  std::vector<std::vector<std::string>> rows = {
      {"layer", "algorithm", "ms", "share of product", ""}};
  List objects;
  for (const TunedLayer& layer : layers)
    for (const TunedAlgorithm& algorithm : layer.algorithms) {
      const bool best = &algorithm == &layer.algorithms[layer.best];
      rows.push_back({layer.name, algorithm.algorithm,
                      fmt::format("{:.3f}", 1000 * algorithm.seconds),
                      fmt::format("{:.0f} %", 100 * algorithm.share), best ? "fastest" : ""});
      objects.push_back(Table{{"layer", layer.name},
                              {"algorithm", algorithm.algorithm},
                              {"seconds", algorithm.seconds},
                              {"share", algorithm.share},
                              {"fastest", best}});
    }
  out.Event("tune", {{"algorithms", objects}});
  out.Text("");
  for (const std::string& line : TableLines(rows, {2, 3})) out.Text(line);
}

class InfoCommand : public Command {
 public:
  void Declare(Arguments& arguments) override {
    arguments.Place("JOB|CHECKPOINT|ONNX", &path_,
                    "A job file, a checkpoint such as runs/NAME/last, or an ONNX file");
    arguments.Flag("--step", &step_,
                   "List what a step of a job runs on each of its devices: layers, kernels, "
                   "floating-point operations and bytes");
    arguments.Flag("--tune", &tune_,
                   "Measure the algorithms for each convolution of a job's model");
    arguments.Option("--tune-to", "FILE", &tune_to_,
                     "Write the job with the fastest algorithms (implies --tune)");
    set_.Declare(arguments);
  }

  int Run(Output& out) override {
    Require(!path_.empty(), "`yoke info` needs a job file, a checkpoint or an ONNX file");
    tune_ = tune_ || !tune_to_.empty();
    Require(
        (!tune_ && !step_) || (!path_.ends_with(".onnx") && !std::filesystem::is_directory(path_)),
        "{} needs a job file", tune_ ? "--tune" : "--step");
    if (path_.ends_with(".onnx"))
      DescribeOnnx(out);
    else if (std::filesystem::is_directory(path_))
      DescribeCheckpoint(out);
    else
      DescribeJob(out);
    return 0;
  }

 private:
  void DescribeJob(Output& out) const {
    const Job job = LoadJob(path_, set_.Read());
    RequireNoInput(tune_to_, InputsOf(job, path_));
    SetKernelThreads(job.Threads());
    const DataSets data = OpenData(job.data(), job.seed());  // sizes and classes come from the data
    const Graph graph = BuildModel(job.model(), TaskOf(data.train->Info()), RowTypeOf(job));
    Description({job.name, job, data.train->Info(), graph, data.train->Size()}).Print(out);
    if (step_) PrintSteps(job, *data.train, graph, out);
    if (tune_) Tune(job, *data.train, out);
  }

  void Tune(const Job& job, const Reader& data, Output& out) const {
    std::optional<OutputFile> file;  // refused before anything is measured
    if (!tune_to_.empty()) file.emplace(tune_to_);
    const auto tuned = TuneConvolutions(job, data);
    PrintTuned(tuned, out);
    if (!file) return;
    Value resolved = job.resolved;
    const Table algorithms = AlgorithmsOf(tuned);
    Require(!algorithms.empty(), "this model has no convolutions to tune");
    resolved.Set("model", WithAlgorithms(job.model(), algorithms));
    file->Write(FormatToml(resolved));
    file->Commit();
    out.Text(fmt::format("job with these choices written to {}", tune_to_));
  }

  void DescribeOnnx(Output& out) const {
    Require(set_.Read().empty(), "an ONNX file has no job: leave out --set and its short forms");
    const OnnxModel model = ReadOnnx(path_);
    const DataInfo data = {.input = model.input, .outputs = model.outputs};
    const Job job = MakeJob(Table{{"data", Table{{"format", "synthetic-digits"}}},
                                  {"model", Table{{"layer", model.layers}}}},
                            "job", /*folder=*/"");
    SetKernelThreads(job.Threads());
    const Graph graph(model.layers, TaskOf(data));
    Description({path_, job, data, graph}).Print(out);
  }

  void DescribeCheckpoint(Output& out) const {
    Require(set_.Read().empty(),
            "a checkpoint has its own job: leave out --set and its short forms");
    const ModelFile model(path_);
    SetKernelThreads(model.job().Threads());
    const Position& at = model.header().position;
    out.Text(fmt::format("checkpoint {}: {} steps, {} epoch{}", model.folder(), Count(at.step),
                         at.epoch, at.epoch == 1 ? "" : "s"));
    const Job& job = model.job();
    const DataInfo& data = model.header().data;
    const Graph graph = BuildModel(job.model(), TaskOf(data), RowTypeOf(job));
    Description({path_, job, data, graph}).Print(out);
  }

  std::string path_, tune_to_;
  bool tune_ = false, step_ = false;
  JobOptions set_;
};

}  // namespace

CommandEntry info_command() {
  return {"info", "Look into things",
          "Show a model's layers, shapes, parameters, operations and memory",
          "A job's data is read for the sizes of input and output; a checkpoint and an ONNX file "
          "contain them.\n\n"
          "--step runs no kernel. A layer's operations and bytes are those of the direct algorithm "
          "in f32, with its input's gradient. They stand at its first kernel in a pass: a third "
          "of them forward for layers that multiply by weights, 3/8 (with an addition 2/5 or 4/11) "
          "for batch_norm, half for others. Conversions, copies and sums of gradients are listed "
          "with bytes of their own.\n\n"
          "Examples:\n"
          "  yoke info examples/demo.toml\n"
          "  yoke info runs/lenet/last --json\n"
          "  yoke info model.onnx\n"
          "  yoke info job.toml --step\n"
          "  yoke info job.toml --tune-to tuned.toml",
          [] { return std::unique_ptr<Command>(new InfoCommand); }};
}

}  // namespace yoke
