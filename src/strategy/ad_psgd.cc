// Asynchronous decentralized SGD (Lian, Zhang, Zhang, Liu, arXiv 1710.06952): each rank trains
// weights of its own, and a thread beside it averages them with one neighbour at a time.
#include <exception>
#include <mutex>

#include "base/check.h"
#include "base/limits.h"
#include "base/random.h"
#include "strategy/receive_without_timeout.h"
#include "strategy/strategy.h"

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
        talk_(context.world.Duplicate()),
        size_(context.params.layout().size()),
        weights_(context.params.layout().statistics_begin()) {}
  ~AdPsgd() override {
    if (std::uncaught_exceptions() == 0) End();
  }
  AdPsgd(const AdPsgd&) = delete;
  AdPsgd& operator=(const AdPsgd&) = delete;

  void Prepare() override {
    if (alone_) return;
    thread_ = context_.world.Spawn([this](const Communicator& own) {
      const Communicator talk = talk_.For(own);
      active_ ? AverageWhenTold(talk) : AnswerWhoAsks(talk);
    });
  }

  /// A copy: the weights change under the training thread.
  ParamView View(const StrategyStep& /*step*/) override {
    ParamView view = context_.params.View(&context_.gradients);
    if (alone_) return view;
    AwaitAveraging();
    landed_at_view_ = Snapshot(copy_);
    statistics_.assign(copy_.begin() + weights_, copy_.end());
    view.values = copy_.data();
    if (active_ && ++steps_ % period_ == 0) {
      Tell(kAverage);
      averaging_ = true;
    }
    return view;
  }

  void Step(const StrategyStep& step) override {
    const std::lock_guard lock(mutex_);
    TakeStatistics();
    Apply(context_.params, {.rule = context_.rule,
                            .state = context_.state,
                            .gradients = context_.gradients,
                            .learning_rate = step.learning_rate,
                            .clip_norm = context_.clip_norm});
    const int64_t stale = landed_ - landed_at_view_;
    if (static_cast<int64_t>(counts_.staleness.size()) <= stale)
      counts_.staleness.resize(stale + 1);
    ++counts_.staleness[stale];
    ++counts_.updates;
    counts_.examples += step.examples;
  }

  /// A passive rank has moved before it answers, so that nothing is under way when all active ones
  /// have had their answers.
  void Quiesce() override {
    if (alone_) return;
    AwaitAveraging();
    context_.world.Barrier();
  }

  const float* Model() override {
    if (alone_) return context_.params.values();
    model_.assign(context_.params.values(), context_.params.values() + size_);
    context_.world.Reduce(model_, 0);
    const auto ranks = static_cast<float>(context_.world.size());
    for (float& value : model_) value /= ranks;
    return model_.data();
  }

  ExchangeCounts Counts() const override {
    const std::lock_guard lock(mutex_);
    ExchangeCounts counts = counts_;
    const Traffic own = context_.world.traffic();  // barriers and models
    const int64_t bytes = landed_ * size_ * SizeOf(DType::kF32);
    counts.traffic = {.messages_sent = own.messages_sent + landed_,
                      .bytes_sent = own.bytes_sent + bytes,
                      .messages_received = own.messages_received + landed_,
                      .bytes_received = own.bytes_received + bytes,
                      .seconds_waited = own.seconds_waited};
    return counts;
  }

  /// Draws go on where they ended.
  Value State() const override { return Table{{"steps", steps_}, {"averagings", drawn_}}; }
  void Restore(const Value& state) override {
    const auto number = [&state](const char* key) {
      const Value* value = state.Find(key);
      return value && value->AsInt() ? *value->AsInt() : 0;
    };
    steps_ = number("steps");
    drawn_ = number("averagings");
  }

  void Finish() override {
    Quiesce();
    End();
  }

  Rescued Recover() override {
    thread_.reset();  // it changes the values
    return {};
  }

 private:
  /// kInbox: orders of a rank to its own thread, and offers of active ranks to passive ones.
  enum Tag : int { kInbox, kAnswer, kDone };
  enum Order : char { kAverage, kEnd };

  // The training thread.

  void Tell(Order order) { talk_.Send(std::as_bytes(std::span(&order, 1)), talk_.rank(), kInbox); }
  void AwaitDone() { ReceiveWithoutTimeout(talk_, talk_.rank(), kDone); }
  void AwaitAveraging() {
    const double began = talk_.Now();
    if (averaging_) AwaitDone();
    averaging_ = false;
    counts_.seconds_waiting += talk_.Now() - began;
  }
  void End() {
    if (thread_) Tell(kEnd);
    thread_.reset();
  }
  /// What the gradient's computation has added to the running statistics of its copy.
  void TakeStatistics() {
    if (alone_) return;
    float* statistics = context_.params.values() + weights_;
    for (size_t i = 0; i < statistics_.size(); ++i)
      statistics[i] += copy_[weights_ + static_cast<int64_t>(i)] - statistics_[i];
  }

  // Both.

  /// Copies the weights; returns how many averagings have changed them.
  int64_t Snapshot(std::vector<float>& to) {
    const std::lock_guard lock(mutex_);
    const float* values = context_.params.values();
    to.assign(values, values + size_);
    return landed_;
  }

  // The thread beside it.

  static Order OrderIn(const Message& message) { return static_cast<Order>(message.bytes[0]); }

  void AverageWhenTold(const Communicator& talk) {
    while (OrderIn(ReceiveWithoutTimeout(talk, talk.rank(), kInbox)) == kAverage) {
      const int neighbour = DrawNeighbour();
      Snapshot(mine_);
      talk.Send(std::as_bytes(std::span(mine_)), neighbour, kInbox);
      MoveTowards(talk.Receive(neighbour, kAnswer), talk);
      talk.Send({}, talk.rank(), kDone);
    }
  }

  int DrawNeighbour() {
    Random random({context_.seed, kNeighbours, static_cast<uint64_t>(talk_.rank()),
                   static_cast<uint64_t>(drawn_++)});
    return 1 + 2 * static_cast<int>(random.Below(Passives(talk_.size())));
  }

  /// Until its own rank says that this is the end.
  void AnswerWhoAsks(const Communicator& talk) {
    for (;;) {
      const Message offer = ReceiveWithoutTimeout(talk, kAnySource, kInbox);
      if (offer.source == talk.rank()) return;
      Answer(talk, offer);
    }
  }

  void Answer(const Communicator& talk, const Message& offer) {
    Snapshot(mine_);
    MoveTowards(offer, talk);
    talk.Send(std::as_bytes(std::span(mine_)), offer.source, kAnswer);
  }

  /// By half the difference of the two snapshots, whatever happened since: what one of the ranks
  /// gains the other loses.
  void MoveTowards(const Message& snapshot, const Communicator& talk) {
    Check(static_cast<int64_t>(snapshot.bytes.size()) == size_ * SizeOf(DType::kF32),
          "ranks disagree about the size of a model");
    const auto* theirs = reinterpret_cast<const float*>(snapshot.bytes.data());
    talk.Charge({.operations = 3.0 * static_cast<double>(size_),
                 .bytes = 4.0 * static_cast<double>(snapshot.bytes.size())});
    const std::lock_guard lock(mutex_);
    float* values = context_.params.values();
#pragma omp simd
    for (int64_t i = 0; i < size_; ++i) values[i] += (theirs[i] - mine_[i]) / 2;
    ++landed_;
  }

  StrategyContext context_;
  const int64_t period_;
  const bool alone_, active_;
  Communicator talk_;
  const int64_t size_;
  const int64_t weights_;          // numbers before the running statistics
  std::vector<float> copy_;        // where the gradient is taken
  std::vector<float> statistics_;  // of the copy as it was made
  std::vector<float> model_;
  bool averaging_ = false;  // the thread has been told to
  int64_t steps_ = 0, landed_at_view_ = 0;
  int64_t drawn_ = 0;        // neighbours; of the thread while it averages
  std::vector<float> mine_;  // the thread's snapshot
  mutable std::mutex mutex_;
  int64_t landed_ = 0;  // averagings; under the mutex, with the values
  ExchangeCounts counts_ = {};
  std::shared_ptr<void> thread_;  // last: it ends first
};

}  // namespace

StrategyEntry ad_psgd() {
  return {.name = "ad_psgd",
          .summary = "Each replica averages with a random neighbour, beside its training",
          .options = {{.name = "period",
                       .type = OptionType::kInt,
                       .fallback = 1,
                       .help = "Steps of an active (even) rank between averagings.",
                       .minimum = 1,
                       .maximum = kMostCount}},
          .team = EachAlone,
          .replicas_differ = true,
          .supports = [](int /*world*/) { return std::string(); },
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
