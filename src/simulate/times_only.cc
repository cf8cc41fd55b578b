// Times only: worlds, rounds and checkpoints.
#include "simulate/times_only.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"
#include "comm/communicator.h"
#include "comm/virtual_time.h"
#include "optim/schedule.h"
#include "simulate/dealer.h"
#include "simulate/timed_rank.h"
#include "train/exchange.h"
#include "train/leader.h"
#include "train/long_wait_note.h"
#include "train/record/record.h"
#include "train/recovery/smaller_job.h"

namespace yoke {
namespace {

/// Entries of a count, together as long as what a rank tells of itself before the survivors
/// continue (recovery.cc): 160 bytes.
constexpr int kStateEntries = 10;

std::map<int, int64_t> StateOfRank() {
  std::map<int, int64_t> state;
  for (int i = 0; i < kStateEntries; ++i) state[i] = 0;
  return state;
}

/// Progress that outlives a world.
struct Progress {
  int64_t steps = 0;
  double examples = 0;
  bool operator==(const Progress&) const = default;
};

/// The ranks of one world, and the steps that they take together.
struct World {
  World(const Job& of_job, const RunContext& context, int ranks, const Progress& at)
      : job(of_job),
        roles(RolesIn(StrategyOf(job), job.cluster, ranks)),
        model(job, context.data.train->Info(), ranks),
        begun(at),
        dealer(roles, ranks, at.steps),
        counts(ranks) {
    const int64_t each = model.batch.size * roles.workers;
    steps_per_epoch = std::max<int64_t>(1, (context.data.train->Size() + each - 1) / each);
    const int64_t step = model.batch.size * roles.team;
    step_examples = static_cast<double>(step);
    epoch_steps = std::max<int64_t>(1, (context.data.train->Size() + step - 1) / step);
  }

  /// Replicas of their own count each rank's steps, without those that lost ranks had not
  /// exchanged.
  Progress progress(const std::vector<int>& lost = {}) const {
    Progress now = {.steps = dealer.done(), .examples = begun.examples};
    if (StrategyOf(job).replicas_differ) {
      int64_t steps = dealer.ranks_done();
      for (const int rank : lost) steps -= dealer.alone(rank);
      now.examples += static_cast<double>(steps * model.batch.size);
    } else {
      now.examples += static_cast<double>(dealer.done() - begun.steps) * step_examples;
    }
    return now;
  }

  const Job job;
  const Roles roles;
  const TimedModel model;
  const Progress begun;
  Dealer dealer;
  std::vector<ExchangeCounts> counts;  // by rank, at the end
  int64_t steps_per_epoch = 1;         // of one replica, if all are in step
  int64_t epoch_steps = 1;             // of all teams
  double step_examples = 0;            // of a team's step
  // The round that the ranks are in, or have met after:
  int64_t opened = 0, decided = 0;
  bool saves = false, ends = false;
  double own_bytes = 0;  // of each rank's own part of a checkpoint
};

/// Of seconds.
struct MeanOf {
  double sum = 0;
  int count = 0;
  void Add(double seconds) {
    sum += seconds;
    ++count;
  }
  double Value() const { return count > 0 ? sum / count : 0; }
};

class TimesOnly : public SimulatedBody {
 public:
  TimesOnly(const Job& job, const RunRequest& request, RunContext& context)
      : job_(job),
        request_(request),
        context_(context),
        schedule_(MakeSchedule(job.train.Has("schedule") ? job.train.Raw("schedule") : Value())) {
    if (job.train.Has("time_limit"))
      time_limit_ = ParseDuration(job.train.String("time_limit"), "train.time_limit");
    world_.emplace(job_, context_, static_cast<int>(job.cluster.Int("replicas")), Progress());
    const auto steps = static_cast<double>(world_->epoch_steps);
    epoch_examples_ = steps * world_->step_examples;
    const Roles& roles = world_->roles;
    meets_ = context.data.train->Size() >= world_->model.batch.size * roles.workers;
    if (job.train.Has("target"))
      messages_.emplace_back("train.target has no effect: times only evaluates nothing");
  }

  void Enter(const Communicator& world, const SimulatedPlace& place) override {
    if (place.world != number_) NextWorld(world, place);
    const bool leads = world.rank() == 0;
    if (leads) Tell(world.size());
    context_.began = true;
    if (place.world > 0) {
      if (leads && context_.went_back) AccessCheckpoint(world);
      if (world.size() >= kStateEntries) VirtualTime(world).CountFor(StateOfRank());
    }
    TimedRank rank(world_->job, world_->model, world, world_->steps_per_epoch);
    try {
      rank.Begin(place.world > 0 && mean_);
      while (!Round(world, rank)) continue;
      world_->counts[world.rank()] = rank.Counts();
      world.Barrier();
      if (leads) End(place);
      rank.Finish();
    } catch (const RankLost&) {
      has_model_ = rank.Recover() || has_model_;
      throw;
    }
  }

 private:
  /// Called by the first rank that enters it.
  void NextWorld(const Communicator& world, const SimulatedPlace& place) {
    number_ = place.world;
    Progress progress = world_->progress(place.lost);
    const std::string lost =
        fmt::format("rank {} of {} is lost", fmt::join(place.lost, ", "), world_->counts.size());
    mean_ = !std::exchange(has_model_, false);
    if (request_.cluster->failures.replace) {
      context_.went_back = true;
      progress = saved_;
      ReturnTo(progress.steps);
      messages_.push_back(
          fmt::format("{}: its node is replaced, back to step {}", lost, progress.steps));
    } else {
      messages_.push_back(
          fmt::format("{}: {} continue from step {}", lost, world.size(), progress.steps));
    }
    Job smaller = SmallerJob(world_->job, world.size(), messages_);
    world_.emplace(smaller, context_, world.size(), progress);
  }

  // Rounds.

  /// The steps up to the next meeting, and what is done there. True after the last one.
  bool Round(const Communicator& world, TimedRank& rank) {
    World& here = *world_;
    const int64_t round = here.decided;
    if (here.opened == round) {
      epochs_before_ = EpochsDone();
      here.dealer.Open(LastStep());
      ++here.opened;
    }
    const auto over = [&] { return !StopReason(world).empty() || MinutesAreOver(world); };
    const double began = world.Now();
    for (int64_t s; (s = here.dealer.Next(world.rank(), over)) >= 0;) {
      NoticeLosses(world);
      rank.Step(SettingsOf(s));
      here.dealer.Ended(world.rank(), rank.HasExchanged());
      if (context_.timeline && number_ == 0) context_.timeline->Step(world.rank());
    }
    rank.Idle();
    const bool leads = world.rank() == 0;
    if (leads) here.own_bytes = rank.OwnBytes();
    world.Barrier();
    const double met = world.Now();
    rank.Settle();
    if (leads) {
      stepped_ += met - began;
      settled_.Add(world.Now() - met);
    }
    if (here.decided == round) Decide(world);
    const bool saves = here.saves, ends = here.ends;
    if (saves) {
      const double settled = world.Now();
      if (here.own_bytes > 0) rank.SendOwn();
      if (leads) Save(world);
      rank.AwaitLeader();
      if (leads) wrote_.Add(world.Now() - settled);
    }
    return ends;
  }

  /// Where training would wait for its next step.
  static void NoticeLosses(const Communicator& world) {
    Message none;
    world.TryReceive(world.rank(), 0, none);
  }

  /// The first rank that has met the others.
  void Decide(const Communicator& world) {
    ++world_->decided;
    reason_ = StopReason(world);
    world_->ends = !reason_.empty() || Remaining() <= 0;
    world_->saves = world_->ends || MinutesAreOver(world) ||
                    (EverySteps() > 0 && world_->dealer.done() % EverySteps() == 0) || EpochIsDue();
    if (reason_.empty()) reason_ = request_.steps > 0 ? "step_limit" : "finished";
  }

  /// Of the whole run, after what is done.
  int64_t Remaining() const {
    const Progress done = world_->progress();
    if (request_.steps > 0) return request_.steps - done.steps;
    return StepsTo(static_cast<double>(job_.train.Int("epochs")));
  }
  /// Until so many epochs are done.
  int64_t StepsTo(double epochs) const {
    const double left = epochs * epoch_examples_ - world_->progress().examples;
    return static_cast<int64_t>(std::ceil(left / world_->step_examples - 1e-9));
  }
  /// Whole epochs that are done.
  double EpochsDone() const {
    return std::floor(world_->progress().examples / epoch_examples_ + 1e-9);
  }

  /// A checkpoint due by steps or at the end of an epoch ends a round.
  int64_t LastStep() const {
    const int64_t done = world_->dealer.done();
    int64_t last = done + Remaining();
    if (EverySteps() > 0) last = std::min(last, done + EverySteps() - done % EverySteps());
    return meets_ ? std::min(last, done + StepsTo(EpochsDone() + 1)) : last;
  }

  int64_t EverySteps() const { return job_.checkpoint.Int("every_steps"); }
  /// An epoch has ended in this round, and its checkpoint is due.
  bool EpochIsDue() const {
    const int64_t every = job_.checkpoint.Int("every_epochs");
    return meets_ && every > 0 && EpochsDone() > epochs_before_ &&
           static_cast<int64_t>(EpochsDone()) % every == 0;
  }
  bool MinutesAreOver(const Communicator& world) const {
    const double minutes = job_.checkpoint.Float("every_minutes");
    return minutes > 0 && world.Now() - saved_at_ >= 60 * minutes;
  }
  /// Why the run ends before its last step, or "".
  std::string StopReason(const Communicator& world) const {
    if (request_.StopIsAsked()) return "interrupted";
    return time_limit_ > 0 && world.Now() >= time_limit_ ? "time_limit" : "";
  }

  StrategyStep SettingsOf(int64_t s) const {
    const int64_t batch = world_->model.batch.size;
    return {.step = s,
            .learning_rate = RateAt(s),
            .highest_rate = RateAt(0),
            .examples = batch,
            .team_examples = batch * world_->roles.team};
  }
  double RateAt(int64_t s) const {
    const auto epochs = static_cast<double>(job_.train.Int("epochs"));
    const auto since = static_cast<double>(s - world_->begun.steps);
    const double examples = world_->begun.examples + since * world_->step_examples;
    const double epoch = std::min(epochs, examples / epoch_examples_);
    return job_.train.Float("learning_rate") *
           schedule_->Factor({.epoch = epoch, .epochs = epochs});
  }

  /// Rank 0 writes the checkpoint; what it holds is certain when it is written.
  void Save(const Communicator& world) {
    const Progress progress = world_->progress();
    AccessCheckpoint(world);
    saved_ = progress;
    saved_at_ = world.Now();
  }
  void AccessCheckpoint(const Communicator& world) const {
    if (request_.checkpoint_bytes_per_second == 0) return;
    const double bytes = world_->model.CheckpointBytes() + world.size() * world_->own_bytes;
    world.Sleep(bytes / request_.checkpoint_bytes_per_second);
  }

  // Events.

  /// Each leader opens the record.
  void Tell(int ranks) {
    record_.reset();
    record_ = MakeRecord(context_.run->path());
    observers_ = request_.observers;
    observers_.insert(observers_.begin(), record_.get());
    const StartEvent start = {.run = context_.run->path(),
                              .parameters = world_->model.graph.layout().Parameters(),
                              .devices = world_->model.devices,
                              .hardware = SimulatedHardware(request_, ranks) + ", times only",
                              .executor = "single",
                              .strategy = StrategyOf(world_->job).name,
                              .world = ranks,
                              .train_examples = context_.data.train->Size(),
                              .test_examples = context_.data.test ? context_.data.test->Size() : 0,
                              .epochs_done = Epochs(),
                              .epochs = job_.train.Int("epochs")};
    for (Observer* observer : observers_) observer->Start(start);
    TellMessages();
  }

  void TellMessages() {
    for (const std::string& message : std::exchange(messages_, {}))
      for (Observer* observer : observers_) observer->Message(message);
  }

  double Epochs() const {
    return world_->progress().examples / static_cast<double>(context_.data.train->Size());
  }

  void End(const SimulatedPlace& place) {
    const int64_t steps = world_->dealer.done();
    end_ = {.run = context_.run->path(),
            .seconds = saved_at_,
            .epochs = Epochs(),
            .step = steps,
            .test = {},
            .reason = reason_,
            .sentence = fmt::format("{} steps of times only: there are no weights", steps)};
    if (reason_ == "interrupted") end_.exit_status = 128 + request_.stop_signal->load();
    end_.memory = {.peak = PeakMemory(), .before_model = context_.before_model};
    end_.exchange = Summary(world_->counts, stepped_, 0, world_->roles.servers);
    end_.exchange.pop_back();  // the distance of replicas that hold nothing
    end_.exchange.emplace_back("step_seconds", stepped_);
    end_.exchange.emplace_back("meeting_seconds", settled_.Value());
    end_.exchange.emplace_back("checkpoint_seconds", wrote_.Value());
    end_.virtual_seconds = saved_at_;
    end_.cost = request_.CostOf(end_.virtual_seconds);
    end_.lost = place.lost_nodes;
    if (std::string note = LongWaitNote(context_.timeline, job_); !note.empty())
      messages_.push_back(std::move(note));
    TellMessages();
    for (Observer* observer : observers_) observer->End(end_);
  }

  const Job& job_;
  const RunRequest& request_;
  RunContext& context_;
  std::unique_ptr<Observer> record_;
  std::vector<Observer*> observers_;
  std::unique_ptr<Schedule> schedule_;
  double time_limit_ = 0;
  std::optional<World> world_;
  int number_ = 0;             // of the world
  double epoch_examples_ = 0;  // of an epoch of full batches
  bool meets_ = false;         // at the end of epochs: they have a step for each replica
  double epochs_before_ = 0;   // whole ones, when the round was opened
  bool has_model_ = false;     // a rank of the world that has lost another
  bool mean_ = false;          // the world begins with the mean of the replicas
  Progress saved_;             // in the newest checkpoint,
  double saved_at_ = 0;        // and when that was written
  double stepped_ = 0;         // seconds in steps
  MeanOf settled_, wrote_;     // meetings and checkpoints
  std::string reason_;
  std::vector<std::string> messages_;
};

}  // namespace

std::unique_ptr<SimulatedBody> MakeTimesOnly(const Job& job, const RunRequest& request,
                                             RunContext& context) {
  return std::make_unique<TimesOnly>(job, request, context);
}

}  // namespace yoke
