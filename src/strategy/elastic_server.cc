// Elastic averaging with a centre that rank 0's side threads serve (You, Buluç, Demmel, SC17, arXiv
// 1708.02983): easgd_original, easgd_async, easgd_async_momentum and easgd_hogwild, which differ in
// the order in which workers meet the centre, and in the workers' momentum.
#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/shared.h"
#include "strategy/elastic.h"
#include "strategy/replicas.h"
#include "strategy/side_thread.h"

namespace yoke::strategy {
namespace {

/// In which order the centre meets the workers.
enum class ElasticOrder {
  kRoundRobin,  ///< By rank, and training waits for its turn.
  kFirstCome,   ///< In the order of arrival, beside the gradient.
  kNoLock,      ///< One thread a worker, all at once, beside the gradient.
};

/// Rank i has a replica W_i, and rank 0 also the centre W, which is the model. Every `period`
/// steps, with W_i from before the step and W as it is when the worker is served:
///   E_i = a (W_i - W),   W_i <- (the rule's step from W_i) - E_i,   W <- W + E_i.
/// W's running statistics move by 1 / ranks towards the worker's. A single rank has no centre.
///
/// kNoLock: races on W are harmless, because each element is read and written whole, and what is
/// lost is at most one of two moves of an element that happen at once (optim/racing.h).
class ElasticServer : public Strategy {
 public:
  ElasticServer(const Options& options, const StrategyContext& context, ElasticOrder order);

  void Prepare() override;
  ParamView View(const StrategyStep& step) override;
  void Step(const StrategyStep& step) override;
  void Quiesce() override;
  Array<const float> Model() override {
    if (Exchanges() && Serves()) return OnHost(std::span<const float>(centre_));
    return context_.params.values();
  }
  ExchangeCounts Counts() const override;
  Value State() const override { return Table{{"centre", Exchanges()}, {"steps", steps_}}; }
  void Restore(const Value& state) override {
    ReadSaved(state, "centre", restored_);
    ReadSaved(state, "steps", steps_);
  }
  std::vector<SavedTensor> Tensors() override;
  void Finish() override {
    Quiesce();
    for (const auto& each : threads_) each->Finish();
  }
  Rescued Recover() override {
    for (const auto& each : threads_) each->Abandon();
    return {.values = Exchanges() && Serves() ? Model() : Array<const float>()};
  }

 private:
  using Endpoint = SideThread::Endpoint;
  enum Tag : int { kCentre, kReplica, kForce };

  bool Exchanges() const { return context_.world.size() > 1; }
  int64_t BytesOfModel() const { return size_ * SizeOf(DType::kF32); }
  bool Serves() const { return context_.world.rank() == 0; }
  SideThread& thread() const { return *threads_[threads_.size() == 1 ? 0 : context_.world.rank()]; }
  void Exchange(Endpoint& here);
  void TakeTurn(Endpoint& here);
  void Handle(Endpoint& here, const Message& offer);
  void ServeInTurn(Endpoint& here);
  void Meet(const Communicator& world, ConstValues replica, std::vector<float>& force);
  void MeetRacing(ConstValues replica, std::vector<float>& force);
  Values Weights(Values packed) const { return packed.first(weights_); }

  StrategyContext context_;
  const ElasticOrder order_;
  const float moving_rate_;
  const int64_t period_;
  const int64_t size_, weights_;  // all elements, and those before the running statistics
  Update update_;
  RunningStatistics statistics_;
  std::vector<float> centre_;  // on rank 0
  std::vector<float> own_;     // W_i before the step
  std::vector<float> force_;   // E_i
  std::vector<bool> waiting_;  // for its turn, by rank
  int turn_ = 0;               // whose turn it is
  bool restored_ = false, under_way_ = false;
  int64_t steps_ = 0, examples_ = 0;
  std::atomic<int64_t> meetings_ = 0;                 // of the centre, which rank 0's threads count
  double seconds_copying_ = 0;                        // between host and device
  std::vector<std::unique_ptr<SideThread>> threads_;  // last: they end first
};

ElasticServer::ElasticServer(const Options& options, const StrategyContext& context,
                             ElasticOrder order)
    : context_(context),
      order_(order),
      moving_rate_(static_cast<float>(MovingRate(options, context.world.size()))),
      period_(options.Int("period")),
      size_(context.params.layout().size()),
      weights_(context.params.layout().statistics_begin()),
      update_(context),
      statistics_(context.params.layout()),
      waiting_(context.world.size()) {
  if (!Exchanges()) return;
  own_.resize(size_);
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

ParamView ElasticServer::View(const StrategyStep& /*step*/) {
  if (Exchanges() && ++steps_ % period_ == 0) {
    std::ranges::copy(AllValues(context_.params), own_.begin());
    context_.world.Charge(CostOfMemoryCopy(size_));
    seconds_copying_ += ChargeCopy(context_.world, BytesOfModel());
    under_way_ = true;
    const bool waits = order_ == ElasticOrder::kRoundRobin;
    thread().Do([this, waits](Endpoint& here) { waits ? TakeTurn(here) : Exchange(here); });
    if (waits) thread().Wait();
  }
  return context_.params.View(&context_.gradients);
}

void ElasticServer::Step(const StrategyStep& step) {
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
  if (Serves()) return Meet(here.world(), own_, force_);
  here.Offer(std::as_bytes(std::span(own_)), 0);
  force_.resize(weights_);
  here.world().Receive(std::as_writable_bytes(std::span(force_)), 0, kForce);
}

/// The master sends W to the worker whose turn it is, and waits for its W_i.
void ElasticServer::TakeTurn(Endpoint& here) {
  if (Serves()) {
    waiting_[0] = true;
    ServeInTurn(here);
    return here.HandleOffersUntil([this] { return !waiting_[0]; });
  }
  here.Offer({}, 0);
  const Message centre = here.world().Receive(0, kCentre);
  here.world().Send(std::as_bytes(std::span(own_)), 0, kReplica);
  force_.resize(weights_);
  ScaledDifference(force_, moving_rate_, Weights(own_),
                   ValuesIn(centre, own_.size()).first(weights_));
}

void ElasticServer::Handle(Endpoint& here, const Message& offer) {
  if (order_ == ElasticOrder::kRoundRobin) {
    waiting_[offer.source] = true;
    return ServeInTurn(here);
  }
  std::vector<float> force;
  Meet(here.world(), ValuesIn(offer, own_.size()), force);
  here.world().Send(std::as_bytes(std::span(force)), offer.source, kForce);
}

void ElasticServer::ServeInTurn(Endpoint& here) {
  while (waiting_[turn_]) {
    if (turn_ == 0) {
      Meet(here.world(), own_, force_);
    } else {
      here.world().Send(std::as_bytes(std::span(centre_)), turn_, kCentre);
      const Message replica = here.world().Receive(turn_, kReplica);
      std::vector<float> force;
      Meet(here.world(), ValuesIn(replica, own_.size()), force);
    }
    waiting_[turn_] = false;
    turn_ = (turn_ + 1) % context_.world.size();
  }
}

void ElasticServer::Meet(const Communicator& world, ConstValues replica,
                         std::vector<float>& force) {
  force.resize(weights_);
  ++meetings_;
  world.Charge(
      {.operations = 3.0 * static_cast<double>(size_), .bytes = 20.0 * static_cast<double>(size_)});
  if (order_ == ElasticOrder::kNoLock) return MeetRacing(replica, force);
  ScaledDifference(force, moving_rate_, replica.first(weights_), Weights(centre_));
  Add(Weights(centre_), force);
  MoveTowards(statistics_.Of(Values(centre_)), 1 / static_cast<float>(context_.world.size()),
              statistics_.Of(replica));
}

void ElasticServer::MeetRacing(ConstValues replica, std::vector<float>& force) {
  CopyShared(centre_.data(), weights_, force.data());
  ScaledDifference(force, moving_rate_, replica.first(weights_), force);
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
  for (const auto& each : threads_) each->Settle();
}

ExchangeCounts ElasticServer::Counts() const {
  ExchangeCounts counts = {
      .traffic = context_.world.traffic(), .updates = meetings_, .examples = examples_};
  for (const auto& each : threads_) counts.traffic += each->traffic();
  if (Exchanges()) counts.seconds_waiting = thread().seconds_waited() + seconds_copying_;
  return counts;
}

std::vector<Strategy::SavedTensor> ElasticServer::Tensors() {
  std::vector<SavedTensor> saved;
  Save(saved, "centre", centre_);
  return saved;
}

/// Every worker but rank 0's meets the centre: |W| bytes each way.
Cost CostOfMeetings(const Options& options, const ExchangeSize& size, int messages) {
  const double workers = (size.world - 1.0) / static_cast<double>(options.Int("period"));
  return {.messages = messages * workers,
          .message_bytes = 2 * workers * static_cast<double>(size.bytes)};
}

template <ElasticOrder Order>
StrategyEntry ServerEntry(const char* name, const char* summary) {
  constexpr bool kInTurn = Order == ElasticOrder::kRoundRobin;
  StrategyEntry entry = ElasticEntry();
  entry.name = name;
  entry.summary = summary;
  entry.deterministic = kInTurn;
  entry.weighs_equally = false;  // the last one served has moved the centre last
  entry.in_place = false;
  if (!kInTurn) entry.team = EachAlone;
  entry.estimate = [](const Options& options, const ExchangeSize& size) {
    return CostOfMeetings(options, size,
                          kInTurn ? 3 : 2);  // in turn a worker first says it is ready
  };
  entry.make = [](const Options& options,
                  const StrategyContext& context) -> std::unique_ptr<Strategy> {
    return std::make_unique<ElasticServer>(options, context, Order);
  };
  return entry;
}

}  // namespace

/// The paper's baseline: the master exchanges with one worker after the other. Cost of a step:
/// 2 (P - 1) (a + |W| b), one worker at a time.
StrategyEntry easgd_original() {
  return ServerEntry<ElasticOrder::kRoundRobin>(
      "easgd_original", "Replicas and a centre pull each other, one replica at a time by rank");
}

/// First come, first served, beside the gradients (Zhang, Choromanska, LeCun, 2015).
StrategyEntry easgd_async() {
  return ServerEntry<ElasticOrder::kFirstCome>(
      "easgd_async", "Replicas and a centre pull each other, first come, first served");
}

/// MEASGD: workers have momentum, which the force does not enter (SC17, equations 5, 6):
///   V_i <- mu V_i - rate g_i,   W_i <- W_i + V_i - E_i.
StrategyEntry easgd_async_momentum() {
  StrategyEntry entry = ServerEntry<ElasticOrder::kFirstCome>(
      "easgd_async_momentum", "easgd_async with momentum at the replicas");
  entry.forces_momentum = true;
  return entry;
}

/// The centre has a thread for each worker and no lock.
StrategyEntry easgd_hogwild() {
  return ServerEntry<ElasticOrder::kNoLock>(
      "easgd_hogwild", "easgd_async with one thread per replica at the centre and no lock");
}

}  // namespace yoke::strategy
