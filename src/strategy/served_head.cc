// ServedHead: parts of a batch on their way to the head, and its service.
#include "strategy/served_head.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "comm/virtual_time.h"
#include "kernels/threads.h"
#include "kernels/vectors.h"
#include "strategy/packing.h"
#include "strategy/side_thread.h"
#include "strategy/update.h"

namespace yoke {
namespace {

constexpr int kToHead = 0, kFromHead = 1;

/// Before a part's ids, labels and activations; alone: this rank has no more.
struct PartHeader {
  int64_t examples = 0, of_team = 0;
  int64_t epoch = 0;
  uint64_t seed = 0;
  int64_t classes = 0;               // how many: one an example, or none
  int64_t labels = 0;                // of all examples together
  int64_t targets = 0, weights = 0;  // likewise
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
std::pair<int64_t, int64_t> HeadRange(const StrategyContext& context) {
  const ParamLayout& layout = context.params.layout();
  return {Exchanged(layout, context.head->first_slice).dense(), layout.dense_size()};
}

bool HasLabelSets(const Batch& batch) {
  return static_cast<int64_t>(batch.labels.offsets.size()) == batch.size + 1;
}

bool HasLabelSets(const PartHeader& header) { return header.classes + header.targets == 0; }

}  // namespace

/// Rank 0's part: gathers the parts of each team, and computes once they are a batch.
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
    const auto [begin, end] = HeadRange(context_);
    Copy(values_.values().Part(begin, end), context.params.values().Part(begin, end));
  }

  /// Takes a part, and answers its team once their parts are a batch. False once all ranks have
  /// finished.
  bool Handle(const Communicator& world, Message message) {
    Part part{.rank = message.source, .header = Unpacker(message.bytes).Take<PartHeader>()};
    if (part.header.examples == 0) return --serving_ > 0;
    part.message = std::move(message.bytes);
    std::vector<Part>& parts = TeamOf(part.rank);
    parts.push_back(std::move(part));
    int64_t here = 0;
    for (const Part& each : parts) here += each.header.examples;
    if (here < parts[0].header.of_team) return true;
    std::ranges::sort(parts, {}, &Part::rank);  // not as they came
    Compute(world, parts);
    parts.clear();
    return true;
  }

  void Read(Values packed) const {
    const auto [begin, end] = HeadRange(context_);
    Copy(OnHost(packed).Part(begin, end), values_.values().Part(begin, end));
  }

 private:
  struct Part {
    int rank = 0;
    PartHeader header;
    std::vector<std::byte> message;
  };

  std::vector<Part>& TeamOf(int rank) {
    const int ranks = context_.world.size() - settings_.servers;
    return teams_[(rank - settings_.servers) * settings_.workers / ranks];
  }

  void Compute(const Communicator& world, const std::vector<Part>& parts) {
    Assemble(parts);
    gradient_.resize(batch_.dense.Count());
    const double loss = head_->Step(batch_, gradient_.data());
    ClearFrozen(values_.layout(), context_.state, gradients_);
    Apply(values_, {.rule = context_.rule,
                    .state = context_.state,
                    .gradients = gradients_,
                    .learning_rate =
                        settings_.Scaled(parts[0].header.learning_rate, settings_.head_rate_scale) *
                        settings_.Risen(steps_),
                    .clip_norm = context_.clip_norm,
                    .slices = {.begin = context_.head->first_slice},
                    .steps = &steps_,
                    .scalars = context_.state.head_scalars()});
    VirtualTime(world).WithScale(1).Charge(context_.head->price(batch_.size));
    const auto [begin, end] = HeadRange(context_);
    world.Charge(CostOfUpdate(context_.state, end - begin));
    const float* from = gradient_.data();
    for (const Part& part : parts) from = Answer(world, part, loss, from);
  }

  /// The parts one after the other.
  void Assemble(const std::vector<Part>& parts) {
    batch_.size = parts[0].header.of_team;
    batch_.seed = parts[0].header.seed;
    batch_.epoch = parts[0].header.epoch;
    batch_.examples.clear();
    batch_.classes.clear();
    batch_.targets.clear();
    batch_.weights.clear();
    batch_.labels.Clear();
    batch_.ResizeDense({context_.head->width});
    std::span activations(batch_.dense.As<float>(), batch_.dense.Count());
    for (const Part& part : parts) {
      const int64_t count = part.header.examples * context_.head->width;
      Take(part, activations.first(count));
      activations = activations.subspan(count);
    }
    Check(activations.empty(), "the parts of a served head's batch are not the batch");
    if (!HasLabelSets(parts[0].header)) batch_.labels.offsets.clear();
  }

  void Take(const Part& part, std::span<float> activations) {
    Unpacker message(part.message);
    message.Take<PartHeader>();
    TakeMore(message, part.header.examples, batch_.examples);
    TakeMore(message, part.header.classes, batch_.classes);
    TakeMore(message, part.header.targets, batch_.targets);
    TakeMore(message, part.header.weights, batch_.weights);
    if (HasLabelSets(part.header)) {
      std::vector<int64_t>& offsets = batch_.labels.offsets;
      const int64_t before = offsets.back();
      const size_t first = offsets.size();
      TakeMore(message, part.header.examples, offsets);
      for (size_t i = first; i < offsets.size(); ++i) offsets[i] += before;
      TakeMore(message, part.header.labels, batch_.labels.ids);
    }
    message.Take(activations);
    message.End();
  }

  /// A part's gradient, of the mean over the part; returns where the next one's begins.
  const float* Answer(const Communicator& world, const Part& part, LossHeader loss,
                      const float* from) {
    const int64_t count = part.header.examples * context_.head->width;
    const float scale =
        static_cast<float>(part.header.of_team) / static_cast<float>(part.header.examples);
    scaled_.assign(from, from + count);
    Scale(scaled_, scale);
    answer_.clear();
    Append(answer_, std::span<const LossHeader>(&loss, 1));
    AppendAll(answer_, scaled_);
    world.Send(answer_, part.rank, kFromHead, answer_.size());  // activations do not shrink
    return from + count;
  }

  StrategyContext context_;
  ServerSettings settings_;
  std::vector<std::vector<Part>> teams_;  // parts of the batch that is gathered, by team
  int serving_;
  int64_t steps_;  // updates; state.steps counts the rest's
  ParamStore values_;
  Gradients gradients_;
  std::unique_ptr<Head> head_;
  Batch batch_;
  std::vector<float> gradient_, scaled_;
  std::vector<std::byte> answer_;
};

ServedHead::ServedHead(const StrategyContext& context, const ServerSettings& settings)
    : context_(context), settings_(settings) {}

ServedHead::~ServedHead() { FinishUnlessFailing(*this); }

void ServedHead::Prepare() {
  ServingThread::Handler handler;
  if (context_.world.rank() == 0) {
    service_ = std::make_unique<HeadService>(context_, settings_);
    handler = [service = service_.get()](const Communicator& world, Message part) {
      return service->Handle(world, std::move(part));
    };
  }
  serves_ = true;
  thread_ = std::make_unique<ServingThread>(
      context_.world, ServingSettings{.tag = kToHead, .kernel_threads = KernelThreads()},
      std::move(handler));
}

double ServedHead::Step(const Batch& batch, float* gradient) {
  const bool sets = HasLabelSets(batch);
  const PartHeader header = {.examples = batch.size,
                             .of_team = step_.team_examples,
                             .epoch = batch.epoch,
                             .seed = batch.seed,
                             .classes = static_cast<int64_t>(batch.classes.size()),
                             .labels = sets ? batch.labels.offsets.back() : 0,
                             .targets = static_cast<int64_t>(batch.targets.size()),
                             .weights = static_cast<int64_t>(batch.weights.size()),
                             .learning_rate = step_.learning_rate};
  message_.clear();
  Append(message_, std::span(&header, 1));
  AppendAll(message_, batch.examples);
  AppendAll(message_, batch.classes);
  AppendAll(message_, batch.targets);
  AppendAll(message_, batch.weights);
  if (sets) {
    Append(message_, std::span<const int64_t>(batch.labels.offsets).subspan(1));
    AppendAll(message_, batch.labels.ids);
  }
  Append(message_, std::span<const float>(batch.dense.As<float>(), batch.dense.Count()));
  context_.world.Send(message_, 0, kToHead, message_.size());
  const Message message = context_.world.Receive(0, kFromHead);
  Unpacker answer(message.bytes);
  const auto loss = answer.Take<LossHeader>();
  answer.Take(std::span(gradient, batch.dense.Count()));
  answer.End();
  return loss;
}

void ServedHead::Mirror(Values packed) const {
  if (service_) service_->Read(packed);
  const auto [begin, end] = HeadRange(context_);
  context_.world.Broadcast(std::as_writable_bytes(packed.subspan(begin, end - begin)), 0);
}

void ServedHead::Recover(Values packed) {
  serves_ = false;
  if (thread_) thread_->Join();
  if (service_) service_->Read(packed);
}

Traffic ServedHead::traffic() const {
  Traffic sum = context_.world.traffic();
  if (service_) sum += thread_->traffic();
  return sum;
}

void ServedHead::Finish() {
  if (!serves_) return;
  serves_ = false;
  const PartHeader no_more;
  context_.world.Send(std::as_bytes(std::span(&no_more, 1)), 0, kToHead, sizeof no_more);
  thread_->Join();
}

Cost CostOfServedHead(int workers, const ExchangeSize& size) {
  const auto up = static_cast<double>(sizeof(PartHeader)) + static_cast<double>(size.label_bytes);
  const auto down = static_cast<double>(sizeof(LossHeader));
  return {
      .messages = 2.0 * workers,
      .message_bytes = workers * (up + down + 2.0 * static_cast<double>(size.activation_bytes))};
}

}  // namespace yoke
