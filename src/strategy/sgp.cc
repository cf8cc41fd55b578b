// Stochastic gradient push: push-sum over a directed graph whose peers change from step to step.
// Assran, Loizou, Ballas, Rabbat, "Stochastic Gradient Push for Distributed Deep Learning" (2019,
// arXiv 1811.10792). Rank i has values x_i and a weight w_i, 1 at first. In step k:
//   z_i = x_i / w_i,   x_i <- (the rule's step from x_i with the gradient at z_i),
//   half of (x_i, w_i) goes to rank i + 2^(k mod (floor(log2(n - 1)) + 1)), what arrives is added.
// Cost of a step of a rank: one message of |W| + 8 bytes.
#include <bit>
#include <utility>

#include "strategy/kept.h"
#include "strategy/packing.h"
#include "strategy/replicas.h"
#include "strategy/side_thread.h"
#include "strategy/statistics.h"
#include "strategy/update.h"

namespace yoke::strategy {
namespace {

class Sgp : public Strategy {
 public:
  Sgp(const Options& options, const StrategyContext& context)
      : context_(context),
        overlaps_(options.Bool("overlap")),
        alone_(context.world.size() == 1),
        update_(context),
        statistics_(context.params.layout()),
        thread_(context.world) {}

  void Prepare() override {
    if (!alone_) thread_.Begin();
  }

  /// A copy divided by the weight; with one rank, or a weight of 1, the values themselves.
  ParamView View(const StrategyStep& /*step*/) override {
    ParamView view = context_.params.View(&context_.gradients);
    copied_ = !alone_ && weight_ != 1;
    if (!copied_) return view;
    const Values x = All();
    copy_.assign(x.begin(), x.end());
    Scale(copy_, static_cast<float>(1 / weight_));
    statistics_.Remember(copy_.data());
    view.values = copy_.data();
    return view;
  }

  void Step(const StrategyStep& step) override {
    if (copied_)
      statistics_.AddChanges(copy_.data(), context_.params.values(), static_cast<float>(weight_));
    if (step.examples > 0) {
      update_.Step(step);
      update_.Count(step.examples);
    }
    if (alone_) return;
    Land();  // of the step before, if it overlaps
    Push();
    if (!overlaps_) Land();
  }

  void Quiesce() override {
    if (alone_) return;
    Land();
    context_.world.Barrier();
  }

  /// The sum of the weights is the number of ranks.
  const float* Model() override { return MeanOfReplicas(context_.world, context_.params, model_); }

  ExchangeCounts Counts() const override {
    ExchangeCounts counts = update_.counts();
    counts.traffic = context_.world.traffic();
    counts.traffic += thread_.traffic();
    counts.seconds_waiting = thread_.seconds_waited();
    return counts;
  }

  Value State() const override { return Table{{"steps", steps_}, {"weight", weight_}}; }
  void Restore(const Value& state) override {
    ReadKept(state, "steps", steps_);
    ReadKept(state, "weight", weight_);
  }

  void Finish() override {
    Quiesce();
    thread_.Finish();
  }
  Rescued Recover() override {
    thread_.Abandon();
    if (weight_ != 1) Scale(All(), static_cast<float>(1 / weight_));
    return {};
  }

 private:
  static constexpr int kHalf = 0;

  Values All() const { return AllValues(context_.params); }

  void Push() {
    const int ranks = context_.world.size(), rank = context_.world.rank();
    const int hops = std::bit_width(static_cast<unsigned>(ranks - 1));  // floor(log2(n - 1)) + 1
    const int distance = 1 << (steps_++ % hops);
    Scale(All(), 0.5F);
    weight_ /= 2;
    message_.clear();
    Append(message_, std::span<const double>(&weight_, 1));
    Append(message_, std::span<const float>(All()));
    under_way_ = true;
    thread_.Do([this, to = (rank + distance) % ranks,
                from = (rank - distance + ranks) % ranks](SideThread::Endpoint& here) {
      here.world().Send(message_, to, kHalf);
      arrived_ = here.world().Receive(from, kHalf);
    });
  }

  /// Adds what the message under way brings.
  void Land() {
    if (!std::exchange(under_way_, false)) return;
    thread_.Wait();
    Unpacker rest(arrived_.bytes);
    weight_ += rest.Take<double>();
    half_.resize(All().size());
    rest.Take(std::span(half_));
    rest.End();
    Add(All(), half_);
    context_.params.Publish();
    context_.world.Charge({.operations = 2.0 * static_cast<double>(half_.size()),
                           .bytes = 20.0 * static_cast<double>(half_.size())});
  }

  StrategyContext context_;
  const bool overlaps_, alone_;
  Update update_;
  RunningStatistics statistics_;
  double weight_ = 1;
  int64_t steps_ = 0;
  bool copied_ = false, under_way_ = false;
  std::vector<float> copy_, half_, model_;
  std::vector<std::byte> message_;
  Message arrived_;
  SideThread thread_;  // last: it ends first
};

}  // namespace

StrategyEntry sgp() {
  return {.name = "sgp",
          .summary = "Each replica sends half of its values to a peer that changes every step",
          .options = {{.name = "overlap",
                       .type = OptionType::kBool,
                       .fallback = false,
                       .help = "Use what arrives one step later, so that it travels beside the "
                               "next gradient."}},
          .deterministic = true,
          .replicas_differ = true,
          .estimate = [](const Options&, const ExchangeSize& size) -> Cost {
            if (size.world == 1) return {};
            return {.messages = static_cast<double>(size.world),
                    .message_bytes = size.world * (8.0 + static_cast<double>(size.bytes))};
          },
          .make = [](const Options& options, const StrategyContext& context)
              -> std::unique_ptr<Strategy> { return std::make_unique<Sgp>(options, context); }};
}

}  // namespace yoke::strategy
