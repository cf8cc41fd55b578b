// Trainer: prepares a run and starts its ranks as threads, or joins those of a launcher.
#include "train/trainer.h"

#include <fmt/core.h>

#include <exception>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/thread.h"
#include "comm/launcher.h"
#include "comm/threads.h"
#include "train/agreement.h"
#include "train/checkpoint/rank_state.h"
#include "train/epoch_cursor.h"
#include "train/files.h"
#include "train/job/parts.h"
#include "train/planner.h"
#include "train/rank.h"
#include "train/recovery/recovery.h"
#include "train/start_run.h"

namespace yoke {
namespace {

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

/// The run of a job whose open keys are not chosen yet. Its job.toml has them as "auto", so that it
/// chooses again if it is resumed before it has a checkpoint.
RunDirectory OpenUndecided(const Job& job, const RunRequest& request) {
  if (request.resume) return RunDirectory::Resume(request.run);
  Job open = job;
  for (const std::string& key : job.open) {
    const size_t dot = key.find('.');
    open.resolved.Find(key.substr(0, dot))->Set(key.substr(dot + 1), "auto");
  }
  return RunDirectory::Create(request.run, open);
}

/// The end of a run that a signal stopped while its keys were being chosen. `run` as in
/// TrainDecided.
EndEvent StoppedUndecided(int signal, const RunDirectory* run, const RunRequest& request) {
  EndEvent end = {.reason = "interrupted", .exit_status = 128 + signal};
  if (!run) return end;
  end.run = run->path();
  end.sentence =
      fmt::format("stopped while it was choosing; continue with: yoke train --resume {}", end.run);
  for (Observer* observer : request.observers) observer->End(end);
  return end;
}

/// Opens the run, unless `run` is it, with the progress of its plan.
void LeadDecided(const Decision& decided, const RunRequest& request, RunDirectory* run,
                 RunContext& context) {
  if (run) context.run.emplace(std::move(*run));
  Lead(decided.job, request, context);
  if (!decided.plan.empty()) ReplaceFile(context.folder + "/plan.toml", decided.plan);
  context.messages.insert(context.messages.end(), decided.messages.begin(), decided.messages.end());
  if (!decided.progress.empty()) TakeOver(decided.progress, context);
}

/// Trains as processes of a launcher. If one is lost and the MPI supports it, the others continue.
EndEvent TrainOverMpi(const Decision& decided, const RunRequest& request, RunDirectory* run) {
  const Job& given = decided.job;
  EndEvent end;
  Job job = given;
  RunContext context;
  std::optional<SurvivorState> survivor;
  const MpiRanks ranks = {.timeout = job.cluster.Float("timeout"),
                          .all_reduce = AllReduceOf(job),
                          .survive = true,
                          .stop = request.stop_signal};
  const Facts facts = JobFacts(given);
  std::optional<MpiJob> own;
  MpiJob& mpi = request.launched ? *request.launched : own.emplace(ranks.timeout, ranks.stop);
  mpi.Run(ranks, [&](const Communicator& world) {
    const bool leads = world.rank() == 0;
    ++context.worlds;
    KeepPlace(world, survivor, [&] {
      CheckAgreement(world, facts, kSameJobs);
      if (leads && !context.run) LeadDecided(decided, request, run, context);
      if (world.size() < job.cluster.Int("replicas"))
        job = SmallerJob(job, world.size(), context.messages);
      if (!leads) context.messages.clear();
      OrAbandon(context, [&] {
        context.folder = BroadcastText(world, context.folder);  // first: the next leader needs it
        if (!context.data.train) ReadData(job, request, context);
        RequireThreadsFor(job.Plan({}).threads, 1);
        CheckAgreement(world, DataFacts(context.data), "all ranks must read the same data");
      });
      end = TrainRank(job, request, context, world, {}, survivor);
      end.lost = mpi.size() - world.size();
    });
  });
  return end;
}

/// `run`: what OpenUndecided has opened, or null.
EndEvent TrainDecided(const Decision& decided, const RunRequest& request,
                      RunDirectory* run = nullptr) {
  const Job& job = decided.job;
  if (LaunchedByMpi() && request.MayBeLaunched()) return TrainOverMpi(decided, request, run);
  const ThreadRanks threads = ThreadRanksOf(job);
  RunContext context = {.worlds = 1};
  LeadDecided(decided, request, run, context);
  if (threads.ranks > 1 && threads.all_reduce != AllReduceOf(job))
    context.messages.emplace_back(
        "cluster.all_reduce = \"mpi\" needs processes of a launcher; these replicas are threads, "
        "so auto is used");
  OrAbandon(context, [&] {
    ReadData(job, request, context);
    if (!request.TimesOnly())
      CheckRanks(job, *context.data.train, threads.ranks, request.cluster != nullptr);
  });
  if (request.cluster) return request.cluster->simulate(job, request, context, threads);
  EndEvent end;
  const auto body = [&](const Communicator& world) {
    std::optional<SurvivorState> none;  // threads are lost together
    const LocalRank inside = {.rank = world.rank(), .size = world.size()};
    EndEvent mine = TrainRank(job, request, context, world, inside, none);
    if (world.rank() == 0) end = std::move(mine);
  };
  RunThreads(threads, body);
  return end;
}

}  // namespace

EndEvent Train(const Job& job, const RunRequest& request) {
  if (job.open.empty()) {
    Decision decided = {.job = job};
    if (request.planner && !request.resume && job.train.String("planner") != "yoke")
      decided.messages.emplace_back(
          "train.planner has no effect: the job leaves no key to be chosen");
    return TrainDecided(decided, request);
  }
  Require(request.planner, "{} = \"auto\": `yoke train` and `yoke simulate` choose it",
          job.open[0]);
  Require(!request.resume || !std::filesystem::exists(request.run + "/last"),
          "{} = \"auto\": a run that is resumed has chosen; name a new run, or a value",
          job.open[0]);
  std::optional<MpiJob> started;  // for the planner's worlds and the run's
  RunRequest mine = request;
  if (LaunchedByMpi() && request.MayBeLaunched())
    mine.launched = &started.emplace(job.cluster.Float("timeout"), request.stop_signal);
  RunContext undecided = {.began = request.resume};  // its run is on rank 0
  std::optional<RunDirectory>& run = undecided.run;
  const double asked = Now();
  Decision decided;
  try {
    OrAbandon(undecided, [&] {
      if (!request.MayBeLaunched() || PrintsForAll()) run.emplace(OpenUndecided(job, request));
      ReadData(job, request, undecided);
      mine.data = &undecided.data;
      decided = request.planner->Decide(job, mine);
    });
  } catch (const WorldError&) {  // all ranks have it
    throw;
  } catch (...) {
    const auto why = std::current_exception();
    if (mine.launched)  // the others meet it in the planner's world
      mine.launched->Run({}, [&](const Communicator&) { std::rethrow_exception(why); });
    throw;
  }
  if (decided.signal != 0) return StoppedUndecided(decided.signal, run ? &*run : nullptr, request);
  const bool fails = request.NodesFail();
  const int64_t replan_epochs = job.train.Int("replan_epochs");
  mine.pause_epochs = fails || request.steps > 0 ? 0 : replan_epochs;
  if (fails && (replan_epochs > 0 || job.train.String("planner") != "yoke"))
    decided.messages.push_back(
        fmt::format("train.{} has no effect on a cluster whose nodes fail",
                    replan_epochs > 0 ? "replan_epochs" : "optimizer_epoch"));
  mine.time_used = request.cluster ? decided.seconds : Now() - asked;
  for (;;) {
    const double began = Now();
    mine.pause_seconds = fails ? 0 : request.planner->PauseSeconds(job);
    EndEvent end = TrainDecided(decided, mine, run ? &*run : nullptr);
    run.reset();
    const bool pauses = end.reason == "replan" || end.reason == "diverged";
    if (!pauses || end.lost > 0 || !request.planner->GoesOn(end, decided)) return end;
    mine.time_used =
        request.cluster ? end.virtual_seconds + decided.seconds : mine.time_used + Now() - began;
    decided.progress.clear();
    mine.run = end.run;
    mine.resume = true;
  }
}

}  // namespace yoke
