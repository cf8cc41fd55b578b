// ElasticServer: what worker and centre send each other in each order.
#include "strategy/elastic_server.h"

#include <algorithm>
#include <utility>

#include "base/form.h"
#include "kernels/shared.h"
#include "strategy/elastic.h"
#include "strategy/replicas.h"
#include "strategy/saved_state.h"

namespace yoke::strategy {
namespace {

/// Every worker but rank 0's meets the centre: |W| bytes each way.
Cost CostOfMeetings(const Options& options, const ExchangeSize& size, int messages) {
  const double workers = (size.world - 1.0) / static_cast<double>(options.Int("period"));
  return {.messages = messages * workers,
          .message_bytes = 2 * workers * static_cast<double>(size.bytes)};
}

template <ElasticOrder Order>
std::unique_ptr<Strategy> MakeElasticServer(const Options& options,
                                            const StrategyContext& context) {
  return std::make_unique<ElasticServer>(options, context, Order);
}

}  // namespace

ElasticServer::ElasticServer(const Options& options, const StrategyContext& context,
                             ElasticOrder order)
    : context_(context),
      order_(order),
      trains_in_turn_(order == ElasticOrder::kInTurn && IsPaperForm(options)),
      rate_(options, context.world.size()),
      moving_rate_(static_cast<float>(MovingRate(options, context.world.size()))),
      period_(options.Int("period")),
      size_(context.params.layout().size()),
      weights_(context.params.layout().statistics_begin()),
      update_(context),
      statistics_(context.params.layout()),
      waiting_(context.world.size()) {
  if (!Exchanges()) return;
  own_.resize(size_ + (rate_.follows_learning_rate() ? 1 : 0));
  if (Serves()) centre_.resize(size_);
  const int threads = order == ElasticOrder::kNoLock ? context.world.size() : 1;
  for (int i = 0; i < threads; ++i)
    threads_.push_back(std::make_unique<SideThread>(
        context.world, [this](Endpoint& here, const Message& offer) { Handle(here, offer); }));
}

/// Rank i's own thread is the i-th, which rank 0 serves; others have no work.
void ElasticServer::Prepare() {
  if (!Exchanges()) return;
  if (Serves() && !restored_) std::ranges::copy(AllValues(context_.params), centre_.begin());
  for (size_t i = 0; i < threads_.size(); ++i)
    if (Serves() || threads_.size() == 1 || static_cast<int>(i) == context_.world.rank())
      threads_[i]->Begin();
}

ParamView ElasticServer::View(const StrategyStep& step) {
  if (Exchanges() && ++steps_ % period_ == 0) {
    std::ranges::copy(AllValues(context_.params), own_.begin());
    if (rate_.follows_learning_rate()) own_.back() = rate_.At(step);
    context_.world.Charge(CostOfMemoryCopy(size_));
    seconds_copying_ += ChargeCopy(context_.world, BytesOfModel());
    under_way_ = true;
    thread().Do([this](Endpoint& here) { Exchange(here); });
    if (InTurn()) thread().Wait();
  }
  return context_.params.View(&context_.gradients);
}

void ElasticServer::Step(const StrategyStep& step) {
  if (under_way_ && trains_in_turn_) thread().Do([this](Endpoint& here) { EndTurn(here); });
  if (step.examples > 0) {
    update_.Step(step);
    examples_ += step.examples;
    if (!Exchanges()) ++meetings_;
  }
  if (!std::exchange(under_way_, false)) return;
  thread().Wait();
  seconds_copying_ += ChargeCopy(context_.world, BytesOfModel());
  context_.world.Charge(
      {.operations = static_cast<double>(weights_), .bytes = 12.0 * static_cast<double>(weights_)});
  Subtract(Weights(AllValues(context_.params)), force_);
  context_.params.Publish();
}

// The side threads.

void ElasticServer::Exchange(Endpoint& here) {
  if (InTurn()) {
    AwaitTurn(here);
    if (!trains_in_turn_) EndTurn(here);
    return;
  }
  if (Serves()) return Meet(here.world(), own_, force_);
  OfferReplica(here);
  force_.resize(weights_);
  here.world().Receive(std::as_writable_bytes(std::span(force_)), 0, kForce);
}

void ElasticServer::OfferReplica(Endpoint& here) {
  here.Offer(std::as_bytes(std::span(own_)), 0, (own_.size() - size_) * sizeof(float));
}

void ElasticServer::AwaitTurn(Endpoint& here) {
  if (Serves()) {
    waiting_[0] = true;
    GiveTurn(here.world());
    return here.HandleOffersUntil([this] { return turn_ == 0 && turn_begun_; });
  }
  here.Offer({}, 0);
  const Message centre = here.world().Receive(0, kCentre);
  force_.resize(weights_);
  ScaledDifference(force_, RateOf(own_), Weights(own_), ValuesIn(centre, size_).first(weights_));
}

void ElasticServer::EndTurn(Endpoint& here) {
  if (!Serves()) return OfferReplica(here);
  Meet(here.world(), own_, force_);
  PassTurn(here.world());
}

void ElasticServer::Handle(Endpoint& here, const Message& offer) {
  if (InTurn()) return HandleInTurn(here.world(), offer);
  std::vector<float> force;
  Meet(here.world(), ValuesIn(offer, own_.size()), force);
  here.world().Send(std::as_bytes(std::span(force)), offer.source, kForce);
}

/// A worker says that it is ready, or sends its W_i at the end of its turn.
void ElasticServer::HandleInTurn(const Communicator& world, const Message& offer) {
  if (offer.bytes.empty()) {
    waiting_[offer.source] = true;
    return GiveTurn(world);
  }
  std::vector<float> force;
  Meet(world, ValuesIn(offer, own_.size()), force);
  PassTurn(world);
}

void ElasticServer::GiveTurn(const Communicator& world) {
  if (turn_begun_ || !waiting_[turn_]) return;
  waiting_[turn_] = false;
  turn_begun_ = true;
  if (turn_ > 0) world.Send(std::as_bytes(std::span(centre_)), turn_, kCentre);
}

void ElasticServer::PassTurn(const Communicator& world) {
  turn_ = (turn_ + 1) % context_.world.size();
  turn_begun_ = false;
  GiveTurn(world);
}

void ElasticServer::Meet(const Communicator& world, ConstValues offered,
                         std::vector<float>& force) {
  force.resize(weights_);
  ++meetings_;
  world.Charge(
      {.operations = 3.0 * static_cast<double>(size_), .bytes = 20.0 * static_cast<double>(size_)});
  const float rate = RateOf(offered);
  const ConstValues replica = offered.first(size_);
  if (order_ == ElasticOrder::kNoLock) return MeetRacing(replica, rate, force);
  ScaledDifference(force, rate, replica.first(weights_), Weights(centre_));
  Add(Weights(centre_), force);
  MoveTowards(statistics_.Of(Values(centre_)), 1 / static_cast<float>(context_.world.size()),
              statistics_.Of(replica));
}

void ElasticServer::MeetRacing(ConstValues replica, float rate, std::vector<float>& force) {
  CopyShared(centre_.data(), weights_, force.data());
  ScaledDifference(force, rate, replica.first(weights_), force);
  AddShared(centre_.data(), 1, force.data(), weights_);
  RunningStatistics::MoveShared(statistics_.Of(Values(centre_)),
                                1 / static_cast<float>(context_.world.size()),
                                statistics_.Of(replica));
}

// Between steps.

void ElasticServer::Quiesce() {
  if (!Exchanges()) return;
  thread().Wait();
  context_.world.Barrier();
  if (!Serves()) return;
  if (InTurn())  // the last worker's W_i may still be on its way
    thread().Do([this](Endpoint& here) { here.HandleOffersUntil([this] { return turn_ == 0; }); });
  for (const auto& each : threads_) each->Settle();
}

Array<const float> ElasticServer::Model() {
  if (Exchanges() && Serves()) return OnHost(std::span<const float>(centre_));
  return context_.params.values();
}

ExchangeCounts ElasticServer::Counts() const {
  ExchangeCounts counts = {
      .traffic = context_.world.traffic(), .updates = meetings_, .examples = examples_};
  for (const auto& each : threads_) counts.traffic += each->traffic();
  if (Exchanges()) counts.seconds_waiting = thread().seconds_waited() + seconds_copying_;
  return counts;
}

Value ElasticServer::State() const { return Table{{"centre", Exchanges()}, {"steps", steps_}}; }

void ElasticServer::Restore(const Value& state) {
  ReadSaved(state, "centre", restored_);
  ReadSaved(state, "steps", steps_);
}

std::vector<Strategy::SavedTensor> ElasticServer::Tensors() {
  std::vector<SavedTensor> saved;
  Save(saved, "centre", centre_);
  return saved;
}

void ElasticServer::Finish() {
  Quiesce();
  for (const auto& each : threads_) each->Finish();
}

Strategy::Rescued ElasticServer::Recover() {
  for (const auto& each : threads_) each->Abandon();
  return {.values = Exchanges() && Serves() ? Model() : Array<const float>()};
}

StrategyEntry ElasticServerEntry(ElasticOrder order) {
  StrategyEntry entry = ElasticEntry();
  const bool in_turn = order == ElasticOrder::kInTurn;
  entry.deterministic = in_turn;
  entry.weighs_equally = false;  // the last one served has moved the centre last
  entry.in_place = false;
  if (!in_turn) entry.team = EachAlone;
  entry.estimate = [](const Options& options, const ExchangeSize& size) {
    return CostOfMeetings(options, size, 2);
  };
  if (in_turn)  // a worker first says that it is ready
    entry.estimate = [](const Options& options, const ExchangeSize& size) {
      return CostOfMeetings(options, size, 3);
    };
  entry.make = in_turn                             ? MakeElasticServer<ElasticOrder::kInTurn>
               : order == ElasticOrder::kFirstCome ? MakeElasticServer<ElasticOrder::kFirstCome>
                                                   : MakeElasticServer<ElasticOrder::kNoLock>;
  return entry;
}

}  // namespace yoke::strategy
