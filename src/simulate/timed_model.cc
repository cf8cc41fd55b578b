// TimedModel: the shrunken layout, and stand-ins for executor and head.
#include "simulate/timed_model.h"

#include <algorithm>

#include "base/check.h"
#include "node/plans.h"
#include "train/job/devices.h"
#include "train/job/parts.h"

namespace yoke {
namespace {

/// Elements of a shrunken model: the more, the better the proportions of small slices; of all ranks
/// together no more than kElementsOfAll, as long as the parts can be told apart.
constexpr int64_t kMostElements = 16384, kElementsOfAll = 1 << 22;
constexpr int64_t kLeastElements = 512, kElementsPerSlice = 16;
/// Compressed messages have a part for each rank with a header, which counts for more the shorter
/// the part is.
constexpr int64_t kElementsPerRank = 1024;

class NoGradient : public Executor {
 public:
  /// With `width` elements of an example that go to a served head.
  NoGradient(int64_t batch, int64_t width) : gradient_(batch * width) {
    above_.size = batch;
    above_.examples.resize(batch);
    above_.classes.resize(batch);
    above_.ResizeDense({width});
  }

  StepResult Step(const Batch& batch, const ParamView& params, const ExecutorStep& step) override {
    if (step.head) step.head->Step(above_, gradient_.data());
    AnnounceAll(*params.layout, step.ready);
    return {.examples = batch.size};
  }

 private:
  Batch above_;
  std::vector<float> gradient_;  // never read
};

class NoHead : public Head {
 public:
  double Step(const Batch& /*batch*/, float* /*gradient*/) override { return 0; }
};

ParamLayout Shrink(const Job& job, const ParamLayout& full, int ranks) {
  const Value* compression = job.resolved.Find("cluster")->Find("compression");
  const bool compressed =
      compression && compression->AsString() && *compression->AsString() != "none";
  const auto slices = static_cast<int64_t>(full.slices().size());
  const int64_t least = compressed ? kElementsPerRank * ranks : kLeastElements;
  return full.Shrunken(std::max(
      {least, kElementsPerSlice * slices, std::min(kMostElements, kElementsOfAll / ranks)}));
}

}  // namespace

TimedModel::TimedModel(const Job& job, const DataInfo& data, int ranks)
    : graph(ModelLayers(job.model(), TaskOf(data)), TaskOf(data)),
      layers(std::make_shared<LayerOperations>(graph)),
      rule(RuleOf(job)) {
  const std::string name = job.node.String("executor");
  devices = NamesOfDevices(job);
  Require(name == "single" || (name == "split" && devices == std::vector<std::string>{"cpu"}),
          "{}: --times-only needs executor single, or split on the CPU alone, whose steps all take "
          "the same work; got {}",
          job.node.Where("executor"), name);
  Require(
      !graph.layout().HasRows(),
      "--times-only needs a model of dense parameters: which rows of a sparse or hashed layer a "
      "step touches depends on the data");
  layout = Shrink(job, graph.layout(), ranks);
  scale = static_cast<double>(graph.layout().size()) / static_cast<double>(layout.size());
  batch.size = BatchOf(job);
  batch.examples.resize(batch.size);
  const std::optional<GraphCut> cut = graph.Cut();
  const int64_t width = cut ? cut->activations.Count() : 0;
  executor = std::make_shared<NoGradient>(batch.size, width);
  if (!cut) return;
  head = HeadOffer{
      .first_slice = cut->first_slice,
      .width = width,
      .price = [this](int64_t examples) { return graph.Price(examples, GraphPart::kHead); },
      .make = [](const ParamView&) -> std::unique_ptr<Head> { return std::make_unique<NoHead>(); }};
}

double TimedModel::CheckpointBytes() const {
  const auto arrays = 1 + static_cast<double>(rule->StateNames().size());
  return arrays * static_cast<double>(sizeof(float) * graph.layout().size());
}

}  // namespace yoke
