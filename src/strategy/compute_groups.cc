// Compute groups: P ranks form g groups of k. Inside a group a step is synchronous: gradients are
// averaged, weighted by examples, and its first rank pushes the mean to the server; between groups
// it is asynchronous, as async_msgd with g workers. One velocity, at the server, for all groups. A
// group reads one version of the whole model. Hadjis, Zhang, Mitliagkas, Re, "Omnivore" (2016).
// Cost of a group's step for each bucket of slices: k - 1 messages of a tree up and as many down,
// two to and from the server. Buckets are summed and pushed while the backward pass goes on; the
// answer's are passed on while the next ones come. With a served head (served_head.h) its weights
// stay at the server, are never stale, and each rank sends it activations: seconds an update
//   HE(g) = max(t_head, (t_body(P / g) + t_head) / g)
#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "base/options.h"
#include "strategy/buckets.h"
#include "strategy/rows.h"
#include "strategy/served.h"
#include "strategy/served_head.h"
#include "strategy/side_thread.h"
#include "strategy/statistics.h"

namespace yoke::strategy {
namespace {

/// Options that say how many groups the workers form.
int GroupsOf(const Options& options, int workers) {
  if (!options.Has("groups")) return workers % 2 == 0 ? 2 : 1;
  const auto groups = static_cast<int>(options.Int("groups"));
  Require(workers % groups == 0, "{} = {}: it must divide the number of replicas that train, {}",
          options.Where("groups"), groups, workers);
  return groups;
}

/// The paper sends layer by layer.
double BucketMegabytes(const Options& options) {
  if (options.Has("bucket_mb")) return options.Float("bucket_mb");
  return IsPaperForm(options) ? 0 : 1;
}

/// A server of its own is a group of its own, the first.
int GroupOf(const StrategyContext& context, const ServerSettings& settings) {
  const int worker = context.world.rank() - settings.servers;
  const int team = (context.world.size() - settings.servers) / settings.workers;
  return worker < 0 ? 0 : settings.servers + worker / team;
}

/// Where an answer is cut, for a group of so many: a member passes on what it has.
std::vector<int64_t> CutsOf(const Buckets& buckets, int team) {
  std::vector<int64_t> cuts;
  for (const Bucket& bucket : buckets.all())
    if (team > 1 && bucket.begin > 0) cuts.insert(cuts.begin(), bucket.begin);
  return cuts;
}

class ComputeGroups : public Strategy {
 public:
  ComputeGroups(const StrategyContext& context, const Buckets& buckets,
                const ServerSettings& settings)
      : context_(context),
        group_(context.world.Split(GroupOf(context, settings), 0)),
        leaders_(context.world.Split(group_.rank() == 0 ? 0 : 1, 0)),
        exchanged_(context.params.layout(), settings.head_slice, settings.cuts),
        statistics_(context.params.layout()),
        rows_(context.params.layout()),
        buckets_(buckets),
        pushes_ahead_(settings.compression.kind == Compression::kNone),
        thread_(group_) {
    const bool works = context.world.rank() >= settings.servers;
    overlaps_ = works && context.world.size() > 1 && buckets_.all().size() > 1 &&
                (group_.size() > 1 || pushes_ahead_);
    StrategyContext leaders = context;
    leaders.world = leaders_;
    if (group_.rank() == 0) leader_ = std::make_unique<Served>(leaders, settings);
    if (settings.head_slice != SliceRange::kEnd)
      head_ = std::make_unique<ServedHead>(context, settings);
  }

  void Prepare() override {
    if (head_) head_->Prepare();
    if (leader_) leader_->Prepare();
    if (overlaps_) thread_.Begin();
  }

  Head* RemoteHead() override { return head_.get(); }

  ParamView View(const StrategyStep& step) override {
    if (head_) head_->Begin(step);
    if (leader_)
      leader_->Fetch(step, [this](int part) { Share(part); });
    else
      Share();
    buckets_.Begin();
    fraction_ = static_cast<float>(step.examples) /
                static_cast<float>(std::max<int64_t>(1, step.team_examples));
    return context_.params.View(&context_.gradients);
  }

  void GradientReady(int slice) override {
    if (overlaps_) buckets_.Complete(slice, [this](const Bucket& bucket) { SumAhead(bucket); });
  }

  SliceExchange ExchangeOfSlices() const override {
    return overlaps_ ? SliceExchange::kBeside : SliceExchange::kNone;
  }

  void Step(const StrategyStep& step) override {
    if (overlaps_) {
      buckets_.Rest([this](const Bucket& bucket) { SumAhead(bucket); });
      thread_.Wait();
    }
    if (group_.size() == 1) return leader_->Step(step);
    Average();
    StrategyStep of_team = step;
    of_team.examples = step.team_examples;
    if (leader_) leader_->Step(of_team);
  }

  void Idle() override {
    if (leader_) leader_->Idle();
  }

  void Quiesce() override {
    if (leader_) leader_->Quiesce();
    if (group_.size() == context_.world.size()) Share();  // replicas in step are equal
    if (!head_) return;
    head_->Mirror(context_.params.values().Host());
    context_.params.Publish();
  }

  Rescued Recover() override {
    thread_.Abandon();
    const Rescued rescued = leader_ ? leader_->Recover() : Rescued{};
    if (!head_) return rescued;
    if (rescued.values.data) Copy(context_.params.values(), rescued.values);
    head_->Recover(context_.params.values().Host());
    return {.version = rescued.version};
  }

  /// Rank 0's values are the server's and the head's since Quiesce.
  Array<const float> Model() override { return context_.params.values(); }

  ExchangeCounts Counts() const override {
    ExchangeCounts counts = leader_ ? leader_->Counts() : ExchangeCounts{};
    for (const Traffic& more : {group_.traffic(), head_ ? head_->traffic() : Traffic{}}) {
      counts.traffic += more;
      counts.seconds_waiting += more.seconds_waited;
    }
    counts.traffic += thread_.traffic();
    counts.seconds_waiting += thread_.seconds_waited();
    return counts;
  }

  std::vector<SavedTensor> Tensors() override {
    return leader_ ? leader_->Tensors() : std::vector<SavedTensor>{};
  }

  void Finish() override {
    thread_.Finish();
    if (leader_) leader_->Finish();
    if (head_) head_->Finish();
  }

 private:
  /// All get the values of the group's first rank.
  void Share() {
    for (int part = 0; part < exchanged_.parts(); ++part) Share(part);
    if (group_.rank() > 0) context_.params.Publish();
  }
  void Share(int part) {
    if (group_.size() == 1) return;
    for (const std::span<float> values : exchanged_.PartOf(context_.params.values().Host(), part))
      if (!values.empty()) group_.Broadcast(std::as_writable_bytes(values), 0);
  }

  /// Sums a bucket in the group beside the backward pass, and pushes it. The last one goes with the
  /// statistics, in Step.
  void SumAhead(const Bucket& bucket) {
    if (bucket.begin == 0) return;
    const Values gradient =
        context_.gradients.dense().Host().subspan(bucket.begin, bucket.end - bucket.begin);
    if (group_.size() > 1) Scale(gradient, fraction_);
    thread_.Do([this, gradient, begin = bucket.begin](SideThread::Endpoint& here) {
      if (here.world().size() > 1) here.world().Reduce(gradient, 0);
      if (leader_ && pushes_ahead_) leader_->PushAhead(here.world(), begin);
    });
  }

  /// The group's first rank gets the mean of what was not summed ahead, of which a member has its
  /// fraction, in the places of its own gradient and statistics.
  void Average() {
    const int64_t left = overlaps_ ? buckets_.all().back().end : exchanged_.dense();
    const Values gradient = context_.gradients.dense().Host().first(left);
    const Values statistics = statistics_.Of(context_.params.values().Host());
    sums_.assign(gradient.begin(), gradient.end());
    sums_.insert(sums_.end(), statistics.begin(), statistics.end());
    Scale(sums_, fraction_);
    group_.Reduce(sums_, 0);
    rows_.SumToFirst(group_, fraction_, context_.gradients);
    if (group_.rank() > 0) return;
    std::copy_n(sums_.begin(), gradient.size(), gradient.begin());
    std::copy_n(sums_.begin() + left, statistics.size(), statistics.begin());
  }

  StrategyContext context_;
  Communicator group_;
  Communicator leaders_;  // of all groups; not of a member
  Exchanged exchanged_;
  RunningStatistics statistics_;
  RowExchange rows_;
  std::unique_ptr<Served> leader_;    // of a group's first rank
  std::unique_ptr<ServedHead> head_;  // null: everybody has a copy of it
  std::vector<float> sums_;
  Buckets buckets_;
  float fraction_ = 1;  // of its group's examples in this step
  bool pushes_ahead_, overlaps_ = false;
  SideThread thread_;  // last: it ends first
};

std::vector<OptionSpec> GroupOptions() {
  std::vector<OptionSpec> options = {
      {.name = "groups",
       .type = OptionType::kInt,
       .help = "Number of groups of training replicas; it divides their number. By default 2 if "
               "that is even, otherwise 1.",
       .minimum = 1,
       .maximum = kMostRanks,
       .tries = {1, 2, 4, 8, 16, 32}},
      {.name = "served_head",
       .type = OptionType::kBool,
       .fallback = false,
       .help = "The fully connected layers at the end of the model are computed beside rank 0 for "
               "all groups: replicas send it activations instead of gradients.",
       .tries = {true}},
      BucketOption(1.0)};
  options.back().fallback = {};
  options.back().help =
      "Minimum megabytes of gradients that are sent together; by default 1, and 0, layer by layer, "
      "in the paper's form.";
  constexpr const char* kFormHelp =
      "Paper: a group's k replicas, and a served head, compute train.batch together; full rate, "
      "layer by layer. Yoke: each replica computes train.batch; LeNet to 0.87 takes half the time.";
  std::ranges::move(ServerOptions(false, kFormHelp), std::back_inserter(options));
  return options;
}

ServerSettings SettingsOf(const Options& options, const StrategyContext& context) {
  const int world = context.world.size();
  ServerSettings settings =
      ReadServerOptions(options, context, GroupsOf(options, world - ServersOf(options, world)));
  if (!options.Bool("served_head")) return settings;
  Require(context.head,
          "{}: the model has no head to serve: it must end in a chain of fully connected layers "
          "(linear) above layers with parameters of their own, and have no auxiliary losses",
          options.Where("served_head"));
  settings.head_slice = context.head->first_slice;
  return settings;
}

std::unique_ptr<Strategy> MakeGroups(const Options& options, const StrategyContext& context) {
  ServerSettings settings = SettingsOf(options, context);
  const Buckets buckets(context.params.layout(),
                        BucketElements(BucketMegabytes(options), context.world),
                        settings.head_slice);
  const int team = (context.world.size() - settings.servers) / settings.workers;
  settings.cuts = CutsOf(buckets, team);
  return std::make_unique<ComputeGroups>(context, buckets, settings);
}

Cost EstimateGroups(const Options& options, const ExchangeSize& size) {
  const bool head = options.Bool("served_head");
  const int workers = size.world - ServersOf(options, size.world);
  const int groups = GroupsOf(options, workers);
  const int64_t bytes = size.bytes - (head ? size.head_bytes : 0);
  const auto buckets =
      static_cast<double>(workers > 1 ? EstimateBuckets(BucketMegabytes(options),
                                                        {.bytes = bytes, .slices = size.slices})
                                      : 1);
  const double in_groups = 2.0 * (workers - groups);  // up a tree and down, in f32
  const double pushes = ReadCompression(options).kind == Compression::kNone ? buckets : 1;
  const double answers = workers > groups ? buckets : 1;
  Cost cost = CostOfServed(options, groups, bytes);
  cost += {.messages = groups * (pushes + answers - 2) + in_groups * buckets,
           .message_bytes = groups * (pushes - 1) * sizeof(RequestHeader) +
                            in_groups * static_cast<double>(bytes)};
  if (head) cost += CostOfServedHead(workers, size);
  return cost;
}

}  // namespace

StrategyEntry compute_groups() {
  return {.name = "compute_groups",
          .summary = "Groups of replicas, synchronous inside, asynchronous between",
          .options = GroupOptions(),
          .servers = ServersOf,
          .team = [](const Options& options,
                     int workers) { return workers / GroupsOf(options, workers); },
          .divides_batch = IsPaperForm,
          .sums_steps = IsPaperForm,
          .estimate = EstimateGroups,
          .make = MakeGroups};
}

}  // namespace yoke::strategy
