// Elastic: the arithmetic of replicas and centre, and what travels between them.
#include "strategy/elastic.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/check.h"
#include "base/options.h"
#include "strategy/update.h"
#include "tensor/array.h"
#include "tensor/counting.h"
#include "tensor/emulated.h"

namespace yoke::strategy {
namespace {

constexpr double kTotalRate = 0.9;  // of all replicas together, by default: stable up to 1

/// Each slice with the gap behind it.
std::vector<std::pair<int64_t, int64_t>> Slices(const ParamLayout& layout) {
  std::vector<int64_t> offsets = {layout.size()};
  for (const Slice& slice : layout.slices())
    if (slice.Count() > 0) offsets.push_back(slice.offset);
  std::sort(offsets.begin(), offsets.end());
  std::vector<std::pair<int64_t, int64_t>> pieces;
  for (size_t i = 0; i + 1 < offsets.size(); ++i)
    pieces.emplace_back(offsets[i], offsets[i + 1] - offsets[i]);
  return pieces;
}

/// The elements as a network card reads and writes them in an emulated device's memory, without a
/// copy; none in a memory that only copies reach.
std::optional<Array<float>> ForNetwork(Array<float> elements) {
  if (elements.OnHost()) return elements;
  Stream& stream = CurrentStream(*elements.device);
  WorkQueue* const queue = stream.work_queue();
  if (!queue) return {};
  const CountedAs scope("exchange");
  stream.Wait();
  auto* const reached = static_cast<float*>(queue->Reach(elements.data));
  return OnHost(std::span(reached, static_cast<size_t>(elements.count)));
}

/// StrategyEntry::mixing: the moving rate, with rho of the learning rate where it is highest.
double Mixing(const Options& options, int ranks, double learning_rate) {
  return options.Has("rho") ? options.Float("rho") * learning_rate : MovingRate(options, ranks);
}

}  // namespace

double MovingRate(const Options& options, int ranks) {
  if (!options.Has("moving_rate")) return kTotalRate / ranks;
  const double rate = options.Float("moving_rate");
  Require(
      rate * ranks <= 1 + 1e-9,
      "{}: {} times {} replicas is more than 1, with which the centre overshoots them; expected "
      "at most {:.3g}",
      options.Where("moving_rate"), rate, ranks, 1.0 / ranks);
  return rate;
}

ElasticRate::ElasticRate(const Options& options, int ranks)
    : where_(options.Where("rho")),
      rho_(options.Has("rho") ? options.Float("rho") : 0),
      constant_(MovingRate(options, ranks)),
      ranks_(ranks) {
  Require(rho_ == 0 || !options.Has("moving_rate"),
          "{}: moving_rate is rho times the learning rate; expected one of both", where_);
}

float ElasticRate::At(const StrategyStep& step) const {
  if (rho_ == 0) return constant();
  Require(rho_ * step.highest_rate * ranks_ <= 1 + 1e-9,
          "{}: {} times the learning rate {:.3g} and {} replicas is more than 1, with which the "
          "centre overshoots them; expected at most {:.3g}",
          where_, rho_, step.highest_rate, ranks_, 1 / (step.highest_rate * ranks_));
  return static_cast<float>(rho_ * step.learning_rate);
}

Elastic::Elastic(const Options& options, const StrategyContext& context, ElasticMemory memory,
                 bool packed)
    : context_(context),
      rate_(options, context.world.size()),
      period_(options.Int("period")),
      everywhere_(options.Bool("centre_everywhere")),
      size_(context.params.layout().size()),
      weights_(context.params.layout().statistics_begin()),
      update_(context),
      statistics_(context.params.layout()),
      in_host_(memory == ElasticMemory::kHost) {
  messages_ = packed ? std::vector<Piece>{{0, size_}} : Slices(context.params.layout());
  if (Exchanges()) Allocate();
}

void Elastic::Allocate() {
  const Array<float> values = context_.params.values();
  Device& memory = in_host_ ? values.device->staging() : *values.device;
  for (Buffer* buffer : {&own_, &centre_}) *buffer = Buffer(memory, values.Bytes());
  if (HasCentre()) centre_force_ = Buffer(memory, values.Bytes());
  if (&memory != values.device) pull_ = BufferLike(values);
}

void Elastic::Prepare() {
  if (IsCentre() && !restored_) Copy(AllOf<float>(centre_), context_.params.values());
  if (everywhere_ && Exchanges()) context_.world.Broadcast(AllOf<float>(centre_), 0);
}

ParamView Elastic::View(const StrategyStep& step) {
  due_ = IsDue(step);
  if (due_) {
    moving_rate_ = rate_.At(step);
    const CountedAs scope("exchange");
    Copy(AllOf<float>(own_), context_.params.values());
    context_.world.Charge(CostOfMemoryCopy(size_));
    ChargeHostCopy();
    Begin();
  }
  return context_.params.View(&context_.gradients);
}

void Elastic::Step(const StrategyStep& step) {
  if (step.examples > 0) update_.Step(step);
  if (due_) {
    Complete();
    AddForce();
  }
  context_.params.Publish();
  counts_.examples += step.examples;
  if (!Exchanges() || (due_ && IsCentre())) ++counts_.updates;
}

void Elastic::Begin() {
  const double began = context_.world.Now();
  Exchange(context_.world);
  CountWaits(began);
}

void Elastic::CountWaits(double began) {
  for (const Wait& wait : waits_)
    counts_.seconds_waiting += std::clamp(wait.ended - began, 0.0, wait.seconds);
}

template <typename Operation>
void Elastic::Await(const Communicator& world, const Operation& operation) {
  const double before = world.traffic().seconds_waited;
  operation();
  waits_.push_back({.ended = world.Now(), .seconds = world.traffic().seconds_waited - before});
}

/// Of W_i to the host, or of the force back.
void Elastic::ChargeHostCopy() {
  if (in_host_) counts_.seconds_waiting += ChargeCopy(context_.world, own_.bytes());
}

void Elastic::Exchange(const Communicator& world) {
  waits_.clear();
  for (const Piece& piece : messages_) {
    const Array<float> centre = Part(AllOf<float>(centre_), piece);
    const Array<float> own = Part(AllOf<float>(own_), piece);
    if (!everywhere_) Await(world, [&] { Broadcast(world, centre); });
    ScaledDifference(Part(force(), piece), moving_rate_, own, centre);
    Await(world, [&] { Sum(world, own); });
  }
  world.Charge({.operations = 2.0 * static_cast<double>(size_),
                .bytes = 3.0 * static_cast<double>(own_.bytes())});
  if (HasCentre()) MoveCentre(world);
  traffic_ = world.traffic();
}

void Elastic::Broadcast(const Communicator& world, Array<float> centre) const {
  if (const auto direct = ForNetwork(centre)) return world.Broadcast(*direct, 0);
  world.Broadcast(centre, 0);
}

/// To rank 0, or everywhere.
void Elastic::Sum(const Communicator& world, Array<float> own) const {
  const auto direct = ForNetwork(own);
  if (everywhere_) return direct ? world.AllReduce(*direct) : world.AllReduce(own);
  direct ? world.Reduce(*direct, 0) : world.Reduce(own, 0);
}

void Elastic::MoveCentre(const Communicator& world) {
  const auto ranks = static_cast<float>(world.size());
  const Array<float> centre = AllOf<float>(centre_), own = AllOf<float>(own_);
  MoveTowardsAll(centre.First(weights_), moving_rate_, own.First(weights_), ranks);
  Copy(statistics_.Of(centre), statistics_.Of(own));
  Divide(statistics_.Of(centre), ranks);
  world.Charge({.operations = 4.0 * static_cast<double>(size_),
                .bytes = 3.0 * static_cast<double>(own_.bytes())});
}

/// The host's force stays as it is until the next exchange, which waits for this copy.
void Elastic::AddForce() {
  ChargeHostCopy();
  const Array<float> values = context_.params.values();
  const bool apart = pull_.bytes() > 0;
  if (apart) StartCopy(AllOf<float>(pull_), force());
  Subtract(values.First(weights_), (apart ? AllOf<float>(pull_) : force()).First(weights_));
  context_.world.Charge({.operations = static_cast<double>(weights_),
                         .bytes = 3.0 * static_cast<double>(own_.bytes())});
}

Array<const float> Elastic::Model() {
  return Exchanges() ? AllOf<float>(centre_) : context_.params.values();
}

ExchangeCounts Elastic::Counts() const {
  ExchangeCounts counts = counts_;
  counts.traffic = traffic_;
  return counts;
}

Value Elastic::State() const { return Table{{"centre", Exchanges()}}; }

void Elastic::Restore(const Value& state) { ReadSaved(state, "centre", restored_); }

std::vector<Strategy::SavedTensor> Elastic::Tensors() {
  if (!IsCentre()) return {};
  return {{.name = "centre", .values = AllOf<float>(centre_)}};
}

StrategyEntry ElasticEntry() {
  return {.name = {},
          .summary = {},
          .options = {{.name = "moving_rate",
                       .type = OptionType::kFloat,
                       .help = "How strongly a replica and the centre pull each other in an "
                               "exchange (the papers' eta rho); by default 0.9 / replicas.",
                       .minimum = 0,
                       .maximum = 1,
                       .exclusive_minimum = true},
                      {.name = "rho",
                       .type = OptionType::kFloat,
                       .help = "The papers' elastic force, in place of moving_rate: that is this "
                               "times the learning rate, and follows its schedule.",
                       .minimum = 0,
                       .exclusive_minimum = true},
                      PeriodOption("Steps between exchanges with the centre.")},
          .deterministic = true,
          .in_place = true,
          .replicas_differ = true,
          .period = EveryPeriod,
          .mixing = Mixing,
          .estimate = [](const Options& options,
                         const ExchangeSize& size) { return ElasticCost(options, size); },
          .make = nullptr};
}

StrategyEntry SynchronousElasticEntry() {
  StrategyEntry entry = ElasticEntry();
  entry.values_on_device = true;
  entry.options.push_back({.name = "centre_everywhere",
                           .type = OptionType::kBool,
                           .fallback = false,
                           .help =
                               "Every replica keeps the centre, and one all-reduce replaces the "
                               "broadcast and the reduction over trees."});
  return entry;
}

Cost ElasticCost(const Options& options, const ExchangeSize& size, int64_t messages) {
  if (size.world == 1) return {};
  const auto period = static_cast<double>(options.Int("period"));
  const auto pieces = static_cast<double>(messages);
  if (options.Bool("centre_everywhere")) {
    const Cost all = CostOfAllReduce(size.bytes, size.world);
    return {.messages = all.messages * pieces / period,
            .message_bytes = all.message_bytes / period};
  }
  const Cost tree = CostOfTree(size.bytes, size.world);
  return {.messages = 2 * tree.messages * pieces / period,
          .message_bytes = 2 * tree.message_bytes / period};
}

}  // namespace yoke::strategy
