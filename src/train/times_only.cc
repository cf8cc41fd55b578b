// Times only: steps are dealt from a counter, because nobody is asked by a message.
#include "train/times_only.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/check.h"
#include "comm/simulated.h"
#include "node/plans.h"
#include "optim/schedule.h"
#include "train/exchange.h"
#include "train/leader.h"
#include "train/record/record.h"
#include "train/record/timeline.h"
#include "train/replica.h"

namespace yoke {
namespace {

/// Elements of a shrunken model: as few as keep the sizes of its parts apart.
constexpr int64_t kElements = 512, kElementsPerSlice = 16;
/// Compressed messages have parts for each rank, which are smaller than what they are billed for
/// unless they are long enough.
constexpr int64_t kElementsPerRank = 1024;

/// In place of the executor: has no gradient, but announces it.
class NoGradient : public Executor {
 public:
  /// With `width` elements of an example that go to a served head.
  NoGradient(int64_t batch, int64_t width) : gradient_(batch * width) {
    above_.size = batch;
    above_.examples.resize(batch);
    above_.classes.resize(batch);
    above_.ResizeDense({width});
  }

  StepResult Step(const Batch& batch, const ParamView& params, const ExecutorStep& step) override {
    if (step.head) step.head->Step(above_, gradient_.data());
    AnnounceAll(*params.layout, step.ready);
    return {.examples = batch.size};
  }

 private:
  Batch above_;
  std::vector<float> gradient_;
};

/// In place of a served head.
class NoHead : public Head {
 public:
  double Step(const Batch& /*batch*/, float* /*gradient*/) override { return 0; }
};

/// Deals the steps of all teams.
class Dealer {
 public:
  Dealer(const Roles& roles, int ranks)
      : roles_(roles), leases_(roles.workers / roles.team), asked_(ranks) {}

  /// The next round has steps up to `last`: opened by the first rank that comes to it, when all
  /// have left the one before.
  void Begin(int64_t last) {
    if (last == last_) return;
    last_ = last;
    for (auto& lease : leases_) lease.clear();
    std::ranges::fill(asked_, 0);
  }

  /// The next step of this rank; negative: none is left, or `over`.
  template <typename Over>
  int64_t Next(int rank, const Over& over) {
    if (rank < roles_.servers) return -1;
    std::vector<int64_t>& lease = leases_[(rank - roles_.servers) / roles_.team];
    const size_t which = asked_[rank]++;
    if (which == lease.size()) lease.push_back(next_ < last_ && !over() ? next_++ : -1);
    return lease[which];
  }

  int64_t next() const { return next_; }

 private:
  Roles roles_;
  std::vector<std::vector<int64_t>> leases_;  // by team
  std::vector<size_t> asked_;                 // by rank
  int64_t next_ = 0, last_ = 0;
};

/// What the ranks have together.
struct Shared {
  Shared(const Job& of_job, const RunRequest& of_request, const RunContext& context,
         const SimulatedRanks& cluster)
      : job(of_job),
        request(of_request),
        entry(StrategyOf(of_job)),
        roles(RolesIn(entry, of_job.cluster, cluster.ranks)),
        graph(ModelLayers(of_job.model(), TaskOf(context.data.train->Info())),
              TaskOf(context.data.train->Info())),
        layers(std::make_shared<LayerShares>(graph)),
        rule(RuleOf(of_job)),
        batch_examples(of_job.train.Int("batch")),
        timeline(cluster),
        dealer(roles, cluster.ranks),
        counts(cluster.ranks) {
    const std::string executor = job.node.String("executor");
    Require(executor == "single",
            "{}: --times-only needs executor single, whose steps all take the same work; got {}",
            job.node.Where("executor"), executor);
    Require(
        !graph.layout().HasRows(),
        "--times-only needs a model of dense parameters: which rows of a sparse or hashed layer "
        "a step touches depends on the data");
    devices = Devices(job.node.Strings("devices"), job.node.Where("devices")).names();
    Shrink(cluster.ranks);
    OfferHead();
    const int64_t step = batch_examples * roles.workers;
    steps_per_epoch = std::max<int64_t>(1, (context.data.train->Size() + step - 1) / step);
    schedule = MakeSchedule(job.train.Has("schedule") ? job.train.Raw("schedule") : Value());
    if (job.train.Has("time_limit"))
      time_limit = ParseDuration(job.train.String("time_limit"), "train.time_limit");
    batch.size = batch_examples;
    batch.examples.resize(batch_examples);
  }

  void Shrink(int ranks) {
    const ParamLayout& full = graph.layout();
    const Value* compression = job.resolved.Find("cluster")->Find("compression");
    const bool compressed =
        compression && compression->AsString() && *compression->AsString() != "none";
    const auto slices = static_cast<int64_t>(full.slices().size());
    const int64_t least = compressed ? kElementsPerRank * ranks : kElements;
    layout = full.Shrunken(std::max(least, kElementsPerSlice * slices));
    scale = static_cast<double>(full.size()) / static_cast<double>(layout.size());
  }

  void OfferHead() {
    const std::optional<GraphCut> cut = graph.Cut();
    const int64_t width = cut ? cut->activations.Count() : 0;
    executor = std::make_shared<NoGradient>(batch_examples, width);
    if (!cut) return;
    head = HeadOffer{
        .first_slice = cut->first_slice,
        .width = width,
        .price = [this](int64_t examples) { return graph.Price(examples, GraphPart::kHead); },
        .make = [](const ParamView&) { return std::make_unique<NoHead>(); }};
  }

  /// Why the run ends before its last step, or "".
  std::string ReasonToStop(const Communicator& world) const {
    if (request.stop_signal && *request.stop_signal != 0) return "interrupted";
    return time_limit > 0 && world.Now() >= time_limit ? "time_limit" : "";
  }

  const Job& job;
  const RunRequest& request;
  const StrategyEntry& entry;
  const Roles roles;
  const Graph graph;
  std::shared_ptr<const LayerShares> layers;
  std::unique_ptr<UpdateRule> rule;
  const int64_t batch_examples;
  std::vector<std::string> devices;
  ParamLayout layout;  // shrunken
  double scale = 1;
  std::optional<HeadOffer> head;
  std::shared_ptr<Executor> executor;
  Batch batch;
  int64_t steps_per_epoch = 1;  // of one replica, if all are in step
  std::unique_ptr<Schedule> schedule;
  double time_limit = 0;
  Timeline timeline;
  Dealer dealer;
  std::vector<ExchangeCounts> counts;  // by rank, at the end
  std::string reason;                  // why the run ended early
};

class TimedRank {
 public:
  TimedRank(Shared& shared, const Communicator& world)
      : shared_(shared),
        world_(world),
        meetings_(world.BilledBy(shared.scale)),
        params_(shared.layout, Cpu()),
        gradients_(shared.layout, Cpu()),
        state_(shared.layout, *shared.rule, Cpu()),
        executor_(shared.executor, shared.graph, shared.layers, world, shared.devices[0]) {
    strategy_ =
        shared.entry.make(shared.job.cluster, {.world = world.BilledBy(shared.scale),
                                               .params = params_,
                                               .gradients = gradients_,
                                               .rule = *shared.rule,
                                               .state = state_,
                                               .clip_norm = shared.job.train.Float("clip_norm"),
                                               .seed = shared.job.seed(),
                                               .steps_per_epoch = shared.steps_per_epoch,
                                               .head = shared.head ? &*shared.head : nullptr});
    work_.ready = [this](int slice) { strategy_->GradientReady(slice); };
    work_.head = strategy_->RemoteHead();
  }

  /// As Replica::Broadcast, and Prepare.
  void Begin() {
    meetings_.Broadcast(params_.values(), 0);
    for (size_t i = 0; i < state_.names().size(); ++i)
      meetings_.Broadcast(state_.array(static_cast<int>(i)), 0);
    strategy_->Prepare();
  }

  /// The steps up to the next meeting, and what the ranks do there.
  void Round() {
    const auto over = [this] {
      if (shared_.reason.empty()) shared_.reason = shared_.ReasonToStop(world_);
      return !shared_.reason.empty();
    };
    const double began = world_.Now();
    for (int64_t s; (s = shared_.dealer.Next(world_.rank(), over)) >= 0;) Step(s);
    strategy_->Idle();
    world_.Barrier();
    stepped_ += world_.Now() - began;
    strategy_->Quiesce();
    strategy_->Model();
    if (!shared_.entry.replicas_differ) return;  // else as Replica::Exchange, for their distance
    std::vector<float> values(params_.values().count);
    meetings_.AllReduce(values);
  }

  double stepped() const { return stepped_; }
  ExchangeCounts Counts() const { return strategy_->Counts(); }
  void Finish() { strategy_->Finish(); }

 private:
  void Step(int64_t s) {
    const StrategyStep step = {.step = s,
                               .learning_rate = RateAt(s),
                               .highest_rate = RateAt(0),
                               .examples = shared_.batch_examples,
                               .team_examples = shared_.batch_examples * shared_.roles.team};
    const ParamView view = strategy_->View(step);
    work_.learning_rate = step.learning_rate;
    executor_.Step(shared_.batch, view, work_);
    strategy_->Step(step);
    shared_.timeline.Step(world_.rank());
  }

  /// Step s is of one team.
  double RateAt(int64_t s) const {
    const auto teams = static_cast<double>(shared_.roles.workers / shared_.roles.team);
    const double epoch =
        static_cast<double>(s) / (teams * static_cast<double>(shared_.steps_per_epoch));
    const auto epochs = static_cast<double>(shared_.job.train.Int("epochs"));
    return shared_.job.train.Float("learning_rate") *
           shared_.schedule->Factor({.epoch = std::min(epoch, epochs), .epochs = epochs});
  }

  Shared& shared_;
  Communicator world_;
  Communicator meetings_;  // for values that are not the strategy's to send
  ParamStore params_;
  Gradients gradients_;
  RuleState state_;
  ChargedExecutor executor_;
  std::unique_ptr<Strategy> strategy_;
  ExecutorStep work_;
  double stepped_ = 0;  // seconds in steps
};

/// The ends of the rounds, in steps.
std::vector<int64_t> RoundEnds(const Shared& shared) {
  if (shared.request.steps > 0) return {shared.request.steps};
  const int64_t steps = shared.steps_per_epoch * (shared.roles.workers / shared.roles.team);
  std::vector<int64_t> ends;
  for (int64_t epoch = 1; epoch <= shared.job.train.Int("epochs"); ++epoch)
    ends.push_back(epoch * steps);
  return ends;
}

EndEvent EndOf(const Shared& shared, const RunContext& context, const TimedRank& rank,
               double seconds) {
  const int64_t steps = shared.dealer.next();
  const double examples =
      static_cast<double>(steps) * double(shared.batch_examples) * shared.roles.team;
  const std::string limit = shared.request.steps > 0 ? "step_limit" : "finished";
  EndEvent end = {.run = context.run->path(),
                  .seconds = rank.stepped(),
                  .epochs = examples / static_cast<double>(context.data.train->Size()),
                  .step = steps,
                  .test = {},
                  .reason = shared.reason.empty() ? limit : shared.reason,
                  .sentence = fmt::format("{} steps of times only: there are no weights", steps),
                  .virtual_seconds = seconds,
                  .cost = shared.request.CostOf(seconds)};
  if (end.reason == "interrupted") end.exit_status = 128 + shared.request.stop_signal->load();
  end.memory = {.peak = PeakMemory(), .before_model = context.before_model};
  end.exchange = Summary(shared.counts, rank.stepped(), 0, shared.roles.servers);
  end.exchange.pop_back();  // the distance of replicas that hold nothing
  end.exchange.emplace_back("step_seconds", rank.stepped());
  return end;
}

StartEvent StartOf(const Shared& shared, const RunContext& context, int ranks) {
  return {.run = context.run->path(),
          .parameters = shared.graph.layout().Parameters(),
          .devices = shared.devices,
          .hardware = SimulatedHardware(shared.request, ranks) + ", times only",
          .executor = "single",
          .strategy = shared.entry.name,
          .world = ranks,
          .train_examples = context.data.train->Size(),
          .test_examples = context.data.test ? context.data.test->Size() : 0,
          .epochs = shared.job.train.Int("epochs")};
}

}  // namespace

EndEvent SimulateTimes(const Job& job, const RunRequest& request, RunContext& context,
                       AllReduceAlgorithm all_reduce) {
  SimulatedRanks cluster = *request.cluster;
  cluster.ranks = static_cast<int>(job.cluster.Int("replicas"));
  cluster.timeout = job.cluster.Float("timeout");
  cluster.all_reduce = all_reduce;
  Shared shared(job, request, context, cluster);
  cluster.timeline = &shared.timeline;
  const std::unique_ptr<Observer> record = MakeRecord(context.run->path());
  std::vector<Observer*> observers = request.observers;
  observers.insert(observers.begin(), record.get());
  const auto tell = [&](const auto& call) {
    for (Observer* observer : observers) call(*observer);
  };
  tell([&](Observer& each) { each.Start(StartOf(shared, context, cluster.ranks)); });
  context.began = true;
  EndEvent end;
  Simulate(cluster, [&](const Communicator& world) {
    TimedRank rank(shared, world);
    rank.Begin();
    for (const int64_t last : RoundEnds(shared)) {
      shared.dealer.Begin(last);
      rank.Round();
      if (!shared.reason.empty()) break;
    }
    const double seconds = world.Now();
    shared.counts[world.rank()] = rank.Counts();
    world.Barrier();
    if (world.rank() == 0) end = EndOf(shared, context, rank, seconds);
    rank.Finish();
  });
  WriteTimeline(context.folder, shared.timeline.Picture());
  tell([&](Observer& each) { each.End(end); });
  return end;
}

}  // namespace yoke
