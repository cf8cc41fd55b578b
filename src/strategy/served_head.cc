// ServedHead: shares of a batch on their way to the head, and its service.
#include "strategy/served_head.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "kernels/threads.h"
#include "kernels/vectors.h"
#include "strategy/packing.h"
#include "strategy/side_thread.h"
#include "strategy/traffic_mirror.h"
#include "strategy/update.h"

namespace yoke {
namespace {

constexpr int kToHead = 0, kFromHead = 1;

/// Before a share's ids, labels and activations; alone: this rank has no more.
struct ShareHeader {
  int64_t examples = 0, of_team = 0;
  int64_t epoch = 0;
  uint64_t seed = 0;
  int64_t classes = 0;  // how many: one an example, or none
  int64_t labels = 0;   // of all examples together
  double learning_rate = 0;
};
/// Before the activations' gradient.
using LossHeader = double;

template <typename T>
void AppendAll(std::vector<std::byte>& message, const std::vector<T>& values) {
  Append(message, std::span<const T>(values));
}

/// Takes `count` values to the end of `to`.
template <typename T>
void TakeMore(Unpacker& message, int64_t count, std::vector<T>& to) {
  to.resize(to.size() + count);
  message.Take(std::span(to).last(count));
}

/// The head's place in packed values.
std::pair<int64_t, int64_t> NumbersOf(const StrategyContext& context) {
  const ParamLayout& layout = context.params.layout();
  return {Exchanged(layout, context.head->first_slice).dense(), layout.dense_size()};
}

bool HasLabelSets(const Batch& batch) {
  return static_cast<int64_t>(batch.labels.offsets.size()) == batch.size + 1;
}

}  // namespace

/// Rank 0's part: gathers the shares of each team, and computes once they are a batch.
class HeadService {
 public:
  HeadService(const StrategyContext& context, const ServerSettings& settings)
      : context_(context),
        settings_(settings),
        teams_(settings.workers),
        serving_(context.world.size()),
        steps_(context.state.steps),
        values_(context.params.layout(), Cpu()),
        gradients_(values_.layout(), Cpu()),
        head_(context.head->make(values_.View(&gradients_))) {
    const auto [begin, end] = NumbersOf(context_);
    std::copy(context.params.values() + begin, context.params.values() + end,
              values_.values() + begin);
  }

  /// Until all ranks have finished.
  void Run(const Communicator& world) {
    while (serving_ > 0) {
      Handle(world, ReceiveWithoutTimeout(world, kAnySource, kToHead));
      traffic_.Show(world.traffic());
    }
  }

  void Read(float* packed) const {
    const auto [begin, end] = NumbersOf(context_);
    std::copy(values_.values() + begin, values_.values() + end, packed + begin);
  }
  Traffic traffic() const { return traffic_.Read(); }

 private:
  struct Share {
    int rank = 0;
    ShareHeader head;
    std::vector<std::byte> message;
  };

  void Handle(const Communicator& world, Message message) {
    Share share{.rank = message.source, .head = Unpacker(message.bytes).Take<ShareHeader>()};
    if (share.head.examples == 0) {
      --serving_;
      return;
    }
    share.message = std::move(message.bytes);
    std::vector<Share>& shares = TeamOf(share.rank);
    shares.push_back(std::move(share));
    int64_t here = 0;
    for (const Share& s : shares) here += s.head.examples;
    if (here < shares[0].head.of_team) return;
    std::ranges::sort(shares, {}, &Share::rank);  // not as they came
    Compute(world, shares);
    shares.clear();
  }

  std::vector<Share>& TeamOf(int rank) {
    const int ranks = context_.world.size() - settings_.servers;
    return teams_[(rank - settings_.servers) * settings_.workers / ranks];
  }

  void Compute(const Communicator& world, const std::vector<Share>& shares) {
    Assemble(shares);
    gradient_.resize(batch_.dense.Count());
    const double loss = head_->Step(batch_, gradient_.data());
    Apply(values_, {.rule = context_.rule,
                    .state = context_.state,
                    .gradients = gradients_,
                    .learning_rate =
                        settings_.Scaled(shares[0].head.learning_rate, settings_.head_rate_scale) *
                        settings_.Risen(steps_),
                    .clip_norm = context_.clip_norm,
                    .slices = {.begin = context_.head->first_slice},
                    .steps = &steps_});
    world.Charge(context_.head->price(batch_.size));
    const auto [begin, end] = NumbersOf(context_);
    world.Charge(CostOfUpdate(context_.state, end - begin));
    const float* from = gradient_.data();
    for (const Share& share : shares) from = Answer(world, share, loss, from);
  }

  /// The shares one behind the other.
  void Assemble(const std::vector<Share>& shares) {
    batch_.size = shares[0].head.of_team;
    batch_.seed = shares[0].head.seed;
    batch_.epoch = shares[0].head.epoch;
    batch_.examples.clear();
    batch_.classes.clear();
    batch_.labels.Clear();
    batch_.ResizeDense({context_.head->width});
    std::span activations(batch_.dense.As<float>(), batch_.dense.Count());
    for (const Share& share : shares) {
      const int64_t numbers = share.head.examples * context_.head->width;
      Take(share, activations.first(numbers));
      activations = activations.subspan(numbers);
    }
    Check(activations.empty(), "the shares of a served head's batch are not the batch");
    if (shares[0].head.classes > 0) batch_.labels.offsets.clear();
  }

  void Take(const Share& share, std::span<float> activations) {
    Unpacker message(share.message);
    message.Take<ShareHeader>();
    TakeMore(message, share.head.examples, batch_.examples);
    TakeMore(message, share.head.classes, batch_.classes);
    if (share.head.classes == 0) {
      std::vector<int64_t>& offsets = batch_.labels.offsets;
      const int64_t before = offsets.back();
      const size_t first = offsets.size();
      TakeMore(message, share.head.examples, offsets);
      for (size_t i = first; i < offsets.size(); ++i) offsets[i] += before;
      TakeMore(message, share.head.labels, batch_.labels.ids);
    }
    message.Take(activations);
    message.End();
  }

  /// A share's gradient, of the mean over the share; returns where the next one's begins.
  const float* Answer(const Communicator& world, const Share& share, LossHeader loss,
                      const float* from) {
    const int64_t count = share.head.examples * context_.head->width;
    const float scale =
        static_cast<float>(share.head.of_team) / static_cast<float>(share.head.examples);
    scaled_.assign(from, from + count);
    Scale(scaled_, scale);
    answer_.clear();
    Append(answer_, std::span<const LossHeader>(&loss, 1));
    AppendAll(answer_, scaled_);
    world.Send(answer_, share.rank, kFromHead);
    return from + count;
  }

  StrategyContext context_;
  ServerSettings settings_;
  std::vector<std::vector<Share>> teams_;  // shares of the batch that is gathered, by team
  int serving_;
  int64_t steps_;  // updates; state.steps counts the rest's
  ParamStore values_;
  Gradients gradients_;
  std::unique_ptr<Head> head_;
  Batch batch_;
  std::vector<float> gradient_, scaled_;
  std::vector<std::byte> answer_;
  TrafficMirror traffic_;
};

ServedHead::ServedHead(const StrategyContext& context, const ServerSettings& settings)
    : context_(context), settings_(settings) {}

ServedHead::~ServedHead() {
  if (std::uncaught_exceptions() > 0) return;  // the service learns of it
  try {
    Finish();
  } catch (const Error&) {  // another rank's failure, which the world reports
  }
}

void ServedHead::Prepare() {
  if (context_.world.rank() == 0) service_ = std::make_unique<HeadService>(context_, settings_);
  serves_ = true;
  thread_ = context_.world.Spawn([service = service_.get(), threads = KernelThreads(),
                                  world = context_.world](const Communicator& own) {
    if (!service) return;
    SetKernelThreads(threads);
    service->Run(world.For(own));
  });
}

double ServedHead::Step(const Batch& batch, float* gradient) {
  const bool sets = HasLabelSets(batch);
  const ShareHeader head = {.examples = batch.size,
                            .of_team = step_.team_examples,
                            .epoch = batch.epoch,
                            .seed = batch.seed,
                            .classes = static_cast<int64_t>(batch.classes.size()),
                            .labels = sets ? batch.labels.offsets.back() : 0,
                            .learning_rate = step_.learning_rate};
  message_.clear();
  Append(message_, std::span(&head, 1));
  AppendAll(message_, batch.examples);
  AppendAll(message_, batch.classes);
  if (sets) {
    Append(message_, std::span<const int64_t>(batch.labels.offsets).subspan(1));
    AppendAll(message_, batch.labels.ids);
  }
  Append(message_, std::span<const float>(batch.dense.As<float>(), batch.dense.Count()));
  context_.world.Send(message_, 0, kToHead);
  const Message message = context_.world.Receive(0, kFromHead);
  Unpacker answer(message.bytes);
  const auto loss = answer.Take<LossHeader>();
  answer.Take(std::span(gradient, batch.dense.Count()));
  answer.End();
  return loss;
}

void ServedHead::Mirror(float* packed) const {
  if (service_) service_->Read(packed);
  const auto [begin, end] = NumbersOf(context_);
  context_.world.Broadcast(std::as_writable_bytes(std::span(packed + begin, packed + end)), 0);
}

void ServedHead::Recover(float* packed) {
  serves_ = false;
  thread_.reset();
  if (service_) service_->Read(packed);
}

Traffic ServedHead::traffic() const {
  Traffic sum = context_.world.traffic();
  if (service_) sum += service_->traffic();
  return sum;
}

void ServedHead::Finish() {
  if (!serves_) return;
  serves_ = false;
  const ShareHeader no_more;
  context_.world.Send(std::as_bytes(std::span(&no_more, 1)), 0, kToHead);
  thread_.reset();
}

Cost CostOfServedHead(int workers, const ExchangeSize& size) {
  const auto up = static_cast<double>(sizeof(ShareHeader)) + static_cast<double>(size.label_bytes);
  const auto down = static_cast<double>(sizeof(LossHeader));
  return {
      .messages = 2.0 * workers,
      .message_bytes = workers * (up + down + 2.0 * static_cast<double>(size.activation_bytes))};
}

}  // namespace yoke
