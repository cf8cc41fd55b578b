// MakePlan, and the planner of `auto`: a short training of the default first, whose speed says how
// long the search may take.
#include "plan/planner.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/temporary_folder.h"
#include "comm/launcher.h"
#include "comm/threads.h"
#include "kernels/threads.h"
#include "plan/machines.h"
#include "plan/trials.h"
#include "train/checkpoint/rank_state.h"
#include "train/human.h"
#include "train/start_run.h"

namespace yoke {
namespace {

constexpr double kTimeout = 600;       // of ranks that wait for the search
constexpr double kLeastSearch = 4;     // seconds: a shorter search tells nothing
constexpr double kFirstTrial = 1;      // seconds of the default's training before a search
constexpr double kLongestProfile = 3;  // seconds
constexpr double kForTrials = 0.7;     // of a search's time
constexpr double kLeastRateSearch = 5, kMostRateSearch = 60;
const char* const kRate = "train.learning_rate";

/// The precisions worth a measurement: bf16 only where the CPU is faster with it.
std::vector<std::string> PrecisionsOf(const Job& job, const Choices& choices) {
  std::vector<std::string> precisions = {job.node.String("precision")};
  if (!Contains(choices.open, "node.precision")) return precisions;
  const std::string other = precisions[0] == "f32" ? "bf16" : "f32";
  if (other == "f32" || DescribeKernelLibrary().fast_bf16) precisions.push_back(other);
  std::erase_if(precisions, [&](const std::string& one) { return Contains(choices.without, one); });
  return precisions;
}

std::string MachineText(const Job& job) {
  const int64_t replicas = job.cluster.Int("replicas");
  const int threads = job.Plan({.rank = 0, .size = static_cast<int>(replicas)}).threads;
  return fmt::format("{} replica{} of {} thread{}", replicas, replicas == 1 ? "" : "s", threads,
                     threads == 1 ? "" : "s");
}

Plan PlanWith(const PlanOrder& request, const DataSets& data,
              const std::map<std::string, ClusterFile>& machines, const std::string& from,
              double trial_seconds) {
  const double noise =
      MeasureNoiseScale(request.job, *data.train, from.empty() ? "" : from + "/last");
  if (noise > 0) request.tell(fmt::format("the gradient's noise scale is {:.0f} examples", noise));
  Plan plan = Search({.job = request.job,
                      .data = data,
                      .run = request.run,
                      .machines = machines,
                      .choices = request.choices,
                      .noise_scale = noise,
                      .trial_seconds = trial_seconds,
                      .from = from,
                      .folder = request.folder,
                      .tell = request.tell});
  plan.machine = request.cluster ? request.cluster_name : MachineText(request.job);
  return plan;
}

/// In a world of processes: all measure, and rank 0 searches by prediction.
Plan PlanLaunched(const PlanOrder& request, const DataSets& data) {
  Plan plan;
  request.launched->Run({.timeout = kTimeout}, [&](const Communicator& world) {
    const bool leads = world.rank() == 0;
    const std::vector<std::string> mine = PrecisionsOf(request.job, request.choices);
    std::vector<std::string> precisions;  // rank 0's on all ranks, whose CPUs may differ
    std::istringstream words(BroadcastText(world, fmt::format("{}", fmt::join(mine, " "))));
    for (std::string word; words >> word;) precisions.push_back(word);
    if (leads) request.tell("measuring the machines of these processes");
    const auto machines =
        MeasureMachines(request.job, *data.train, precisions, world, true, request.profile_seconds);
    if (leads) plan = PlanWith(request, data, machines, "", 0);
    const std::string text = BroadcastText(world, leads ? FormatPlan(plan, "rank 0") : "");
    if (!leads) plan.keys = PlanKeys(ParseToml(text, "the plan"), "the plan");
  });
  return plan;
}

std::map<std::string, ClusterFile> MeasureHere(const PlanOrder& request, const DataSets& data) {
  std::map<std::string, ClusterFile> machines;
  const auto precisions = PrecisionsOf(request.job, request.choices);
  request.tell(fmt::format("measuring this machine, about {:.0f} s",
                           request.profile_seconds * static_cast<double>(precisions.size())));
  RunThreads({.ranks = static_cast<int>(request.job.cluster.Int("replicas")), .timeout = kTimeout},
             [&](const Communicator& world) {
               const auto found = MeasureMachines(request.job, *data.train, precisions, world,
                                                  false, request.profile_seconds);
               if (world.rank() == 0) machines = found;
             });
  return machines;
}

Plan PlanFor(const PlanOrder& request, const DataSets& data, const std::string& from) {
  MakeCandidates(request.job, request.choices);  // refused before anything is measured
  if (request.cluster)
    return PlanWith(request, data, {{request.job.node.String("precision"), *request.cluster}}, from,
                    request.run.cluster ? request.trial_seconds : 0);
  if (request.launched) return PlanLaunched(request, data);
  return PlanWith(request, data, MeasureHere(request, data), from, request.trial_seconds);
}

/// Inside `yoke train` and `yoke simulate`.
class AutoPlanner : public Planner {
 public:
  explicit AutoPlanner(const ClusterFile* cluster) : cluster_(cluster) {}

  Decision Decide(const Job& given, const RunRequest& run, MpiJob* launched) override {
    began_ = Now();
    RunContext context;
    ReadData(given, run, context);
    const auto data = std::make_shared<DataSets>(std::move(context.data));
    Decision decision = {.job = given, .data = data};
    decision.job.open.clear();
    PlanOrder request = {
        .job = decision.job, .run = run, .cluster = cluster_, .launched = launched};
    if (!launched || launched->rank() == 0) request.folder = folder_.emplace("yoke-plan").path();
    if (run.cluster) request.cluster_name = run.cluster_title;
    request.tell = [&run](const std::string& text) {
      if (PrintsForAll())
        for (Observer* observer : run.observers) observer->Message(text);
    };
    request.choices.open = given.open;
    const bool rate = std::erase(request.choices.open, kRate) > 0;
    if (!request.choices.open.empty()) TakeFitting(request, decision);
    if (launched || run.times_only || run.steps > 0)
      Predict(request, *data, rate, decision);
    else
      Choose(request, *data, rate, decision);
    if (IsStopped(run))
      return {.job = WithKeys(given, {}),
              .data = data,
              .messages = {"interrupted before the choice: this run has the defaults"}};
    decision.messages.push_back(
        run.cluster ? fmt::format("choosing took {} of simulated training", Duration(trained_))
                    : fmt::format("choosing took {}", Duration(Now() - began_)));
    return decision;
  }

 private:
  static bool IsStopped(const RunRequest& run) { return run.stop_signal && *run.stop_signal != 0; }

  /// Where the default does not fit the job or its devices, the first candidate that does stands
  /// for it.
  static void TakeFitting(const PlanOrder& request, Decision& decision) {
    const std::vector<Candidate> all = MakeCandidates(request.job, request.choices);
    const auto first =
        std::ranges::find_if(all, [](const Candidate& one) { return one.dropped.empty(); });
    decision.job = WithKeys(decision.job, first->keys);
  }

  /// The default trains first, which says how long the whole takes; then rate and parts, each only
  /// if its search fits its time.
  void Choose(PlanOrder& request, const DataSets& data, bool rate, Decision& decision) {
    std::string from = request.folder + "/default";
    const Trial first = RunTrial(
        decision.job, {.data = data, .run = request.run, .folder = from, .seconds = kFirstTrial});
    const auto examples = static_cast<double>(decision.job.train.Int("epochs")) *
                          static_cast<double>(data.train->Size());
    double whole = first.seconds_per_example * examples;
    if (decision.job.train.Has("time_limit"))
      whole = std::min(whole, ParseDuration(decision.job.train.String("time_limit"), ""));
    if (first.failure.empty() && !first.ended) decision.progress = from;
    trained_ += kFirstTrial;
    if (rate && !IsStopped(request.run)) {
      ChooseRate(request, data, whole, decision);
      from = decision.progress;
    }
    const bool trains = rate || (first.failure.empty() && !first.ended);
    if (!trains || IsStopped(request.run) || request.choices.open.empty()) return;
    const double budget = decision.job.train.Float("search_share") * whole;
    if (budget < kLeastSearch) {
      decision.messages.push_back(fmt::format(
          "training takes about {}, too short to search: it keeps the defaults, executor {}, "
          "strategy {}, {}",
          Duration(whole), decision.job.node.String("executor"),
          decision.job.cluster.String("strategy"), decision.job.node.String("precision")));
      return;
    }
    request.profile_seconds = std::min(kLongestProfile, (1 - kForTrials) / 2 * budget);
    request.trial_seconds = kForTrials * budget;
    Take(PlanFor(request, data, from), decision);
  }

  void ChooseRate(const PlanOrder& request, const DataSets& data, double whole,
                  Decision& decision) {
    const double share = decision.job.train.Float("search_share");
    const FoundRate found = FindLearningRate(
        {.job = decision.job,
         .data = data,
         .run = request.run,
         .machines = {},
         .trial_seconds = std::clamp(share * whole, kLeastRateSearch, kMostRateSearch),
         .folder = request.folder,
         .tell = request.tell});
    if (found.keys.empty()) return;  // interrupted
    trained_ += found.trained;
    decision.job = WithKeys(decision.job, found.keys);
    decision.progress = found.run;
    decision.messages.push_back(
        fmt::format("learning rate {:g}, whose loss fell fastest", found.rate));
  }

  /// Without trials: for processes of a launcher, for times only, and for a number of steps.
  void Predict(PlanOrder& request, const DataSets& data, bool rate, Decision& decision) {
    if (rate)
      decision.messages.push_back(
          fmt::format("learning_rate = \"auto\" needs trials, which this run has not: it is {:g}",
                      decision.job.train.Float("learning_rate")));
    request.trial_seconds = 0;
    if (!request.choices.open.empty()) Take(PlanFor(request, data, ""), decision);
  }

  void Take(Plan plan, Decision& decision) {
    plan.seconds = Now() - began_;
    decision.messages.insert(decision.messages.end(), plan.notes.begin(), plan.notes.end());
    for (const Candidate& one : plan.candidates) trained_ += one.trained;
    if (!plan.candidates.empty()) decision.plan = FormatPlan(plan, "yoke train");
    decision.job = WithKeys(decision.job, plan.keys);
    if (!plan.progress.empty()) decision.progress = plan.progress;
  }

  const ClusterFile* cluster_;
  std::optional<TemporaryFolder> folder_;
  double began_ = 0;
  double trained_ = 0;  // seconds of all trials
};

}  // namespace

Plan MakePlan(const PlanOrder& request) {
  const double began = Now();
  const DataSets data = OpenData(request.job.data(), request.job.seed());
  Plan plan = PlanFor(request, data, "");
  plan.seconds = Now() - began;
  return plan;
}

std::unique_ptr<Planner> MakePlanner(const ClusterFile* cluster) {
  return std::make_unique<AutoPlanner>(cluster);
}

}  // namespace yoke
