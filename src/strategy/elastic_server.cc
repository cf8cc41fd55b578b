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
  kInTurn,     ///< By rank: a rank waits for its turn and trains in it, while the others wait.
  kFirstCome,  ///< In the order of arrival, beside the gradient.
  kNoLock,     ///< One thread a worker, all at once, beside the gradient.
};

/// Rank i has a replica W_i, and rank 0 also the centre W, which is the model. Every `period`
/// steps, with W_i from before the step and W as it is when the worker is served:
///   E_i = a (W_i - W),   W_i <- (the rule's step from W_i) - E_i,   W <- W + E_i.
/// W's running statistics move by 1 / ranks towards the worker's. A single rank has no centre.
///
/// kInTurn: in its turn a rank receives W, computes its gradient and sends W_i, the way to and from
/// its device included. In the form "overlapped" it sends W_i at once, and computes its gradient in
/// the turns of the others.
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
  enum Tag : int { kCentre, kForce };

  bool Exchanges() const { return context_.world.size() > 1; }
  /// Of W or W_i, or of the force, between the host and a device.
  void ChargeModelCopy() {
    seconds_copying_ += ChargeCopy(context_.world, size_ * SizeOf(DType::kF32));
  }
  bool Serves() const { return context_.world.rank() == 0; }
  SideThread& thread() const { return *threads_[threads_.size() == 1 ? 0 : context_.world.rank()]; }
  bool InTurn() const { return order_ == ElasticOrder::kInTurn; }
  void Exchange(Endpoint& here);
  void AwaitTurn(Endpoint& here);
  static Message AwaitCentre(const Communicator& world);
  void EndTurn(Endpoint& here);
  void OfferReplica(Endpoint& here);
  void Handle(Endpoint& here, const Message& offer);
  void HandleInTurn(const Communicator& world, const Message& offer);
  void GiveTurn(const Communicator& world);
  void PassTurn(const Communicator& world);
  void Meet(const Communicator& world, ConstValues offered, std::vector<float>& force);
  void MeetRacing(ConstValues replica, float rate, std::vector<float>& force);
  float RateOf(ConstValues offered) const {
    return rate_.follows_learning_rate() ? offered.back() : rate_.constant();
  }
  Values Weights(Values packed) const { return packed.first(weights_); }

  StrategyContext context_;
  const ElasticOrder order_;
  const bool trains_in_turn_;  // not only exchanges
  const ElasticRate rate_;
  const int64_t period_;
  const int64_t size_, weights_;  // all elements, and those before the running statistics
  Update update_;
  RunningStatistics statistics_;
  std::vector<float> centre_;  // on rank 0
  std::vector<float> own_;     // W_i before the step, and with rho the step's a behind it
  std::vector<float> force_;   // E_i
  std::vector<bool> waiting_;  // for its turn, by rank
  int turn_ = 0;               // whose turn is next,
  bool turn_begun_ = false;    // or is under way
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
      trains_in_turn_(order == ElasticOrder::kInTurn && IsPaperForm(options)),
      rate_(options, context.world.size()),
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
    if (!trains_in_turn_) ChargeModelCopy();
    under_way_ = true;
    thread().Do([this](Endpoint& here) { Exchange(here); });
    if (InTurn()) thread().Wait();
    if (trains_in_turn_) ChargeModelCopy();
  }
  return context_.params.View(&context_.gradients);
}

void ElasticServer::Step(const StrategyStep& step) {
  if (under_way_ && trains_in_turn_) {
    ChargeModelCopy();
    thread().Do([this](Endpoint& here) { EndTurn(here); });
  }
  if (step.examples > 0) {
    update_.Step(step);
    examples_ += step.examples;
    if (!Exchanges()) ++meetings_;
  }
  if (!std::exchange(under_way_, false)) return;
  thread().Wait();
  if (!trains_in_turn_) ChargeModelCopy();
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
  const Message centre = AwaitCentre(here.world());
  force_.resize(weights_);
  ScaledDifference(force_, RateOf(own_), Weights(own_), ValuesIn(centre, size_).first(weights_));
}

/// Each of the other ranks may take a step before.
Message ElasticServer::AwaitCentre(const Communicator& world) {
  Message centre;
  const double steps_of_others = (world.size() - 1) * world.timeout();
  if (world.TryReceive(0, kCentre, centre, steps_of_others)) return centre;
  return world.Receive(0, kCentre);
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
  constexpr bool kInTurn = Order == ElasticOrder::kInTurn;
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

/// The paper's baseline: the master meets one worker after the other, and only the worker whose
/// turn it is computes. With a gradient of t seconds and a copy of W to or from a device of c
/// seconds a step takes P (t + 2 c) + 2 (P - 1) (a + |W| b).
StrategyEntry easgd_original() {
  StrategyEntry entry = ServerEntry<ElasticOrder::kInTurn>(
      "easgd_original", "Replicas and a centre pull each other, one replica at a time by rank");
  entry.options.push_back(FormOption(
      "overlapped", /*paper_by_default=*/true,
      "Paper: one worker computes at a time, in its turn. Overlapped: a worker only exchanges in "
      "its turn, and computes beside the others: up to 1.75 times as fast (LeNet, AlexNet)."));
  return entry;
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
  entry.sums_steps = [](const Options& /*options*/) { return true; };
  return entry;
}

/// The centre has a thread for each worker and no lock.
StrategyEntry easgd_hogwild() {
  return ServerEntry<ElasticOrder::kNoLock>(
      "easgd_hogwild", "easgd_async with one thread per replica at the centre and no lock");
}

}  // namespace yoke::strategy
