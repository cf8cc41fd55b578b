// LauncherPeers: orders of rank 0, each a TOML text.
#include "plan/peers.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/files.h"
#include "comm/launcher.h"
#include "plan/trials.h"
#include "plan/world_profile.h"
#include "train/agreement.h"
#include "train/checkpoint/rank_state.h"
#include "train/recovery/peers.h"
#include "train/trainer.h"

namespace yoke {
namespace {

constexpr double kTimeout = 600;  // seconds of a wait while rank 0 prices candidates
const char* const kTrain = "train";
const char* const kApart = "apart";
const char* const kMeasure = "measure";
const char* const kEnd = "end";

void Give(const Communicator& world, const char* kind, Table order) {
  order.emplace_back("kind", kind);
  BroadcastText(world, FormatToml(Value(std::move(order))));
}

/// Ends the work of WithPeers, which trials do not take for a failure of their own.
struct WorkEnds {
  int signal = 0;
  std::exception_ptr failure = {};
};

/// Runs work() with all processes of the outer world.
template <typename Work>
void InOuterWorld(const Work& work) {
  try {
    work();
  } catch (const Error&) {
    throw WorkEnds{.failure = std::current_exception()};
  }
}

/// Train. After an error all processes meet, so that a lost one is noticed.
EndEvent TrainTogether(const Communicator& world, const Job& job, const RunRequest& request) {
  try {
    return Train(job, request);
  } catch (const Error&) {
    InOuterWorld([&] { world.Barrier(); });
    throw;
  }
}

void TrainAlong(const Communicator& world, const Job& job, const Value& order, const DataSets& data,
                const RunRequest& run) {
  DataSets its = data;
  its.test = its.validation = nullptr;
  try {
    TrainTogether(world, job,
                  {.run = *order.Find("run")->AsString(),
                   .resume = *order.Find("resume")->AsBool(),
                   .stop_signal = run.stop_signal,
                   .guard_lost = run.guard_lost,
                   .steps = *order.Find("steps")->AsInt(),
                   .launched = run.launched,
                   .data = &its});
  } catch (const WorldError&) {  // rank 0 has it, too
  } catch (const WorkEnds& lost) {
    std::rethrow_exception(lost.failure);
  }
}

/// This process's trial, if it has a job for one: loss, seconds, failure, whether something else
/// than its loss made it fail, and the signal that stopped it.
Value TrialApart(const Job* job, int64_t steps, const DataSets& data, const RunRequest& run) {
  Trial trial;
  if (job) {
    const TemporaryFolder folder("yoke-plan");
    trial = RunTrial(*job, {.data = data,
                            .run = run,
                            .apart = true,
                            .folder = folder.path() + "/apart",
                            .steps = steps});
  }
  return Table{{"loss", trial.loss},
               {"seconds", trial.seconds},
               {"failure", trial.failure},
               {"refused", trial.refused != nullptr},
               {"signal", run.StopIsAsked() ? run.stop_signal->load() : 0}};
}

/// What all processes say about their trials; all call it.
std::vector<std::string> TrainEachApart(const Communicator& world, const Job* job, int64_t steps,
                                        const DataSets& data, const RunRequest& run) {
  return GatherTexts(world, FormatToml(TrialApart(job, steps, data, run)));
}

/// Does what rank 0 asks; returns its last order.
Value Follow(const Communicator& world, const Job& mine, const DataSets& data,
             const RunRequest& run) {
  for (;;) {
    Value order = ParseToml(BroadcastText(world, ""), "rank 0's order");
    const std::string& kind = *order.Find("kind")->AsString();
    if (kind == kEnd) return order;
    if (kind == kApart) {
      const List& jobs = *order.Find("jobs")->AsList();
      const auto rank = static_cast<size_t>(world.rank());
      std::optional<Job> own;
      if (rank < jobs.size()) own = OnThisMachine(jobs[rank], mine);
      TrainEachApart(world, own ? &*own : nullptr, *order.Find("steps")->AsInt(), data, run);
      continue;
    }
    const Job job = OnThisMachine(*order.Find("job"), mine);
    if (kind == kTrain) {
      TrainAlong(world, job, order, data, run);
      continue;
    }
    std::vector<std::string> precisions;
    for (const Value& one : *order.Find("precisions")->AsList())
      precisions.push_back(*one.AsString());
    MeasureMachines(
        job, *data.train, precisions, world,
        {.launched = true, .seconds = *order.Find("seconds")->AsNumber(), .stop = run.stop_signal});
  }
}

}  // namespace

EndEvent LauncherPeers::Train(const Job& job, RunRequest request) const {
  InOuterWorld([&] {
    Give(world_, kTrain,
         {{"run", request.run},
          {"resume", request.resume},
          {"steps", request.steps},
          {"job", job.resolved}});
  });
  request.launched = run_.launched;
  EndEvent end = TrainTogether(world_, job, request);
  if (end.reason == "interrupted" && !request.StopIsAsked())
    throw WorkEnds{.signal = end.exit_status - 128};
  return end;
}

std::vector<Trial> LauncherPeers::TrainApart(const std::vector<Job>& jobs, int64_t steps) const {
  List resolved;
  for (const Job& job : jobs) resolved.push_back(job.resolved);
  std::vector<Trial> trials;
  InOuterWorld([&] {
    Give(world_, kApart, {{"steps", steps}, {"jobs", std::move(resolved)}});
    for (const std::string& text : TrainEachApart(world_, jobs.data(), steps, data_, run_)) {
      const Value answer = ParseToml(text, "a rank's answer");
      const auto signal = static_cast<int>(*answer.Find("signal")->AsInt());
      if (signal != 0 && !run_.StopIsAsked()) throw WorkEnds{.signal = signal};
      Trial trial;
      trial.loss = *answer.Find("loss")->AsNumber();
      trial.seconds = *answer.Find("seconds")->AsNumber();
      trial.failure = *answer.Find("failure")->AsString();
      if (*answer.Find("refused")->AsBool())
        trial.refused = std::make_exception_ptr(Error(trial.failure));
      trials.push_back(std::move(trial));
    }
  });
  trials.resize(jobs.size());
  return trials;
}

std::map<std::string, ClusterFile> LauncherPeers::Measure(
    const Job& job, const Reader& data, const std::vector<std::string>& precisions,
    Measuring measuring) const {
  Give(world_, kMeasure,
       {{"precisions", List(precisions.begin(), precisions.end())},
        {"seconds", measuring.seconds},
        {"job", job.resolved}});
  measuring.launched = true;
  return MeasureMachines(job, data, precisions, world_, measuring);
}

PeerResult WithPeers(const Job& mine, const DataSets& data, const RunRequest& run,
                     const std::function<Value(const LauncherPeers*)>& work) {
  if (!run.launched) return {.value = work(nullptr)};
  PeerResult result;
  const double timeout = std::max(kTimeout, mine.cluster.Float("timeout"));
  run.launched->Run({.timeout = timeout}, [&](const Communicator& world) {
    CheckAgreement(world, JobFacts(mine), kSameJobs);
    std::optional<Peers> processes;
    if (run.guard_lost) processes.emplace(world, *run.guard_lost);
    if (world.rank() > 0) {
      const Value end = Follow(world, mine, data, run);
      result = {*end.Find("result"), static_cast<int>(*end.Find("signal")->AsInt())};
      return;
    }
    const LauncherPeers peers(world, data, run);
    try {
      result.value = work(&peers);
    } catch (const WorkEnds& end) {
      if (end.failure) std::rethrow_exception(end.failure);
      result = {Table(), end.signal};
    }
    Give(world, kEnd, {{"result", result.value}, {"signal", result.signal}});
  });
  return result;
}

}  // namespace yoke
