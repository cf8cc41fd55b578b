// Trainer: prepares a run and starts its ranks as threads, or joins those of a launcher.
#include "train/trainer.h"

#include <filesystem>
#include <map>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/thread.h"
#include "comm/launcher.h"
#include "comm/lost.h"
#include "comm/simulated.h"
#include "comm/threads.h"
#include "train/agreement.h"
#include "train/checkpoint/rank_state.h"
#include "train/epoch_cursor.h"
#include "train/load_watch.h"
#include "train/rank.h"
#include "train/record/timeline.h"
#include "train/replica.h"
#include "train/times_only.h"

namespace yoke {
namespace {

/// The leader opens the run: a new one, the one to resume, or that of a lost leader.
void Lead(const Job& job, const RunRequest& request, RunContext& context) {
  const std::string old = request.resume ? request.run : context.folder;
  context.run.emplace(old.empty() ? RunDirectory::Create(request.run, job)
                                  : RunDirectory::Resume(old));
  context.folder = std::filesystem::absolute(context.run->path());
  context.began = !old.empty();
  if (request.resume && !context.run->HasJob())
    context.messages.emplace_back("job.toml is missing: the job is that of the newest checkpoint");
  if (context.began) context.checkpoint = RecoverNewest(old, context.messages);
}

/// Bytes of the files that [data] names; 0 if one of them is not a plain file.
int64_t DataBytes(const Value& data) {
  int64_t sum = 0;
  for (const char* key : {"train", "test"}) {
    const Value* paths = data.Find(key);
    if (!paths || !paths->AsList()) continue;
    for (const Value& path : *paths->AsList()) {
      std::error_code unknown;
      const auto bytes = std::filesystem::file_size(*path.AsString(), unknown);
      if (unknown) return 0;
      sum += static_cast<int64_t>(bytes);
    }
  }
  return sum;
}

/// Opens the data that the ranks of this process share.
void ReadData(const Job& job, const RunRequest& request, RunContext& context) {
  {
    const LoadWatch watch(request, context.run.has_value(), DataBytes(job.data()), [&] {
      if (context.run && !context.began) context.run->Abandon();
    });
    context.data = OpenData(job.data(), job.seed());
  }
  context.before_model = ResidentMemory();
}

/// Runs work() before the first step. If it fails, removes the files of a new run.
template <typename Work>
void OrAbandon(RunContext& context, const Work& work) {
  try {
    work();
  } catch (const RankLost&) {  // the survivors continue the run
    throw;
  } catch (...) {
    if (context.run && !context.began) context.run->Abandon();
    throw;
  }
}

/// Refuses more threads in this process than the system allows.
void RequireThreadsFor(int threads, int ranks) {
  RequireThreads(ranks * (threads + EpochCursor::ThreadsReadingAhead(threads)) - 1);
}

/// Refuses more ranks in this process than the data or the system allow, before any starts.
/// Simulated ones compute in turn on one thread and the kernels' threads.
void CheckRanks(const Job& job, const Reader& data, int ranks, bool simulated) {
  RequireExamples(job, data, RolesIn(StrategyOf(job), job.cluster, ranks).workers);
  const int threads = job.Plan({.rank = 0, .size = ranks}).threads;
  if (simulated)
    RequireThreads(threads + ranks * EpochCursor::ThreadsReadingAhead(threads));
  else
    RequireThreadsFor(threads, ranks);
}

/// The reason why a job's strategy cannot run with this many ranks, or "".
std::string Misfit(const Job& job, int ranks) try {
  RolesIn(StrategyOf(job), job.cluster, ranks);
  return "";
} catch (const UserError& problem) {
  return problem.what();
}

/// The job for a smaller world. Options of the strategy that do not fit are reset to their
/// defaults.
Job Smaller(const Job& job, int ranks, std::vector<std::string>& messages) {
  Value root = job.resolved;
  Value* cluster = root.Find("cluster");
  cluster->Set("replicas", ranks);
  const std::string misfit = Misfit(job, ranks);
  if (misfit.empty()) return MakeJob(std::move(root), job.name, "");
  for (const OptionSpec& option : StrategyOf(job).options) {  // one option, if that is enough
    Value without = root;
    without.Find("cluster")->Erase(option.name);
    Job fitting = MakeJob(std::move(without), job.name, "");
    if (!Misfit(fitting, ranks).empty()) continue;
    messages.push_back(fmt::format("{}; {} is reset to its default", misfit, option.name));
    return fitting;
  }
  for (const OptionSpec& option : StrategyOf(job).options) cluster->Erase(option.name);
  Job fitting = MakeJob(std::move(root), job.name, "");
  if (const std::string still = Misfit(fitting, ranks); !still.empty()) throw UserError(still);
  messages.push_back(fmt::format("{}; all options of {} are reset to their defaults", misfit,
                                 StrategyOf(job).name));
  return fitting;
}

/// [cluster] all_reduce.
AllReduceAlgorithm AllReduceOf(const Job& job) {
  static const std::map<std::string, AllReduceAlgorithm> algorithms = {
      {"auto", AllReduceAlgorithm::kAuto},
      {"ring", AllReduceAlgorithm::kRing},
      {"tree", AllReduceAlgorithm::kTree},
      {"halving", AllReduceAlgorithm::kHalving},
      {"mpi", AllReduceAlgorithm::kMpi}};
  return algorithms.at(job.cluster.String("all_reduce"));
}

/// Runs work(). If it ends with the loss of a rank, stores this rank's place in the world that lost
/// it, even without other state.
template <typename Work>
void KeepPlace(const Communicator& world, std::optional<SurvivorState>& survivor,
               const Work& work) {
  try {
    work();
  } catch (const RankLost&) {
    if (!survivor) survivor.emplace();
    survivor->rank = world.rank();
    survivor->world = world.size();
    throw;
  }
}

/// Trains as processes of a launcher. If one is lost and the MPI supports it, the others continue.
EndEvent TrainOverMpi(const Job& given, const RunRequest& request) {
  EndEvent end;
  Job job = given;
  RunContext context;
  std::optional<SurvivorState> survivor;
  const MpiRanks ranks = {.timeout = job.cluster.Float("timeout"),
                          .all_reduce = AllReduceOf(job),
                          .survive = true,
                          .stop = request.stop_signal};
  const Facts facts = JobFacts(given);
  RunMpi(ranks, [&](const Communicator& world) {
    const bool leads = world.rank() == 0;
    ++context.worlds;
    KeepPlace(world, survivor, [&] {
      CheckAgreement(world, facts, "all ranks need the same program, job file and options");
      if (leads && !context.run) Lead(job, request, context);
      if (world.size() < job.cluster.Int("replicas"))
        job = Smaller(job, world.size(), context.messages);
      if (!leads) context.messages.clear();
      OrAbandon(context, [&] {
        context.folder = BroadcastText(world, context.folder);  // first: the next leader needs it
        if (!context.data.train) ReadData(job, request, context);
        RequireThreadsFor(job.Plan({}).threads, 1);
        CheckAgreement(world, DataFacts(context.data), "all ranks must read the same data");
      });
      end = TrainRank(job, request, context, world, {}, survivor);
    });
  });
  return end;
}

}  // namespace

EndEvent Train(const Job& job, const RunRequest& request) {
  if (LaunchedByMpi() && !request.cluster) return TrainOverMpi(job, request);
  const int ranks = static_cast<int>(job.cluster.Int("replicas"));
  EndEvent end;
  RunContext context = {.worlds = 1};
  Lead(job, request, context);
  AllReduceAlgorithm algorithm = AllReduceOf(job);
  if (ranks > 1 && algorithm == AllReduceAlgorithm::kMpi) {
    context.messages.emplace_back(
        "cluster.all_reduce = \"mpi\" needs processes of a launcher; these replicas are threads, "
        "so auto is used");
    algorithm = AllReduceAlgorithm::kAuto;
  }
  if (request.times_only) {
    OrAbandon(context, [&] {
      ReadData(job, request, context);
      end = SimulateTimes(job, request, context, algorithm);
    });
    return end;
  }
  OrAbandon(context, [&] {
    ReadData(job, request, context);
    CheckRanks(job, *context.data.train, ranks, request.cluster != nullptr);
  });
  const auto body = [&](const Communicator& world) {
    std::optional<SurvivorState> none;  // threads are lost together
    const LocalRank inside = {.rank = world.rank(), .size = world.size()};
    EndEvent mine = TrainRank(job, request, context, world, inside, none);
    if (world.rank() == 0) end = std::move(mine);
  };
  const double timeout = job.cluster.Float("timeout");
  if (!request.cluster) {
    RunThreads({.ranks = ranks, .timeout = timeout, .all_reduce = algorithm}, body);
    return end;
  }
  SimulatedRanks cluster = *request.cluster;
  cluster.ranks = ranks;
  cluster.timeout = timeout;
  cluster.all_reduce = algorithm;
  Timeline timeline(cluster);
  cluster.timeline = context.timeline = &timeline;
  Simulate(cluster, body);
  WriteTimeline(context.folder, timeline.Picture());
  return end;
}

}  // namespace yoke
