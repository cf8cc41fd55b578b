// StepTable: a step as executors make it, on a stream that lists the kernels (kernels/recorder.h).
#include "cli/step_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "base/check.h"
#include "base/registry.h"
#include "kernels/makers.h"
#include "kernels/recorder.h"
#include "kernels/vectors.h"
#include "node/executor.h"
#include "tensor/array.h"
#include "train/job/devices.h"
#include "train/job/parts.h"
#include "train/number_format.h"

namespace yoke {
namespace {

constexpr std::array<const char*, 3> kPasses = {"forward", "backward", "update"};

struct StepRow {
  std::string pass;
  RecordedCalls calls;
  Cost cost;
};

bool IsCopy(const StepRow& row) {
  return row.calls.operation == "convert" || row.calls.kernel == "stream";
}

/// Gives a part of the layer's cost to its first call in these rows that is no copy, or else to its
/// first.
void Charge(const LayerInfo& layer, double part, std::span<StepRow> rows) {
  StepRow* first = nullptr;
  for (StepRow& row : rows)
    if (row.calls.layer == layer.name && (!first || (IsCopy(*first) && !IsCopy(row)))) first = &row;
  if (first && layer.cost.bytes > 0)
    first->cost = {.operations = part * layer.cost.operations, .bytes = part * layer.cost.bytes};
}

class RecordedStep {
 public:
  RecordedStep(const Job& job, const Reader& data, const Graph& graph, Device& device)
      : job_(job),
        data_(data),
        graph_(graph),
        batch_(std::min(BatchOf(job), data.Size())),
        layers_(graph.Info(batch_)),
        stream_(device.NewStream()),
        recorder_(*stream_),
        target_{.device = &device, .stream = &recorder_, .reference = job.ReferenceKernels()},
        params_(graph.layout(), device),
        gradients_(graph.layout(), device),
        states_(graph.MakeStates()) {}

  std::vector<StepRow> Rows(bool as_stored) {
    std::vector<int64_t> examples(static_cast<size_t>(batch_));
    std::iota(examples.begin(), examples.end(), 0);
    Batch batch;
    data_.Read({.examples = examples, .seed = job_.seed(), .as_stored = as_stored}, batch);
    const auto plan = graph_.Compile(
        {.batch = batch_, .training = true, .arithmetic = ArithmeticOf(job_), .target = target_});
    ParamView view = params_.View(&gradients_);
    view.states = &states_;
    plan->PrepareAndForward(batch, view);
    AddLayers("forward");
    plan->Backward(batch, view, {});
    AddLayers("backward");
    AddUpdates();
    return std::move(rows_);
  }

 private:
  void AddLayers(const std::string& pass) {
    const size_t begin = rows_.size();
    for (RecordedCalls& calls : recorder_.Take()) {
      const Cost own = {.bytes = calls.bytes};
      rows_.push_back({pass, std::move(calls), own});
    }
    for (const LayerInfo& layer : layers_)
      Charge(layer, pass == "forward" ? layer.forward : 1 - layer.forward,
             std::span(rows_).subspan(begin));
  }

  void AddUpdates() {
    const auto rule = RuleOf(job_);
    target_.device->IsHost() ? AddUpdatesHere(*rule) : AddUpdatesThere(*rule);
  }

  /// Elements of touched rows, here or there.
  int64_t Touched() const {
    int64_t count = 0;
    for (size_t i = 0; i < graph_.layout().slices().size(); ++i) {
      const RowGradient& rows = gradients_.rows(static_cast<int>(i));
      count += std::ssize(rows.values) + rows.values_there.count;
    }
    return count;
  }

  Cost CostOfNorm() const {
    if (job_.train.Float("clip_norm") <= 0) return {};
    const double elements = static_cast<double>(graph_.layout().dense_size() + Touched());
    return {.operations = 2 * elements, .bytes = 4 * elements};
  }

  /// As Apply does it: the norm if it is limited, then each slice of parameters.
  void AddUpdatesHere(const UpdateRule& rule) {
    const ParamLayout& layout = graph_.layout();
    const RuleState state(layout, rule, Cpu());
    if (job_.train.Float("clip_norm") > 0) {
      MakeVectors(target_)->Forward({.operation = VectorCall::Operation::kSquareSum});
      AddUpdate(recorder_.Take().front(), CostOfNorm());
    }
    for (size_t i = 0; i < layout.slices().size(); ++i) {
      const Slice& slice = layout.slices()[i];
      const std::string layer = slice.name.substr(0, slice.name.rfind('.'));
      Target target = target_;
      target.stream = &recorder_.Of(layer);
      if (slice.kind == SliceKind::kDense) {
        rule.MakeKernel(target)->Forward({});
        AddUpdate(recorder_.Take().front(), CostOfUpdate(state, slice.Count()));
      } else if (slice.kind == SliceKind::kRowSparse) {
        const auto touched = std::ssize(gradients_.rows(static_cast<int>(i)).values);
        AddUpdate({.layer = layer, .operation = rule.name(), .kernel = "touched rows, on the host"},
                  CostOfUpdate(state, touched));
      }
    }
  }

  /// Elements that an update on a device writes.
  int64_t Updated() const {
    int64_t count = Touched();
    for (const Slice& slice : graph_.layout().slices())
      if (slice.kind == SliceKind::kDense) count += slice.Count();
    return count;
  }

  /// What Apply enqueues.
  void AddUpdatesThere(const UpdateRule& rule) {
    RuleState state(graph_.layout(), rule, *target_.device, {}, &recorder_);
    const Beside beside(*target_.device, recorder_);
    Apply(params_, {.rule = rule,
                    .state = state,
                    .gradients = gradients_,
                    .learning_rate = job_.train.Float("learning_rate"),
                    .clip_norm = job_.train.Float("clip_norm")});
    for (const RecordedCalls& calls : recorder_.Take()) {
      const bool updates = calls.operation == rule.name();
      const bool norm = calls.operation == operation::kVectors.name();
      AddUpdate(calls, updates ? CostOfUpdate(state, Updated())
                       : norm  ? CostOfNorm()
                               : Cost{.bytes = calls.bytes});
    }
  }

  /// Slices of one layer share a row.
  void AddUpdate(RecordedCalls calls, const Cost& cost) {
    const RecordedCalls& last = rows_.back().calls;
    const bool same = rows_.back().pass == "update" && last.layer == calls.layer &&
                      last.operation == calls.operation && last.kernel == calls.kernel;
    if (!same) return rows_.push_back({"update", std::move(calls), cost});
    rows_.back().calls.calls += calls.calls;
    rows_.back().cost += cost;
  }

  const Job& job_;
  const Reader& data_;
  const Graph& graph_;
  int64_t batch_;
  std::vector<LayerInfo> layers_;
  std::unique_ptr<Stream> stream_;
  Recorder recorder_;
  Target target_;
  ParamStore params_;
  Gradients gradients_;
  LayerStates states_;
  std::vector<StepRow> rows_;
};

/// Calls and cost of a pass; "": of all.
StepRow TotalOf(const std::vector<StepRow>& rows, const std::string& pass) {
  StepRow total = {.pass = pass, .calls = {.calls = 0}, .cost = {}};
  for (const StepRow& row : rows) {
    if (!pass.empty() && row.pass != pass) continue;
    total.calls.calls += row.calls.calls;
    total.cost += row.cost;
  }
  return total;
}

/// For example: convolution, backward.
std::string OperationOf(const RecordedCalls& calls) {
  return calls.operation + (calls.backward ? ", backward" : "");
}

Table CountsOf(const StepRow& row) {
  return {
      {"calls", row.calls.calls}, {"operations", row.cost.operations}, {"bytes", row.cost.bytes}};
}

Table ToTable(const StepRow& row) {
  Table table = {{"pass", row.pass},
                 {"layer", row.calls.layer},
                 {"operation", OperationOf(row.calls)},
                 {"kernel", row.calls.kernel}};
  const Table counts = CountsOf(row);
  table.insert(table.end(), counts.begin(), counts.end());
  return table;
}

Table EventOf(const std::vector<StepRow>& rows, const Device& device, int64_t batch) {
  List list;
  for (const StepRow& row : rows) list.emplace_back(ToTable(row));
  Table totals;
  for (const std::string pass : kPasses) totals.emplace_back(pass, CountsOf(TotalOf(rows, pass)));
  totals.emplace_back("step", CountsOf(TotalOf(rows, "")));
  return {{"device", device.name()}, {"batch", batch}, {"calls", list}, {"totals", totals}};
}

std::vector<std::string> CellsOf(const StepRow& row) {
  return {row.pass,
          row.calls.layer,
          OperationOf(row.calls),
          row.calls.kernel,
          Count(row.calls.calls),
          Short(row.cost.operations),
          Bytes(row.cost.bytes)};
}

std::vector<std::string> LinesOf(const std::vector<StepRow>& rows) {
  std::vector<std::vector<std::string>> cells = {
      {"pass", "layer", "operation", "kernel", "calls", "operations", "bytes"}};
  for (const StepRow& row : rows) cells.push_back(CellsOf(row));
  for (const std::string pass : kPasses) {
    cells.push_back(CellsOf(TotalOf(rows, pass)));
    cells.back()[1] = "(total)";
  }
  cells.push_back(CellsOf(TotalOf(rows, "")));
  cells.back()[0] = "step", cells.back()[1] = "(total)";
  return TableLines(cells, {4, 5, 6});
}

}  // namespace

void PrintSteps(const Job& job, const Reader& data, const Graph& graph, Output& out) {
  const std::string executor = job.node.String("executor");
  Require(!FindEntry(executors(), "executor", executor).divides_model,
          "{}: --step lists steps of whole models, and executor {} divides the model",
          job.node.Where("executor"), executor);
  const Devices devices = DevicesOf(job);
  for (Device* const device : devices.all()) {
    const std::vector<StepRow> rows =
        RecordedStep(job, data, graph, *device).Rows(TakeStored(devices));
    const int64_t batch = std::min(BatchOf(job), data.Size());
    out.Event("step", EventOf(rows, *device, batch));
    out.Text("");
    out.Text(fmt::format("a step of {} examples on {}:", Count(batch), device->name()));
    for (const std::string& line : LinesOf(rows)) out.Text(line);
  }
}

}  // namespace yoke
