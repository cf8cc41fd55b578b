// Server: one update for each push, and the answers to those who may go on.
#include "strategy/server.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/check.h"
#include "kernels/shared.h"
#include "kernels/threads.h"
#include "strategy/update.h"

namespace yoke {
// The model.

ServedModel::ServedModel(const StrategyContext& context, const ServerSettings& settings)
    : context_(context),
      settings_(settings),
      values_(context.params.layout(), Cpu()),
      exchanged_(values_.layout(), settings.head_slice, settings.cuts),
      statistics_(values_.layout()),
      spread_(settings.predict_weights ? context.rule.Spread(settings.workers) : nullptr),
      rule_(spread_ ? *spread_ : context.rule),
      racing_(context.params.layout(), rule_, context.state, &context.rule) {
  // Workers in turn are late by their number; 4 times that comes once in 50 if times are
  // memoryless.
  if (rule_.Scalars() > 0 && settings.workers > 1 && !settings.racing)
    momentum_.emplace(exchanged_.dense(), 4 * settings.workers);
  Copy(values(), context.params.values());
}

int64_t ServedModel::Update(const RequestHeader& push, const Gradients& gradients,
                            const std::vector<float>& statistics) {
  const int64_t staleness = version_ - push.version;
  const int64_t updates =
      settings_.racing ? std::atomic_ref(context_.state.steps).fetch_add(1) : context_.state.steps;
  const double rate = RateAfter(updates, push.learning_rate);
  const double scale = GradientScale(gradients, staleness);
  const UpdateStep step = {.learning_rate = rate, .step = updates + 1, .gradient_scale = scale};
  if (settings_.racing)
    UpdateRacing(gradients, step);
  else
    UpdateAlone(gradients, step, staleness);
  RunningStatistics::MoveShared(statistics_.Of(values().Host()),
                                1.0F / static_cast<float>(settings_.workers), statistics);
  ++version_;
  return staleness;
}

/// Applied before the gradient enters the rule's state, so that one worker's late gradient does not
/// shrink what the others have put into a velocity.
double ServedModel::GradientScale(const Gradients& gradients, int64_t staleness) const {
  const double scale = settings_.scale_by_staleness ? 1 / (1 + static_cast<double>(staleness)) : 1;
  if (context_.clip_norm <= 0) return scale;
  const double norm = GradientNorm(layout(), gradients, exchanged_.slices());
  const double clip = context_.clip_norm;
  return norm > clip ? scale * clip / norm : scale;
}

void ServedModel::UpdateAlone(const Gradients& gradients, UpdateStep step, int64_t staleness) {
  std::optional<double> total_momentum;
  if (momentum_)
    total_momentum = momentum_->Measure(version_, staleness, values().Host().data(),
                                        gradients.dense().Host().data(), step.gradient_scale);
  step = Apply(values_, {.rule = rule_,
                         .state = context_.state,
                         .gradients = gradients,
                         .learning_rate = step.learning_rate,
                         .gradient_scale = step.gradient_scale,
                         .slices = exchanged_.slices(),
                         .row_rule = &context_.rule,
                         .total_momentum = total_momentum});
  if (momentum_) momentum_->Made(step.learning_rate);
}

void ServedModel::UpdateRacing(const Gradients& gradients, UpdateStep step) {
  step = racing_.Tune(step, gradients);
  for (size_t i = 0; i < layout().slices().size(); ++i)
    if (layout().slices()[i].kind != SliceKind::kBuffer)
      racing_.Apply(static_cast<int>(i), values().Host().data(), gradients, step);
}

void ServedModel::Read(float* exchanged, double learning_rate) const {
  float* const dense = exchanged;
  for (const std::span<float> part : exchanged_.Of(values().Host())) {
    CopyShared(part.data(), static_cast<int64_t>(part.size()), exchanged);
    exchanged += part.size();
  }
  if (spread_) Predict(dense, learning_rate);
}

void ServedModel::Predict(float* dense, double learning_rate) const {
  // Twice the staleness: the averages do not know the gradients that are under way.
  const int ahead = 2 * (settings_.workers - 1);
  const int64_t updates = std::atomic_ref(context_.state.steps).load();
  const UpdateStep step = {.learning_rate = RateAfter(updates, learning_rate), .step = updates};
  for (size_t i = 0; i < layout().slices().size(); ++i) {
    const Slice& slice = layout().slices()[i];
    const SliceSettings settings = context_.state.Of(i);
    if (slice.kind != SliceKind::kDense || slice.offset >= exchanged_.dense() || settings.frozen())
      continue;
    PredictRun(dense, slice.offset, slice.Count(), settings.Of(step), ahead);
  }
}

/// Through memory of its own, as an update that races (optim/racing.h).
void ServedModel::PredictRun(float* dense, int64_t begin, int64_t count, const UpdateStep& step,
                             int ahead) const {
  constexpr int64_t kRun = 1024;
  alignas(64) std::array<std::array<float, kRun>, kMaxStateArrays> state;
  for (int64_t at = begin; at < begin + count; at += kRun) {
    const int64_t n = std::min(kRun, begin + count - at);
    UpdateSpan span{.values = dense + at, .count = n};
    for (size_t i = 0; i < context_.state.names().size(); ++i) {
      CopyShared(context_.state.array(static_cast<int>(i)).Host().data() + at, n, state[i].data());
      span.state[i] = state[i].data();
    }
    rule_.ApplyMomentum(span, step, ahead);
  }
}

/// With the copies of the gradient from its message and of the values into the answer. For a
/// prediction the rule's arrays are read once more.
Cost ServedModel::PriceOfUpdate() const {
  Cost cost = CostOfUpdate(context_.state, exchanged_.count());
  cost += CostOfMemoryCopy(2 * exchanged_.count());
  if (!spread_) return cost;
  const auto again = static_cast<double>(context_.state.names().size() * exchanged_.count());
  cost += {.operations = 2 * again, .bytes = 4 * again};
  return cost;
}

// The service.

Service::Service(ServedModel& model, const ServerSettings& settings, int worker)
    : model_(model),
      bound_(settings.staleness_bound),
      compressor_(settings.compression),
      workers_(settings.servers + settings.workers),
      serving_(worker == kAnySource ? settings.workers : 1),
      gradients_(model.layout(), Cpu()),
      answer_(sizeof(AnswerHeader) + model.exchanged().count() * sizeof(float)) {
  for (int i = 0; i < static_cast<int>(workers_.size()); ++i)
    if (i < settings.servers || (worker != kAnySource && i != worker))
      workers_[i].done = workers_[i].stopped = true;
}

bool Service::Handle(const Communicator& world, Message message) {
  Unpacker rest(message.bytes);
  const auto header = rest.Take<RequestHeader>();
  Worker& worker = workers_[message.source];
  if (header.what == Request::kAhead) {
    worker.ahead.push_back(std::move(message));
    return true;
  }
  worker.learning_rate = header.learning_rate;
  if (header.what == Request::kIdle) {
    worker.idle = true;
  } else if (header.what == Request::kDone || header.what == Request::kStop) {
    Leave(world, message.source, header.what == Request::kStop);
  } else {
    if (header.what == Request::kPush) {
      Push(world, message.source, header, rest);
      ++worker.pushes;
    }
    worker.awaits = true;
  }
  AnswerThoseInTime(world);
  return serving_ > 0;
}

void Service::Push(const Communicator& world, int source, const RequestHeader& header,
                   Unpacker& rest) {
  const int64_t dense = TakeAhead(std::exchange(workers_[source].ahead, {}));
  rest.TakeGradient(model_.exchanged().UpTo(dense), compressor_, gradients_, statistics_);
  rest.End();
  CountStaleness(counts_.staleness, model_.Update(header, gradients_, statistics_));
  ++counts_.updates;
  counts_.examples += header.examples;
  world.Charge(model_.PriceOfUpdate());
}

/// What came ahead of a push, from the last dense element down; returns how many are left.
int64_t Service::TakeAhead(const std::vector<Message>& ahead) {
  int64_t dense = model_.exchanged().dense();
  for (const Message& message : ahead) {
    Unpacker rest(message.bytes);
    rest.Take<RequestHeader>();
    const auto count =
        static_cast<int64_t>((message.bytes.size() - sizeof(RequestHeader)) / sizeof(float));
    Check(count <= dense, "ranks disagree about the length of a message");
    rest.Take(gradients_.dense().Host().subspan(dense -= count, count));
  }
  return dense;
}

void Service::Leave(const Communicator& world, int source, bool for_good) {
  Worker& worker = workers_[source];
  if (for_good) --serving_;
  if (worker.awaits) world.Send({}, source, kToWorker);
  worker.awaits = false;
  worker.done = true;
  worker.stopped = for_good;
  const bool all =
      std::all_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.done; });
  if (all)
    for (Worker& w : workers_) w = {.done = w.stopped, .stopped = w.stopped};
  world.Send({}, source, kToWorker);
}

void Service::AnswerThoseInTime(const Communicator& world) {
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const Worker& worker : workers_)
    if (!worker.done && !worker.idle) least = std::min(least, worker.pushes);
  for (size_t i = 0; i < workers_.size(); ++i) {
    Worker& worker = workers_[i];
    if (!worker.awaits || (bound_ > 0 && worker.pushes - least > bound_)) continue;
    Answer(world, static_cast<int>(i));
    worker.awaits = false;
  }
}

/// All parts are of one version of the model.
void Service::Answer(const Communicator& world, int source) {
  const AnswerHeader version = model_.version();
  std::copy_n(reinterpret_cast<const std::byte*>(&version), sizeof version, answer_.data());
  model_.Read(reinterpret_cast<float*>(answer_.data() + sizeof version),
              workers_[source].learning_rate);
  std::span<const std::byte> rest = answer_;
  for (int part = 0; part < model_.exchanged().parts(); ++part) {
    const size_t header = part == 0 ? sizeof version : 0;
    const size_t bytes = header + model_.exchanged().PartCount(part) * sizeof(float);
    world.Send(rest.first(bytes), source, kToWorker, header);
    rest = rest.subspan(bytes);
  }
}

// Rank 0's part.

Server::Server(const StrategyContext& context, const ServerSettings& settings) {
  if (context.world.rank() == 0) model_ = std::make_unique<ServedModel>(context, settings);
  const int threads = settings.racing ? settings.workers : 1;
  const int kernel_threads = settings.racing ? 1 : KernelThreads();
  for (int i = 0; i < threads; ++i) {
    const int worker = settings.racing ? settings.servers + i : kAnySource;
    ServingThread::Handler handler;
    if (model_) {
      services_.push_back(std::make_unique<Service>(*model_, settings, worker));
      handler = [service = services_.back().get()](const Communicator& world, Message request) {
        return service->Handle(world, std::move(request));
      };
    }
    threads_.push_back(std::make_unique<ServingThread>(
        context.world,
        ServingSettings{.from = worker, .tag = kToServer, .kernel_threads = kernel_threads},
        std::move(handler)));
  }
}

ExchangeCounts Server::Counts() const {
  ExchangeCounts sums;
  for (const auto& service : services_) AddCounts(service->counts(), sums);
  return sums;
}

Traffic Server::traffic() const {
  Traffic sums;
  for (const auto& thread : threads_) sums += thread->traffic();
  return sums;
}

}  // namespace yoke
