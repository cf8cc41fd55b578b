// Asynchronous decentralized SGD (Lian, Zhang, Zhang, Liu, arXiv 1710.06952): each rank trains
// weights of its own, and a thread beside it averages them with one neighbour at a time.
#include <mutex>

#include "base/options.h"
#include "base/random.h"
#include "strategy/replicas.h"
#include "strategy/side_thread.h"
#include "strategy/statistics.h"
#include "strategy/update.h"

namespace yoke::strategy {
namespace {

constexpr uint64_t kNeighbours = 0x6164707367640001;  // tells these draws from all others

/// Even ranks are active: their threads average with a neighbour when their training thread
/// requests it. Odd ranks are passive: their threads answer every request at any time. So no rank
/// waits for one that waits.
bool IsActive(int rank) { return rank % 2 == 0; }
int Actives(int ranks) { return ranks > 1 ? (ranks + 1) / 2 : 0; }
int Passives(int ranks) { return ranks / 2; }

class AdPsgd : public Strategy {
 public:
  AdPsgd(const Options& options, const StrategyContext& context)
      : context_(context),
        period_(options.Int("period")),
        alone_(context.world.size() == 1),
        active_(IsActive(context.world.rank())),
        size_(context.params.layout().size()),
        update_(context),
        statistics_(context.params.layout()),
        thread_(context.world,
                [this](Endpoint& here, const Message& offer) { Answer(here.world(), offer); }) {}

  void Prepare() override {
    if (!alone_) thread_.Begin();
  }

  /// A copy: the weights change under the training thread.
  ParamView View(const StrategyStep& /*step*/) override {
    ParamView view = context_.params.View(&context_.gradients);
    if (alone_) return view;
    thread_.Wait();
    landed_at_view_ = Snapshot(copy_);
    context_.world.Charge(CostOfMemoryCopy(size_));
    const Array<float> copy = OnHost(std::span(copy_));
    statistics_.Remember(copy);
    view.values = view.writable = copy;
    if (active_ && ++steps_ % period_ == 0)
      thread_.Do([this](Endpoint& here) { AverageWithNeighbour(here); });
    return view;
  }

  void Step(const StrategyStep& step) override {
    update_.Charge();
    const std::lock_guard lock(mutex_);
    if (!alone_) statistics_.AddChanges(OnHost(std::span(copy_)), context_.params.values());
    update_.ApplyUncharged(step);
    update_.Count(step.examples, landed_ - landed_at_view_);
  }

  /// A passive rank has moved before it answers, so that nothing is under way when all active ones
  /// have had their answers.
  void Quiesce() override {
    if (alone_) return;
    thread_.Wait();
    context_.world.Barrier();
    thread_.Settle();
  }

  Array<const float> Model() override {
    return MeanOfReplicas(context_.world, context_.params, model_);
  }

  ExchangeCounts Counts() const override {
    return CountsOfReplica(update_, context_.world, thread_);
  }

  /// Draws go on where they ended.
  Value State() const override { return Table{{"steps", steps_}, {"averagings", drawn_}}; }
  void Restore(const Value& state) override {
    ReadSaved(state, "steps", steps_);
    ReadSaved(state, "averagings", drawn_);
  }

  void Finish() override {
    Quiesce();
    thread_.Finish();
  }

  Rescued Recover() override {
    thread_.Abandon();  // it changes the values
    return {};
  }

 private:
  using Endpoint = SideThread::Endpoint;
  static constexpr int kAnswer = 0;

  /// Copies the weights; returns how many averagings have changed them.
  int64_t Snapshot(std::vector<float>& to) {
    const std::lock_guard lock(mutex_);
    const ConstValues values = AllValues(context_.params);
    to.assign(values.begin(), values.end());
    return landed_;
  }

  // The side thread.

  void AverageWithNeighbour(Endpoint& here) {
    const int neighbour = DrawNeighbour();
    Snapshot(mine_);
    here.Offer(std::as_bytes(std::span(mine_)), neighbour);
    MoveHalfway(here.world().Receive(neighbour, kAnswer), here.world());
  }

  int DrawNeighbour() {
    const Communicator& world = context_.world;
    Random random({context_.seed, kNeighbours, static_cast<uint64_t>(world.rank()),
                   static_cast<uint64_t>(drawn_++)});
    return 1 + 2 * static_cast<int>(random.Below(Passives(world.size())));
  }

  void Answer(const Communicator& world, const Message& offer) {
    Snapshot(mine_);
    MoveHalfway(offer, world);
    world.Send(std::as_bytes(std::span(mine_)), offer.source, kAnswer);
  }

  /// By half the difference of the two snapshots, whatever happened since: what one of the ranks
  /// gains the other loses. Charged with the copy that is this rank's snapshot.
  void MoveHalfway(const Message& snapshot, const Communicator& world) {
    const auto count = static_cast<size_t>(size_);
    const ConstValues theirs = ValuesIn(snapshot, count);
    Cost cost = CostOfMemoryCopy(size_);
    cost += {.operations = 3.0 * static_cast<double>(size_),
             .bytes = 4.0 * static_cast<double>(snapshot.bytes.size())};
    world.Charge(cost);
    const std::lock_guard lock(mutex_);
    AddDifference(AllValues(context_.params), 0.5F, theirs, mine_);
    ++landed_;
  }

  StrategyContext context_;
  const int64_t period_;
  const bool alone_, active_;
  const int64_t size_;
  Update update_;
  RunningStatistics statistics_;  // of the copy as it was made
  std::vector<float> copy_;       // where the gradient is taken
  Buffer model_;
  int64_t steps_ = 0, landed_at_view_ = 0;
  int64_t drawn_ = 0;        // neighbours; of the thread while it averages
  std::vector<float> mine_;  // the thread's snapshot
  std::mutex mutex_;
  int64_t landed_ = 0;  // averagings; under the mutex, with the values
  SideThread thread_;   // last: it ends first
};

}  // namespace

StrategyEntry ad_psgd() {
  return {.name = "ad_psgd",
          .summary = "Each replica averages with a random neighbour, beside its training",
          .options = {PeriodOption("Steps of an active (even) rank between averagings.")},
          .team = EachAlone,
          .replicas_differ = true,
          .period = EveryPeriod,
          .mixing = MixesHalf,
          .estimate = [](const Options& options, const ExchangeSize& size) -> Cost {
            const double messages =
                2.0 * Actives(size.world) / static_cast<double>(options.Int("period"));
            return {.messages = messages,
                    .message_bytes = messages * static_cast<double>(size.bytes)};
          },
          .make = [](const Options& options, const StrategyContext& context)
              -> std::unique_ptr<Strategy> { return std::make_unique<AdPsgd>(options, context); }};
}

}  // namespace yoke::strategy
