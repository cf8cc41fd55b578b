// Served: fetch, push, and the rest between.
#include "strategy/served.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/options.h"
#include "strategy/side_thread.h"

namespace yoke {
namespace {

// Tags between workers, beside the server's.
constexpr int kLanded = 2, kOpen = 3;

/// None where one alone pushes to itself.
CompressionSettings CompressionOf(const Options& options, int workers) {
  const bool alone = workers == 1 && options.Int("servers") == 0;
  return alone ? CompressionSettings{} : ReadCompression(options);
}

/// Late gradients allow a rate far below what the rule could bear, lowest while the model is young
/// (docs/strategies/async_sgd.md).
int64_t SlowStart(const Options& options, int64_t updates_per_epoch, int workers) {
  constexpr int64_t kSteps = 250;  // of each
  if (options.Has("slow_start")) return options.Int("slow_start");
  return workers == 1 || IsPaperForm(options) ? 0
                                              : std::min(kSteps * workers, updates_per_epoch / 2);
}

/// The factor on each learning rate where so many push.
double RateScale(const Options& options, int pushers) {
  if (options.Has("rate_scale")) return options.Float("rate_scale");
  // 1 + staleness is the number of pushers in the mean: it would divide twice.
  return IsPaperForm(options) || options.Bool("scale_by_staleness") ? 1 : 1.0 / pushers;
}

bool GivesRateScale(const Options& options) {
  return options.Has("rate_scale") || IsPaperForm(options);
}

/// ServerSettings::unscaled_rate.
double UnscaledRate(const Options& options, const UpdateRule& rule, int workers) {
  const bool predicts = workers > 1 && PredictsWeights(options);
  return predicts && !GivesRateScale(options) && !options.Bool("scale_by_staleness")
             ? SteadyRate(rule, workers)
             : 0;
}

}  // namespace

double SteadyRate(const UpdateRule& rule, int workers) {
  return rule.Reach() > 0 ? 0.3 / (rule.Reach() * workers) : 0;
}

bool HasServerOptions(const StrategyEntry& strategy) {
  return std::ranges::find(strategy.options, "rate_scale", &OptionSpec::name) !=
         strategy.options.end();
}

bool PredictsWeights(const Options& options) {
  return options.Has("predict_weights") ? options.Bool("predict_weights") : !IsPaperForm(options);
}

double EffectiveRateScale(const Options& options, const UpdateRule& rule, double learning_rate,
                          int pushers) {
  const double scale = RateScale(options, pushers);
  if (options.Bool("scale_by_staleness")) return scale / pushers;
  const ServerSettings settings = {.unscaled_rate = UnscaledRate(options, rule, pushers)};
  return settings.Scaled(learning_rate, scale) / learning_rate;
}

std::vector<OptionSpec> ServerOptions(bool racing, const char* form_help) {
  std::vector<OptionSpec> options = {
      FormOption("yoke", /*paper_by_default=*/false, form_help),
      {.name = "servers",
       .type = OptionType::kInt,
       .fallback = 0,
       .help = "Ranks that only serve. 1: the first one does, and the others train; 0: the server "
               "is a thread beside the first one's training.",
       .minimum = 0,
       .maximum = 1},
      {.name = "rate_scale",
       .type = OptionType::kFloat,
       .help =
           "Factor on each learning rate at the server; by default 1 / the number of "
           "concurrent pushers, more for low rates, or 1 with scale_by_staleness or in the paper's "
           "form.",
       .minimum = 0,
       .exclusive_minimum = true},
      {.name = "slow_start",
       .type = OptionType::kInt,
       .help =
           "Over so many of the model's first updates the server's rate rises to its full "
           "height; without it 250 for each that pushes, or about half an epoch if that is less, "
           "and 0 where one alone does or in the paper's form.",
       .minimum = 0,
       .maximum = kMostCount},
      {.name = "scale_by_staleness",
       .type = OptionType::kBool,
       .fallback = false,
       .help = "A gradient that is s updates old is divided by 1 + s before the server's rule "
               "takes it."}};
  options.push_back({.name = "predict_weights",
                     .type = OptionType::kBool,
                     .help = "The server's averages (momentum, Adam's) last as many times longer "
                             "as there are pushers, and it answers with the values that they will "
                             "have reached by the time the gradient comes; by default true, and "
                             "false in the paper's form."});
  if (!racing)
    options.push_back({.name = "staleness_bound",
                       .type = OptionType::kInt,
                       .fallback = 0,
                       .help = "A worker that is more than this many pushes ahead of the slowest "
                               "waits for it; 0: no bound.",
                       .minimum = 0,
                       .maximum = kMostCount});
  std::ranges::move(CompressionOptions(), std::back_inserter(options));
  return options;
}

ServerSettings ReadServerOptions(const Options& options, const StrategyContext& context,
                                 int workers, bool racing) {
  const double scale = RateScale(options, workers);
  return {.servers = static_cast<int>(options.Int("servers")),
          .workers = workers,
          .rate_scale = scale,
          .head_rate_scale = GivesRateScale(options) ? scale : 1.0 / workers,
          .slow_start = SlowStart(options, context.steps_per_epoch * workers, workers),
          .scale_by_staleness = options.Bool("scale_by_staleness"),
          .staleness_bound = racing ? 0 : options.Int("staleness_bound"),
          .racing = racing,
          .compression = CompressionOf(options, workers),
          .predict_weights = workers > 1 && PredictsWeights(options),
          .unscaled_rate = UnscaledRate(options, context.rule, workers)};
}

int ServersOf(const Options& options, int world) {
  const auto servers = static_cast<int>(options.Int("servers"));
  Require(servers < world,
          "{} = {}: rank 0 would serve and nobody train; expected 2 replicas or more, got {}",
          options.Where("servers"), servers, world);
  return servers;
}

Cost CostOfServed(const Options& options, int workers, int64_t bytes) {
  const Compressor compressor(CompressionOf(options, workers));
  const auto both = static_cast<double>(compressor.BytesOf(bytes / 4) + bytes) +
                    sizeof(RequestHeader) + sizeof(AnswerHeader);
  return {.messages = 2.0 * workers, .message_bytes = workers * both};
}

Served::~Served() { FinishUnlessFailing(*this); }

ParamView Served::View(const StrategyStep& step) {
  Fetch(step, [](int) {});
  return context_.params.View(&context_.gradients);
}

void Served::Fetch(const StrategyStep& step, const std::function<void(int part)>& arrived) {
  Open();
  if (values_ == Values::kOld) Ask({.what = Request::kFetch, .learning_rate = step.learning_rate});
  const bool comes = values_ == Values::kAskedFor;
  for (int part = 0; part < exchanged_.parts(); ++part) {
    if (comes) TakePart(part);
    arrived(part);
  }
  if (!comes) return;
  ChargeDeviceCopy(exchanged_.count());
  context_.params.Publish();
  values_ = Values::kHere;
}

void Served::TakePart(int part) {
  const Message message = context_.world.Receive(0, kToWorker);
  Unpacker answer(message.bytes);
  if (part == 0) version_ = answer.Take<AnswerHeader>();
  for (const std::span<float> values : exchanged_.PartOf(context_.params.values().Host(), part))
    answer.Take(values);
  answer.End();
  context_.world.Charge(CostOfMemoryCopy(exchanged_.PartCount(part)));
}

void Served::PushAhead(const Communicator& thread, int64_t begin) {
  if (!ahead_) ahead_.emplace(context_.world.For(thread));
  const RequestHeader header = {.what = Request::kAhead};
  const std::span<const float> dense = context_.gradients.dense().Host();
  const int64_t count = to_push_ - begin;
  message_.clear();
  Append(message_, std::span(&header, 1));
  Append(message_, dense.subspan(begin, count));
  ChargeCopy(*ahead_, count * SizeOf(DType::kF32));
  ahead_->Charge(CostOfMemoryCopy(count));
  ahead_->Send(message_, 0, kToServer, sizeof header);
  ahead_traffic_.Show(ahead_->traffic());
  to_push_ = begin;
}

void Served::Step(const StrategyStep& step) {
  Push({.what = Request::kPush,
        .version = version_,
        .examples = step.examples,
        .learning_rate = step.learning_rate});
}

void Served::Push(const RequestHeader& header) {
  const Exchanged rest = exchanged_.UpTo(std::exchange(to_push_, exchanged_.dense()));
  ChargeDeviceCopy(rest.count());
  message_.clear();
  Append(message_, std::span(&header, 1));
  AppendGradient(message_, context_.params.View(&context_.gradients), rest, compressor_);
  context_.world.Charge(CostOfMemoryCopy(rest.count()));
  context_.world.Send(message_, 0, kToServer, sizeof header);
  values_ = Values::kAskedFor;
}

void Served::Ask(const RequestHeader& header) {
  context_.world.Send(std::as_bytes(std::span(&header, 1)), 0, kToServer, sizeof header);
  values_ = Values::kAskedFor;
}

/// Of a gradient's elements to the host, or of values back.
void Served::ChargeDeviceCopy(int64_t elements) {
  seconds_copying_ += ChargeCopy(context_.world, elements * SizeOf(DType::kF32));
}

/// Nothing is in flight to or from this worker afterwards.
void Served::Leave(Request what) {
  const bool asked = values_ == Values::kAskedFor;
  Ask({.what = what});
  if (asked) SkipAnswer();
  context_.world.Receive(0, kToWorker);
  values_ = Values::kOld;
}

/// An answer that was under way has all its parts; the one in place of it is empty.
void Served::SkipAnswer() {
  if (context_.world.Receive(0, kToWorker).bytes.empty()) return;
  for (int part = 1; part < exchanged_.parts(); ++part) context_.world.Receive(0, kToWorker);
}

/// Lets the others go on, or waits to be let.
void Served::Open() {
  if (!at_rest_) return;
  at_rest_ = false;
  const Communicator& world = context_.world;
  if (world.rank() > 0) {
    world.Receive(0, kOpen);  // rank 0 is at its first step, too
    return;
  }
  for (int rank = 1; rank < world.size(); ++rank) world.Send({}, rank, kOpen);
}

void Served::Idle() {
  Open();
  if (!works()) return;
  const RequestHeader header = {.what = Request::kIdle};
  context_.world.Send(std::as_bytes(std::span(&header, 1)), 0, kToServer, sizeof header);
}

void Served::Quiesce() {
  Open();
  if (works()) Leave(Request::kDone);
  at_rest_ = true;
  const Communicator& world = context_.world;
  if (world.rank() > 0) return world.Send({}, 0, kLanded);
  for (int rank = 1; rank < world.size(); ++rank)
    world.Receive(std::span<std::byte>(), rank, kLanded);
  counts_ = server_->Counts();
  Copy(context_.params.values(), server_->model().values());
  context_.params.Publish();
  version_ = server_->model().version();
  values_ = Values::kOld;  // the answers to the others are ahead of these
}

Array<const float> Served::Model() {
  return context_.world.rank() == 0 ? server_->model().values() : context_.params.values();
}

ExchangeCounts Served::Counts() const {
  ExchangeCounts counts = counts_;
  const Traffic own = context_.world.traffic();
  if (server_) counts.traffic = server_->traffic();
  counts.traffic += own;
  counts.traffic += ahead_traffic_.Read();
  counts.seconds_waiting = own.seconds_waited + seconds_copying_;
  return counts;
}

std::vector<Strategy::SavedTensor> Served::Tensors() {
  std::vector<float>& residual = compressor_.residual();
  if (residual.empty()) return {};
  return {{"residual", OnHost(std::span(residual))}};
}

void Served::Finish() {
  if (!server_) return;
  Open();
  if (works()) Leave(Request::kStop);
  server_->Join();
  counts_ = server_->Counts();
  counts_.traffic = server_->traffic();
  server_.reset();
}

Strategy::Rescued Served::Recover() {
  if (!server_ || context_.world.rank() > 0) return {.version = version_};
  server_->Join();
  // Newer than the copy that it has just sent: the rule's state is here.
  return {.values = server_->model().values(), .version = server_->model().version() + 1};
}

}  // namespace yoke
