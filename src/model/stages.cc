// Stages: compiles layers from the data up, then gives each output, gradient and saved block a
// place in one piece of memory, by its lifetime.
#include "model/stages.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/resources.h"
#include "kernels/convert.h"
#include "kernels/recorder.h"
#include "model/lifetimes.h"
#include "tensor/devices.h"

namespace yoke {
namespace {

/// Converts scores to plain f32, and their gradient back; in place if they already are.
class ScoresPlan : public LayerPlan {
 public:
  ScoresPlan(const Edge& input, const Target& target) : convert_(MakeConvert(target)) {
    output = {.shape = input.shape};
    output_is_input = input.type == DType::kF32 && input.layout == Layout::kPlain;
    reads_input = reads_output = false;
  }
  void Forward(const LayerCall& call) override {
    if (!output_is_input) convert_->Forward({call.input, call.output});
  }
  void Backward(const LayerCall& call) override {
    if (!output_is_input && call.input_gradient.data)
      convert_->Forward({call.output_gradient, call.input_gradient});
  }

 private:
  std::unique_ptr<ConvertKernel> convert_;
};

/// Bytes of an edge for a batch.
int64_t BytesOf(const Edge& edge, int64_t batch) {
  return edge.active ? 0 : edge.shape.Batched(batch).Count() * SizeOf(edge.type);
}

/// Refuses a layer with a tensor that exceeds the usable memory, before it is compiled.
void RequireMemory(const GraphNode& node, const ParamLayout& layout,
                   const CompileRequest& request) {
  static const int64_t usable = UsableMemory();
  const auto fits = [&](int64_t bytes, const char* what) {
    Require(bytes <= usable,
            "layer '{}' ({}): its {} take {:.3g} GB with a batch of {}, and this process may use "
            "{:.3g} GB of memory",
            node.name, node.type, what, double(bytes) / 1e9, request.batch, double(usable) / 1e9);
  };
  Edge output = node.output;
  if (!request.training) output.active = 0;
  fits(BytesOf(output, request.batch), "outputs");
  for (const int slice : node.slices)
    fits(layout.slices()[slice].Places() * SizeOf(DType::kF32), "parameters");
}

/// Refuses a layer on a device that it cannot compute on.
void RequireDevice(const GraphNode& node, const Device& device) {
  const std::string reason = device.IsHost() ? "" : node.layer->OnlyOnCpu();
  Require(reason.empty(), "layer '{}' ({}) runs on the CPU only, not on {}, because {}: {}",
          node.name, node.type, device.name(), reason, HowToUseTheCpu());
}

/// Compiles nodes to stages, without memory.
class Compiler {
 public:
  Compiler(const ParamLayout& layout, const Edge& input, const CompileRequest& request)
      : layout_(layout), input_(input), request_(request) {}

  Stages Compile(const std::vector<GraphNode>& nodes) {
    const int below = nodes.back().inputs[0];  // the scores' node
    const int cut =
        request_.part == GraphPart::kWhole ? 0 : FindCut(nodes, layout_, request_.cut)->node;
    const int first = request_.part == GraphPart::kHead ? cut : 0;
    const int end = request_.below_output ? below : request_.part == GraphPart::kBody ? cut : kAll;
    stage_of_.resize(nodes.size(), kData);
    const std::vector<bool> needed =
        NodesBelow(nodes, end == kAll ? Losses(nodes) : nodes[end].inputs);
    for (size_t i = first; i < nodes.size(); ++i)
      if (needed[i]) Add(nodes[i], i == size_t(below));
    if (end != kAll) {
      stages_.scores = AddConversion(nodes[end], StageOf(nodes[end].inputs[0]));
    } else {
      stages_.scores = stages_.list[stages_.losses.back()].sources[0].stage;
    }
    return std::move(stages_);
  }

 private:
  static constexpr int kAll = -1;

  std::vector<int> Losses(const std::vector<GraphNode>& nodes) const {
    const int main = static_cast<int>(nodes.size()) - 1;
    std::vector<int> losses = {main};
    for (int i = 0; request_.training && i < main; ++i)
      if (nodes[i].loss) losses.push_back(i);
    return losses;
  }

  /// The input of a head counts as data.
  int StageOf(int node) const { return node == kData ? kData : stage_of_[node]; }
  const Edge& EdgeOf(int stage) const {
    return stage == kData ? input_ : stages_.list[stage].plan->output;
  }
  bool Trained(int stage) const {
    return stage == kData ? request_.part == GraphPart::kHead : stages_.list[stage].trained;
  }

  void Add(const GraphNode& node, bool scores) {
    std::vector<Source> sources;
    for (const int input : node.inputs) sources.push_back({.stage = StageOf(input)});
    const bool loss = node.loss.has_value();
    const Edge& below = EdgeOf(sources[0].stage);
    if (loss && !below.active && (below.type != DType::kF32 || below.layout != Layout::kPlain))
      sources[0].stage = AddConversion(node, sources[0].stage);
    Stage stage{.node = &node, .active = {.scores = scores}};
    AtPlace(node.place, [&] {
      OfLayer(node.name, node.type, [&] {
        RequireMemory(node, layout_, request_);
        RequireDevice(node, *request_.target.device);
        Plan(stage, RequestFor(node, sources));
      });
    });
    stage.sources = std::move(sources);
    AddParams(stage);
    stage_of_[node.index] = Append(std::move(stage));
    if (loss) stages_.losses.push_back(stage_of_[node.index]);
  }

  void Plan(Stage& stage, const PlanRequest& request) const {
    const GraphNode& node = *stage.node;
    if (request_.training && request_.immediate && node.fully_connected)
      stage.plan = node.fully_connected->PlanInPlace(request);
    stage.in_place = stage.plan != nullptr;
    if (!stage.in_place) stage.plan = node.layer->Plan(request);
  }

  PlanRequest RequestFor(const GraphNode& node, const std::vector<Source>& sources) const {
    PlanRequest request{.batch = request_.batch,
                        .input = EdgeOf(sources[0].stage),
                        .arithmetic = request_.arithmetic,
                        .training = request_.training,
                        .target = TargetOf(node)};
    for (size_t k = 0; k < sources.size(); ++k) {
      if (k > 0) request.others.push_back(EdgeOf(sources[k].stage));
      request.input_gradient |= Trained(sources[k].stage);
    }
    return request;
  }

  /// Where its kernels run; a recorder lists them under its name.
  Target TargetOf(const GraphNode& node) const {
    Target target = request_.target;
    if (auto* const recorder = dynamic_cast<Recorder*>(target.stream))
      target.stream = &recorder->Of(node.name);
    return target;
  }

  int AddConversion(const GraphNode& node, int source) {
    Stage stage{.node = &node,
                .converts = true,
                .plan = std::make_unique<ScoresPlan>(EdgeOf(source), TargetOf(node))};
    stage.sources = {{.stage = source}};
    return Append(std::move(stage));
  }

  int Append(Stage stage) {
    for (const Source& source : stage.sources) stage.trained |= Trained(source.stage);
    stages_.list.push_back(std::move(stage));
    return static_cast<int>(stages_.list.size()) - 1;
  }

  void AddParams(Stage& stage) const {
    for (const int index : stage.node->slices) {
      const Slice& slice = layout_.slices()[index];
      const bool bf16 =
          request_.arithmetic == DType::kBf16 && slice.kind == SliceKind::kDense && !slice.keep_f32;
      stage.params.push_back(
          {.value = {.shape = slice.shape, .type = bf16 ? DType::kBf16 : slice.type}});
      stage.trained |= slice.kind != SliceKind::kBuffer;
    }
  }

  const ParamLayout& layout_;
  const Edge& input_;
  const CompileRequest& request_;
  std::vector<int> stage_of_;  // by node
  Stages stages_;
};

/// The base address before memory is allocated; not null, which means that there is no block.
constexpr uintptr_t kUnplaced = 64;

void* AtAddress(uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// Gives each stage its memory. Forward runs stage i at step i, Backward at step 2n - 1 - i.
class Placement {
 public:
  Placement(Stages& stages, const Edge& input, const CompileRequest& request)
      : stages_(stages),
        list_(stages.list),
        input_(input),
        request_(request),
        places_(list_.size()) {}

  void Place() {
    const int count = static_cast<int>(list_.size());
    for (int i = 0; i < count; ++i) AddOutput(i);
    KeepResults();
    if (request_.part == GraphPart::kBody)  // written between Forward and Backward
      places_.back().gradient =
          lifetimes_.Add(BytesOf(list_.back().plan->output, request_.batch), count - 1, count);
    if (request_.training)
      for (int i = count; i-- > 0;) AddGradients(i);
    const int scratch = lifetimes_.Add(LargestScratch(), 0, 2 * count);
    lifetimes_.Place();
    stages_.bytes = lifetimes_.bytes();
    stages_.unshared_bytes = lifetimes_.sum();
    stages_.scratch = At(scratch);
    for (int i = 0; i < count; ++i) Assign(i);
    if (request_.part == GraphPart::kBody) stages_.cut_gradient = list_.back().gradient;
    if (request_.part == GraphPart::kHead) stages_.cut_gradient = list_[0].sources[0].gradient;
  }

 private:
  static constexpr int kNone = -1;

  /// The blocks of one stage, or kNone.
  struct Blocks {
    int output = kNone;
    int saved = kNone;
    int gradient = kNone;
    int more = kNone;
    std::vector<int> contributions = {};  // by source: its contribution to the source's gradient
  };

  int End() const { return 2 * static_cast<int>(list_.size()); }
  int BackwardStep(int i) const { return End() - 1 - i; }
  bool RunsBackward(int i) const { return request_.training && list_[i].trained; }

  void AddOutput(int i) {
    Stage& stage = list_[i];
    for (const Source& source : stage.sources) {
      if (source.stage == kData || places_[source.stage].output == kNone) continue;
      const bool reads = RunsBackward(i) && stage.plan->reads_input;
      lifetimes_.Extend(places_[source.stage].output, reads ? BackwardStep(i) : i);
    }
    const int below = stage.sources[0].stage;
    Blocks& blocks = places_[i];
    if (stage.plan->output_is_input)
      blocks.output = below == kData ? kNone : places_[below].output;
    else
      blocks.output = lifetimes_.Add(BytesOf(stage.plan->output, request_.batch), i, i);
    const int last = RunsBackward(i) ? BackwardStep(i) : i;
    if (blocks.output != kNone && stage.plan->reads_output) lifetimes_.Extend(blocks.output, last);
    if (request_.training && stage.plan->saved_bytes > 0)
      blocks.saved = lifetimes_.Add(stage.plan->saved_bytes, i, last);
  }

  /// Scores and losses are read after the last step.
  void KeepResults() {
    if (places_[stages_.scores].output != kNone)
      lifetimes_.Extend(places_[stages_.scores].output, End());
    for (const int loss : stages_.losses) lifetimes_.Extend(places_[loss].output, End());
  }

  /// Places the gradients of stage i's inputs. The first reader to run (the last in the list)
  /// writes an input's gradient, the others add to it.
  void AddGradients(int i) {
    const Stage& stage = list_[i];
    if (!stage.trained) return;
    const int step = BackwardStep(i);
    if (places_[i].gradient != kNone) lifetimes_.Extend(places_[i].gradient, step);
    if (places_[i].more != kNone) lifetimes_.Extend(places_[i].more, step);
    for (size_t k = 0; k < stage.sources.size(); ++k) {
      const int below = stage.sources[k].stage;
      places_[i].contributions.push_back(kNone);
      int& block = places_[i].contributions.back();
      if (below == kData && request_.part == GraphPart::kHead)
        block = lifetimes_.Add(BytesOf(input_, request_.batch), step, End());
      if (below == kData || !list_[below].trained || list_[below].plan->output.active) continue;
      const int64_t bytes = BytesOf(list_[below].plan->output, request_.batch);
      const bool first = places_[below].gradient == kNone;
      const bool same = stage.plan->output_is_input || (first && SharesGradient(stage, k));
      block = same ? places_[i].gradient : lifetimes_.Add(bytes, step, step);
      list_[i].sources[k].adds = false;
      if (first)
        places_[below].gradient = block;
      else if (list_[below].plan->adds_gradient && places_[below].more == kNone)
        places_[below].more = block;
      else
        list_[i].sources[k].adds = true;
    }
  }

  /// Whether input k's gradient may use the output gradient's memory.
  bool SharesGradient(const Stage& stage, size_t k) const {
    if (stage.plan->gradient_in_place != static_cast<int>(k)) return false;
    const Edge &out = stage.plan->output, &in = list_[stage.sources[k].stage].plan->output;
    return out.type == in.type && out.layout == in.layout && out.shape == in.shape;
  }

  int64_t LargestScratch() const {
    int64_t bytes = 0;
    for (const Stage& stage : list_) bytes = std::max(bytes, stage.plan->scratch_bytes);
    return bytes;
  }

  void* At(int block) const {
    return block == kNone ? nullptr : AtAddress(kUnplaced + lifetimes_.offset(block));
  }

  void Assign(int i) {
    Stage& stage = list_[i];
    stage.output = TensorOf(stage.plan->output, request_.batch, At(places_[i].output));
    stage.gradient = TensorOf(stage.plan->output, request_.batch, At(places_[i].gradient));
    stage.more = TensorOf(stage.plan->output, request_.batch, At(places_[i].more));
    stage.saved = At(places_[i].saved);
    for (size_t k = 0; k < stage.sources.size(); ++k) {
      Source& source = stage.sources[k];
      const int block = stage.trained && request_.training ? places_[i].contributions[k] : kNone;
      const Edge& edge = source.stage == kData ? input_ : list_[source.stage].plan->output;
      source.gradient = TensorOf(edge, request_.batch, At(block));
    }
  }

  Stages& stages_;
  std::vector<Stage>& list_;
  const Edge& input_;
  const CompileRequest& request_;
  std::vector<Blocks> places_;
  Lifetimes lifetimes_;
};

}  // namespace

bool OnData(const std::vector<Stage>& stages, int stage) {
  while (stage != kData && stages[stage].plan->output_is_input)
    stage = stages[stage].sources[0].stage;
  return stage == kData;
}

Tensor TensorOf(const Edge& edge, int64_t batch, void* data) {
  return {
      .shape = edge.shape.Batched(batch), .type = edge.type, .data = data, .layout = edge.layout};
}

void Allocate(Stages& stages, const Target& target) {
  if (stages.memory.data() || stages.bytes == 0) return;
  stages.memory = Buffer(*target.device, stages.bytes);
  const auto begin = reinterpret_cast<uintptr_t>(stages.memory.data());
  const auto move = [begin](void*& place) {
    if (place) place = AtAddress(reinterpret_cast<uintptr_t>(place) - kUnplaced + begin);
  };
  for (Stage& stage : stages.list) {
    for (void** place : {&stage.output.data, &stage.gradient.data, &stage.more.data, &stage.saved})
      move(*place);
    for (Source& source : stage.sources) move(source.gradient.data);
  }
  move(stages.scratch);
  move(stages.cut_gradient.data);
}

Stages MakeStages(const std::vector<GraphNode>& nodes, const ParamLayout& layout, const Edge& input,
                  const CompileRequest& request) {
  Stages stages = Compiler(layout, input, request).Compile(nodes);
  Placement(stages, input, request).Place();
  return stages;
}

}  // namespace yoke
