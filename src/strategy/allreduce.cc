// All-reduce: every step's gradient is the mean over all examples of all replicas, which therefore
// stay equal. Buckets of slices are summed while the backward pass goes on. Cost of a step: an
// all-reduce of the model, a bucket at a time.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/options.h"
#include "strategy/buckets.h"
#include "strategy/compress.h"
#include "strategy/rows.h"
#include "strategy/side_thread.h"
#include "strategy/statistics.h"
#include "strategy/update.h"

namespace yoke::strategy {
namespace {

class AllReduce : public Strategy {
 public:
  AllReduce(const Options& options, const StrategyContext& context)
      : context_(context),
        world_(context.world),
        accumulate_(options.Int("accumulate")),
        compressor_(options, context.params.layout().dense_size()),
        update_(context),
        statistics_(context.params.layout()),
        rows_(context.params.layout()),
        row_staging_(context.params.layout(), *context.params.values().device),
        buckets_(context.params.layout(), BucketElements(options.Float("bucket_mb"), world_)),
        thread_(context.world, nullptr, *context.params.values().device) {
    const ParamLayout& layout = context.params.layout();
    if (accumulate_ == 1) return;
    sum_ = BufferLike(context.gradients.dense());
    for (int i = 0; i < static_cast<int>(layout.slices().size()); ++i)
      if (layout.slices()[i].kind == SliceKind::kRowSparse) row_sums_.emplace_back(i, layout);
  }

  void Prepare() override {
    if (accumulated_ == 0) DropSums();
    if (world_.size() == 1) return;
    Device& device = *context_.params.values().device;
    // The last question joins the GPUs of all ranks, wherever their values lie.
    if (compressor_.kind() == Compression::kNone && accumulate_ == 1 && !rows_.any() &&
        world_.SumsOnDevice(device))
      there_.emplace(
          There{.main = device.stream(), .sums = device.NewStream(), .before = {}, .end = {}});
    else
      thread_.Begin();
  }

  ParamView View(const StrategyStep& step) override {
    buckets_.Begin();
    weight_ = step.team_examples == 0 ? 1
                                      : static_cast<double>(step.examples * world_.size()) /
                                            static_cast<double>(step.team_examples);
    return context_.params.View(&context_.gradients);
  }

  void GradientReady(int slice) override {
    if (Overlaps()) buckets_.Complete(slice, [this](const Bucket& bucket) { Enqueue(bucket); });
  }

  /// Gradients of ranks that weigh alike are multiplied by no number of the step.
  SliceExchange ExchangeOfSlices() const override {
    if (!Overlaps()) return SliceExchange::kNone;
    return there_ && weight_ == 1 ? SliceExchange::kEnqueued : SliceExchange::kBeside;
  }
  void Launched() override {
    buckets_.Skip();
    world_.SumsLaunched(there_->main);
  }
  bool UpdatesFirst() const override { return there_.has_value(); }

  void Step(const StrategyStep& step) override {
    examples_ += step.team_examples;
    if (accumulate_ > 1) row_staging_.Read(context_.gradients);
    if (accumulate_ > 1 && !Accumulate(step)) return;
    if (world_.size() > 1) {
      buckets_.Rest([this](const Bucket& bucket) { Enqueue(bucket); });
      if (accumulate_ == 1) row_staging_.Read(context_.gradients);
      rows_.Sum(world_, weight_, context_.gradients);
      if (!there_) thread_.Wait();
    }
    if (accumulate_ > 1 || world_.size() > 1) row_staging_.Write(context_.gradients);
    update_.Step(step, 1.0 / world_.size());
    ++updates_;
  }

  /// Running statistics become those of all replicas.
  void Quiesce() override { statistics_.Average(world_, context_.params.values()); }

  Array<const float> Model() override { return context_.params.values(); }

  ExchangeCounts Counts() const override {
    const Traffic here = world_.traffic();
    ExchangeCounts counts = {.traffic = here,
                             .seconds_waiting = here.seconds_waited + thread_.seconds_waited()};
    counts.traffic += thread_.traffic();
    if (world_.rank() > 0) return counts;  // each update is counted once
    counts.updates = updates_;
    counts.examples = examples_;
    counts.staleness = {updates_};
    return counts;
  }

  Value State() const override {
    return Value(
        Table{{"accumulated", accumulated_}, {"accumulated_examples", accumulated_examples_}});
  }
  void Restore(const Value& state) override {
    if (accumulate_ == 1) return;
    ReadSaved(state, "accumulated", accumulated_);
    ReadSaved(state, "accumulated_examples", accumulated_examples_);
  }
  std::vector<SavedTensor> Tensors() override {
    std::vector<SavedTensor> saved;
    Save(saved, "accumulated", sum_);
    for (RowSum& sum : row_sums_) {
      Save(saved, "accumulated." + sum.name, sum.values);
      Save(saved, "touched." + sum.name, sum.touched);
    }
    Save(saved, "residual", compressor_.residual());
    return saved;
  }

  void Finish() override { thread_.Finish(); }
  Rescued Recover() override {
    thread_.Abandon();
    return {};
  }

 private:
  void Enqueue(const Bucket& bucket) {
    // Ranks with fewer examples than others weigh less.
    if (weight_ != 1) Scale(Gradient(bucket), static_cast<float>(weight_));
    if (there_) return SumThere(bucket);
    thread_.Do([this, &bucket](SideThread::Endpoint& here) { Sum(here.world(), bucket); });
  }

  /// Beside what the pass enqueues from now on; what follows the last bucket comes after the sums.
  void SumThere(const Bucket& bucket) {
    auto& [main, sums, before, end] = *there_;
    main.Record(before);
    sums->Await(before);
    world_.AllReduce(Gradient(bucket), *sums);
    if (&bucket != &buckets_.all().back()) return;
    sums->Record(end);
    main.Await(end);
  }

  void Sum(const Communicator& world, const Bucket& bucket) {
    if (compressor_.kind() == Compression::kNone) return world.AllReduce(Gradient(bucket));
    SumCompressed(world, compressor_, Gradient(bucket), bucket.begin);
  }

  bool Overlaps() const { return world_.size() > 1 && accumulate_ == 1; }
  Array<float> Gradient(const Bucket& bucket) const {
    return context_.gradients.dense().Part(bucket.begin, bucket.end);
  }

  /// Adds this step's gradient to those before it, each example's with the same weight; true when
  /// it is time to exchange the mean over the steps, which then is the gradient.
  bool Accumulate(const StrategyStep& step) {
    const Array<float> gradient = context_.gradients.dense(), sums = AllOf<float>(sum_);
    const auto examples = static_cast<float>(step.examples);
    AddScaled(sums, examples, gradient);
    for (RowSum& sum : row_sums_) sum.Add(context_.gradients.rows(sum.slice), examples);
    accumulated_examples_ += step.team_examples;
    if (++accumulated_ < accumulate_ && !step.last) return false;
    const float scale =
        static_cast<float>(world_.size()) /
        static_cast<float>(std::max<int64_t>(std::exchange(accumulated_examples_, 0), 1));
    for (RowSum& sum : row_sums_) sum.Move(context_.gradients.rows(sum.slice), scale);
    Copy(gradient, sums);
    Scale(gradient, scale);
    Fill(sums, 0);
    accumulated_ = 0;
    weight_ = 1;  // is in the sum
    return true;
  }

  /// A checkpoint may hold sums that do not say how many examples they are of.
  void DropSums() {
    Fill(AllOf<float>(sum_), 0);
    for (RowSum& sum : row_sums_) sum.Reset();
  }

  /// Where sums are only enqueued, on a stream of their own.
  struct There {
    Stream& main;
    std::unique_ptr<Stream> sums;
    std::shared_ptr<Event> before, end;
  };

  StrategyContext context_;
  Communicator world_;  // all collectives of the training thread
  std::optional<There> there_;
  int64_t accumulate_;
  Compressor compressor_;
  Update update_;
  RunningStatistics statistics_;
  RowExchange rows_;
  RowStaging row_staging_;
  Buckets buckets_;
  double weight_ = 1;
  Buffer sum_;  // of the steps since the last exchange
  std::vector<RowSum> row_sums_;
  int64_t accumulated_ = 0, accumulated_examples_ = 0;
  int64_t updates_ = 0, examples_ = 0;
  SideThread thread_;  // last: it ends first
};

Cost Estimate(const Options& options, const ExchangeSize& size) {
  if (size.world == 1) return {};
  const int64_t buckets = EstimateBuckets(options.Float("bucket_mb"), size);
  Cost cost = CostOfAllReduce(size.bytes / buckets, size.world);
  if (const Compressor compressor(options, 0); compressor.kind() != Compression::kNone)
    cost = CostOfSumCompressed(compressor, size.bytes / buckets / 4, size.world);
  const double exchanges =
      static_cast<double>(buckets) / static_cast<double>(options.Int("accumulate"));
  return {.messages = cost.messages * exchanges, .message_bytes = cost.message_bytes * exchanges};
}

std::vector<OptionSpec> AllOptions() {
  std::vector<OptionSpec> options = {
      BucketOption(4.0),
      {.name = "accumulate",
       .type = OptionType::kInt,
       .fallback = 1,
       .help = "Steps whose gradients are summed before an exchange and update.",
       .minimum = 1,
       .maximum = kMostCount}};
  for (const OptionSpec& option : CompressionOptions()) options.push_back(option);
  return options;
}

}  // namespace

StrategyEntry allreduce() {
  return {.name = "allreduce",
          .summary =
              "Every step uses the mean gradient of all replicas, summed during the backward pass",
          .options = AllOptions(),
          .deterministic = true,
          .values_on_device = true,
          .whole_layers = true,
          .estimate = Estimate,
          .make = [](const Options& options,
                     const StrategyContext& context) -> std::unique_ptr<Strategy> {
            return std::make_unique<AllReduce>(options, context);
          }};
}

}  // namespace yoke::strategy
