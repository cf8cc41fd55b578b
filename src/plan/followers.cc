// Followers: orders of rank 0, each a TOML text.
#include "plan/followers.h"

#include <utility>

#include "base/check.h"
#include "comm/launcher.h"
#include "plan/machines.h"
#include "train/agreement.h"
#include "train/checkpoint/rank_state.h"

namespace yoke {
namespace {

constexpr double kTimeout = 600;  // seconds of a wait while rank 0 prices candidates
const char* const kTrain = "train";
const char* const kMeasure = "measure";
const char* const kEnd = "end";

void Give(const Communicator& world, const char* kind, Table order) {
  order.emplace_back("kind", kind);
  BroadcastText(world, FormatToml(Value(std::move(order))));
}

/// The same on all processes, where some may have left the training with an error.
EndEvent TrainTogether(const Communicator& world, const Job& job, const RunRequest& request) {
  try {
    return Train(job, request);
  } catch (const Error&) {
    world.Barrier();  // fails where a process is lost
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
  }
}

/// Does what rank 0 asks; returns what its work has returned.
Value Follow(const Communicator& world, const Job& mine, const DataSets& data,
             const RunRequest& run) {
  for (;;) {
    const Value order = ParseToml(BroadcastText(world, ""), "rank 0's order");
    const std::string& kind = *order.Find("kind")->AsString();
    if (kind == kEnd) return *order.Find("result");
    const Job job = OnThisMachine(*order.Find("job"), mine);
    if (kind == kTrain) {
      TrainAlong(world, job, order, data, run);
      continue;
    }
    std::vector<std::string> precisions;
    for (const Value& one : *order.Find("precisions")->AsList())
      precisions.push_back(*one.AsString());
    MeasureMachines(job, *data.train, precisions, world, true, *order.Find("seconds")->AsFloat());
  }
}

}  // namespace

EndEvent Followers::Train(const Job& job, RunRequest request) const {
  Give(world_, kTrain,
       {{"run", request.run},
        {"resume", request.resume},
        {"steps", request.steps},
        {"job", job.resolved}});
  request.launched = &launched_;
  return TrainTogether(world_, job, request);
}

std::map<std::string, ClusterFile> Followers::Measure(const Job& job, const Reader& data,
                                                      const std::vector<std::string>& precisions,
                                                      double seconds) const {
  Give(world_, kMeasure,
       {{"precisions", List(precisions.begin(), precisions.end())},
        {"seconds", seconds},
        {"job", job.resolved}});
  return MeasureMachines(job, data, precisions, world_, true, seconds);
}

Value WithFollowers(const Job& mine, const DataSets& data, const RunRequest& run,
                    const std::function<Value(const Followers*)>& work) {
  if (!run.launched) return work(nullptr);
  Value result;
  run.launched->Run({.timeout = kTimeout, .stop = run.stop_signal}, [&](const Communicator& world) {
    if (world.rank() > 0) {
      result = Follow(world, mine, data, run);
      return;
    }
    const Followers followers(world, *run.launched);
    result = work(&followers);
    Give(world, kEnd, {{"result", result}});
  });
  return result;
}

}  // namespace yoke
